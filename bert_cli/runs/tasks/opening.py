"""A task's model: found and opened, put on its devices, its weights loaded."""

from typing import TYPE_CHECKING

from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading.checkpoints import choose_checkpoint
from bert_cli.runs.loading.trained_model import check_command
from bert_cli.runs.tasks.interface import Model, Task
from bert_cli.runtime.tensorflow_setup import prepare_host
from bert_cli.settings.training import TrainingSettings
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.runs.engine.session import Session


def open_model(task: Task[Model], settings: TrainingSettings) -> tuple[CheckpointPath | None, Model]:
    """The checkpoint that the flags name, and the task's model of it, its weights not yet read.

    InputError where the model is only used, and another command trained it.
    """
    checkpoint = choose_checkpoint(settings.model, settings.hub, settings.phases)
    if checkpoint and not settings.phases.do_train:
        check_command(checkpoint, task.command)
    return checkpoint, task.open(checkpoint)


def open_session(task: Task[Model], model: Model, settings: TrainingSettings) -> "Session":
    """The task's model on its devices, its weights random or, with a checkpoint, still to be loaded. Imports TensorFlow."""
    prepare_host()
    from bert_cli.runs.engine.session import Session

    batch_size = settings.training.train_batch_size if settings.phases.do_train else None
    return Session(
        lambda compute_dtype: task.make_model(model, compute_dtype),
        settings.devices,
        settings.encoding.max_seq_length,
        batch_size,
        settings.optimization.gradient_accumulation_steps,
        weights_follow=model.sources.checkpoint is not None,
    )


def open_predictor(task: Task[Model], model: Model, settings: TrainingSettings) -> Predictor:
    """As open_session where nothing is trained, for any --engine; onnxruntime needs no TensorFlow."""
    flag = settings.devices.onnxruntime_flag
    if flag:
        from bert_cli.runs.engine.onnx_session import (
            OnnxSession,  # what reads checkpoints takes a while, which others need later
        )

        head = task.onnx_head(model, flag)
        return OnnxSession(head, model.config, settings.encoding.max_seq_length, settings.devices)
    return open_session(task, model, settings)


def open_trained(task: Task[Model], model: Model, settings: TrainingSettings) -> Predictor:
    """The task's model on its devices, with the weights of the checkpoint that was opened as `model`."""
    session = open_predictor(task, model, settings)
    session.load_trained(model.sources.required_checkpoint)
    return session
