"""Functions that open a task's model: read its files, put it on devices, and load its weights."""

import dataclasses
from typing import TYPE_CHECKING, Any

from bert_cli.model.config import BertConfig
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading.checkpoints import choose_checkpoint
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.runs.loading.trained import check_command
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.interface import Data, Model, Task
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.training import TrainingSettings

if TYPE_CHECKING:
    from bert_cli.runs.engine.session import Session


def load_task_model(task: Task[Model, Any, Any], settings: TrainingSettings) -> Model:
    """Return the model from the checkpoint that the flags name, without reading its weights.

    Raise InputError if the run does not train, and another command trained the model.
    """
    checkpoint = choose_checkpoint(settings.model, settings.hub, settings.phases)
    # Training may start from any command's model, because it uses only the encoder.
    if checkpoint and not settings.phases.do_train:
        check_command(checkpoint, task.command)
    return task.load(checkpoint)


def open_session(
    task: Task[Model, Data, Any],
    model: Model,
    data: Data,
    settings: TrainingSettings,
    class_weights: tuple | None = None,
    batch_size: int | None = None,
) -> "Session":
    """Return the task's model on its devices; import TensorFlow.

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
    from bert_cli.heads.model import NetworkOptions
    from bert_cli.runs.engine.session import Session

    options = NetworkOptions(rule=controls.training_rule(settings, class_weights), seed=settings.seed.random_seed)
    return Session(
        lambda compute_dtype: task.make_model(model, data, {"compute_dtype": compute_dtype, **options}),
        settings.devices,
        settings.encoding.max_seq_length,
        batch_size,
        settings.optimization.gradient_accumulation_steps,
        loads_checkpoint=model.checkpoint is not None,
        check_pairs=_pair_check(model, data, settings),
    )


def _pair_check(model: Model, data: Data, settings: TrainingSettings) -> PairCheck | None:
    # Data in memory is checked when it is read, new texts when they are predicted.
    if data.memory_splits:
        return None
    return PairCheck(model.config, model.config_name, settings.model.strict)


def open_predictor(task: Task[Model, Data, Any], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """Return the task's model for predictions with any --engine, without its weights.

    Inference engines do not import TensorFlow. See open_session for the arguments.
    """
    if inference := settings.devices.inference:
        # Import late: this imports readers of checkpoints, which TensorFlow needs only later.
        from bert_cli.runs.engine.inference_session import InferenceSession

        head = task.inference_head(model, data, inference.flag)
        check_pairs = _pair_check(model, data, settings)
        return InferenceSession(head, model.config, settings.encoding.max_seq_length, inference, check_pairs)
    return open_session(task, model, data, settings)


def open_for_new_texts(task: Task[Model, Data, Any], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """Return the trained model for new texts, with the engine of Devices.for_answers.

    See open_session for the arguments.
    """
    devices = settings.devices.for_answers(isinstance(model.config, BertConfig))
    return open_trained(task, model, data, dataclasses.replace(settings, devices=devices))


def open_trained(task: Task[Model, Data, Any], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """Return the task's model for predictions, with the weights of the checkpoint in `model`.

    See open_session for the arguments.
    """
    session = open_predictor(task, model, data, settings)
    session.load_trained(model.required_checkpoint)
    return session
