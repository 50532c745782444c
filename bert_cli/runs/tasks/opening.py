"""A task's model: found and opened, put on its devices, its weights loaded."""

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


def load_task_model(task: Task[Model, Any], settings: TrainingSettings) -> Model:
    """The task's model of the checkpoint that the flags name, its weights not yet read.

    InputError where the model is only used, and another command trained it.
    """
    checkpoint = choose_checkpoint(settings.model, settings.hub, settings.phases)
    # Training may start from a model of any command; its encoder is taken.
    if checkpoint and not settings.phases.do_train:
        check_command(checkpoint, task.command)
    return task.load(checkpoint)


def open_session(
    task: Task[Model, Data],
    model: Model,
    data: Data,
    settings: TrainingSettings,
    class_weights: tuple | None = None,
    batch_size: int | None = None,
) -> "Session":
    """The task's model on its devices, its weights random or, with a checkpoint, still to be
    loaded. Imports TensorFlow.

    class_weights: of the loss, see controls.class_weights. batch_size: of the training; None where
    nothing is trained.
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
        weights_follow=model.checkpoint is not None,
        check_pairs=_pair_check(model, data, settings),
    )


def _pair_check(model: Model, data: Data, settings: TrainingSettings) -> PairCheck | None:
    # Data in memory was checked when it was read; new texts are checked when they are computed.
    if data.sequences():
        return None
    return PairCheck(model.config, model.config_name, settings.model.strict)


def open_predictor(task: Task[Model, Data], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """As open_session where nothing is trained, for any --engine; inference engines need no
    TensorFlow.
    """
    if inference := settings.devices.inference:
        # Here, as what reads checkpoints takes a while, and others need it later.
        from bert_cli.runs.engine.inference_session import InferenceSession

        head = task.inference_head(model, data, inference.flag)
        check_pairs = _pair_check(model, data, settings)
        return InferenceSession(head, model.config, settings.encoding.max_seq_length, inference, check_pairs)
    return open_session(task, model, data, settings)


def open_for_answers(task: Task[Model, Data], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """As open_trained, for new texts: by the engine of Devices.for_answers."""
    devices = settings.devices.for_answers(isinstance(model.config, BertConfig))
    return open_trained(task, model, data, dataclasses.replace(settings, devices=devices))


def open_trained(task: Task[Model, Data], model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """The task's model on its devices, with the weights of the checkpoint that was opened as
    `model`.
    """
    session = open_predictor(task, model, data, settings)
    session.load_trained(model.required_checkpoint)
    return session
