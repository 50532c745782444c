"""Functions that open a task's model: read its files, put it on devices, and load its weights."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bert_cli.inference.engine import Engine
from bert_cli.inference.rows import Predictor, load_trained, open_engine
from bert_cli.model.config import BertConfig
from bert_cli.runs.loading.checkpoints import to_start_from, to_use
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.runs.loading.commands import check_command
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.interface import Data, Model, Task
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.training import TrainingSettings

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel
    from bert_cli.inference.tensorflow import TensorFlowEngine


def load_task_model(task: Task[Model, Any, Any], settings: TrainingSettings) -> Model:
    """Return the model from the checkpoint that the flags name, without reading its weights.

    Raise InputError if the run does not train, and another command trained the model.
    """
    if settings.phases.do_train:
        # Training may start from any command's model, because it uses only the encoder.
        return task.load(to_start_from(settings.model, settings.hub))
    checkpoint = to_use(settings.model, settings.hub, settings.phases.output_dir)
    check_command(checkpoint, task.command)
    return task.load(checkpoint)


def _make_model(
    task: Task[Model, Data, Any],
    model: Model,
    data: Data,
    settings: TrainingSettings,
    class_weights: tuple | None = None,
) -> Callable[[str], "TaskModel"]:
    """Return a function from a compute dtype to the task's model."""

    def make(precision: str) -> "TaskModel":
        rule = controls.training_rule(settings, class_weights)
        options: NetworkOptions = {"compute_dtype": precision, "rule": rule, "seed": settings.seed.random_seed}
        return task.make_model(model, data, options)

    return make


def open_network(
    task: Task[Model, Data, Any],
    model: Model,
    data: Data,
    settings: TrainingSettings,
    class_weights: tuple | None = None,
    batch_size: int | None = None,
) -> "TensorFlowEngine":
    """Return the task's model on its devices, for training; import TensorFlow.

    Its weights are random. If the model has a checkpoint, the caller must load the weights.

    Args:
        task: builds the network.
        model: config, vocabulary and checkpoint.
        data: dataset with the labels.
        settings: the run's flags.
        class_weights: weights in the loss, see controls.class_weights.
        batch_size: training batch size, None without training.
    """
    setup_tensorflow()
    from bert_cli.inference.tensorflow import TensorFlowEngine

    return TensorFlowEngine(
        task.network(model, data),
        _make_model(task, model, data, settings, class_weights),
        settings.devices,
        settings.encoding.max_seq_length,
        batch_size,
        settings.optimization.gradient_accumulation_steps,
        loads_checkpoint=model.checkpoint is not None,
    )


def make_predictor(engine: Engine, model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """Return a predictor that checks new texts; data in memory is checked when it is read.

    Args:
        engine: the task's model on its devices.
        model, data, settings: see open_network.
    """
    check = None if data.memory_splits else PairCheck(model.config, model.config_name, settings.model.strict)
    return Predictor(engine, settings.encoding.max_seq_length, check)


def open_predictor(task: Task[Model, Data, Any], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """Return the task's model for predictions with any --engine, without its weights.

    Inference engines do not import TensorFlow. See open_network for the arguments.
    """
    make_model = _make_model(task, model, data, settings)
    max_seq_length = settings.encoding.max_seq_length
    engine = open_engine(task.network(model, data), model.config, settings.devices, max_seq_length, make_model)
    return make_predictor(engine, model, data, settings)


def open_for_new_texts(task: Task[Model, Data, Any], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """Return the trained model for new texts, with the engine of Devices.for_answers.

    See open_network for the arguments.
    """
    devices = settings.devices.for_answers(isinstance(model.config, BertConfig))
    return open_trained(task, model, data, dataclasses.replace(settings, devices=devices))


def open_trained(task: Task[Model, Data, Any], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """Return the task's model for predictions, with the weights of the checkpoint in `model`.

    See open_network for the arguments.
    """
    predictor = open_predictor(task, model, data, settings)
    load_trained(predictor.engine, model.required_checkpoint)
    return predictor
