"""Functions that open a task's model: read its files, put it on devices, and load its weights."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bert_cli.flags.option import select_values
from bert_cli.inference import rows
from bert_cli.inference.engine import Engine
from bert_cli.inference.rows import Predictor
from bert_cli.model.config import BertConfig
from bert_cli.opening.checkpoints import checkpoint_to_start_from, model_to_use
from bert_cli.opening.checks import PairCheck
from bert_cli.opening.trained import check_command
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.dataset import data_for_trial
from bert_cli.runs.tasks.interface import Data, Model, Task
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.training import TrainingSettings
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel
    from bert_cli.inference.tensorflow import TensorFlowEngine
    from bert_cli.runs.engine.training_run import TrainingRun


class SharedNetwork:
    """The previous run's data, network and traced training step, for the next run that they fit.

    Tracing and compiling a step takes seconds. A run that uses them starts with the same numbers as
    with a new network. Only one network is kept.

    Attributes:
        num_words: number of different words in the training data of all runs; 0 if they have the
            same words.
        logged_lines: lines that runs logged before training; later runs leave them out.
    """

    def __init__(self) -> None:
        self.num_words = 0
        self.logged_lines: set[str] = set()
        self._data: Any = None
        self._data_facts: Any = None
        self._engine: TensorFlowEngine | None = None
        self._facts: Any = None
        self._run: TrainingRun | None = None
        self._run_facts: Any = None

    def read(self, task: Task[Model, Data, Any], model: Model, stack: contextlib.ExitStack) -> Data:
        """Return the previous run's data if this run has the same, otherwise read it.

        Args:
            task, model, stack: see Task.read.
        """
        settings = task.settings
        key = (type(task), type(settings), select_values(settings, lambda option: not option.keeps_data))
        if self._data_facts == key and (data := data_for_trial(self._data, settings)):
            return cast(Data, data)
        # Free the previous data first, so that two datasets are never in memory.
        self._data = None
        self._data = data = task.read(model, stack)
        self._data_facts = key
        return data

    def open(
        self,
        settings: TrainingSettings,
        facts: tuple,
        make_engine: "Callable[[], TensorFlowEngine]",
        loads_checkpoint: bool,
    ) -> "TensorFlowEngine":
        """Return the previous run's engine with new weights if it fits, otherwise a new one.

        Args:
            facts: other values that determine the network.
            make_engine: makes a new engine.
            loads_checkpoint: see TensorFlowEngine.
        """
        key = (type(settings), select_values(settings, lambda option: not option.keeps_network), *facts)
        if self._engine is not None and self._facts == key:
            from bert_cli.inference.tensorflow import restart_engine

            restart_engine(self._engine, settings.seed.random_seed, loads_checkpoint)
            return self._engine
        # Free the previous network first, so that two are never in memory.
        self._engine = self._run = None
        self._engine, self._facts = make_engine(), key
        return self._engine

    def open_run(
        self,
        engine: "TensorFlowEngine",
        updates: TrainingHyperparameters,
        factors: Mapping[str, float],
        token_ids: np.ndarray | None,
        state: str | None = None,
    ) -> "TrainingRun":
        """Return a TrainingRun, with the previous run's traced step if it fits.

        Args:
            engine, updates, factors, token_ids, state: see TrainingRun.
        """
        from bert_cli.runs.engine.training_run import TrainingRun

        key = (updates.in_graph, dict(factors), token_ids is None)
        run, self._run = self._run, None
        # --auto_batch may have changed the step of the previous run.
        is_same = run and run.engine is engine and self._run_facts == key and not updates.auto_batch
        if run and is_same and run.fits(token_ids):
            run.restart(updates, token_ids, state)
            self._run = run
            return run
        # Free the previous run first, so that the moments of two are never in memory.
        del run
        run = TrainingRun(engine, updates, factors, token_ids, state, self.num_words)
        if engine is self._engine:
            self._run, self._run_facts = run, key
        return run


def load_task_model(task: Task[Model, Any, Any], settings: TrainingSettings) -> Model:
    """Return the model from the checkpoint that the flags name, without reading its weights.

    Raise InputError if the run does not train, and another command trained the model.
    """
    if settings.phases.do_train:
        # Training may start from any command's model, because it uses only the encoder.
        return task.load(checkpoint_to_start_from(settings.model, settings.hub))
    checkpoint = model_to_use(settings.model, settings.hub, settings.phases.output_dir).find()
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
    shared: SharedNetwork | None = None,
) -> "TensorFlowEngine":
    """Return the task's model on its devices, for training; import TensorFlow.

    Its weights are random. If the model has a checkpoint, the caller must load the weights.

    Args:
        task: builds the network.
        model: config, vocabulary and checkpoint.
        data: dataset with the labels.
        class_weights: weights in the loss, see controls.class_weights.
        batch_size: training batch size, None without training.
        shared: network of an earlier run, which is used if it fits; None for a new one.
    """
    setup_tensorflow()
    from bert_cli.inference.tensorflow import TensorFlowEngine

    network, loads_checkpoint = task.network(model, data), model.checkpoint is not None

    def make_engine() -> TensorFlowEngine:
        return TensorFlowEngine(
            network,
            _make_model(task, model, data, settings, class_weights),
            settings.devices,
            settings.encoding.max_seq_length,
            batch_size,
            settings.optimization.gradient_accumulation_steps,
            loads_checkpoint,
        )

    # A module for tensorflow-hub has its own initial weights.
    if shared is None or not isinstance(model.config, BertConfig):
        return make_engine()
    facts = (model.config, network, class_weights, batch_size)
    return shared.open(settings, facts, make_engine, loads_checkpoint)


def make_predictor(engine: Engine, model: Model, data: Data, settings: TrainingSettings) -> Predictor:
    """Return a predictor that checks new texts; data in memory is checked when it is read.

    Args:
        engine: the task's model on its devices.
        model, data, settings: see open_network.
    """
    check = None if data.memory_splits else PairCheck(model.config, model.config_name, settings.model.strict)
    return Predictor(engine, settings.encoding.max_seq_length, check)


def open_trained_task(
    task: Task[Model, Data, Any], model: Model, data: Data, settings: TrainingSettings, many: bool = True
) -> tuple[Predictor, int]:
    """Return the task's trained model for predictions with any --engine, and its global_step.

    Inference engines do not import TensorFlow. See open_network for the arguments, and
    inference.rows.open_trained for `many`.
    """
    make_model = _make_model(task, model, data, settings)
    network, checkpoint, length = task.network(model, data), model.required_checkpoint, settings.encoding.max_seq_length
    opened = rows.open_trained(network, model.config, checkpoint, settings.devices, length, make_model, many)
    return make_predictor(opened.engine, model, data, settings), opened.step


def open_task_for_new_texts(
    task: Task[Model, Data, Any], model: Model, data: Data, settings: TrainingSettings, many: bool
) -> Predictor:
    """Return the trained model for new texts, with the engine of Devices.for_answers.

    See open_trained_task for the arguments.
    """
    devices = settings.devices.for_answers(isinstance(model.config, BertConfig))
    return open_trained_task(task, model, data, dataclasses.replace(settings, devices=devices), many)[0]
