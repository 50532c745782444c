"""Training of a model: optimizer, step function, loop, callbacks and checkpoints."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import tensorflow as tf

from bert_cli.base.names import CHECKPOINT
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.model.encoder import WORDS, BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.outputs.history import logging_intervals
from bert_cli.outputs.progress import Progress
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.engine.disk_space import CheckpointPlan, check_space, plan_checkpoints
from bert_cli.runs.engine.training_callbacks import FullTableCallback, SaveCheckpoints, ShowProgress
from bert_cli.runtime.background_import import BackgroundImports
from bert_cli.runtime.signals import deferring_signals
from bert_cli.settings.controls import ADAM
from bert_cli.settings.training import Saving
from bert_cli.training.auto_batch import AutoBatch
from bert_cli.training.batch_distribution import distribute, memory_advice
from bert_cli.training.compact_embeddings import CompactEmbeddings
from bert_cli.training.loop import LoopCallback, TrainingFigures, final_loss, run_steps, unwrapping_callback_errors
from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters, is_frozen
from bert_cli.training.optimizers.lamb_nadam import Lamb, Nadam
from bert_cli.training.saved_state import restore_training, training_tensors
from bert_cli.training.several_processes import StopFlag, log_stop_signal, stop_error
from bert_cli.training.step import make_train_step
from bert_cli.weights.formats.checkpoint_writer import LazyArrays
from bert_cli.weights.training_folder import repair_checkpoint_state
from bert_cli.weights.variables import LORA_BASE

_OPTIMIZERS = {"adamw": AdamWeightDecay, ADAM: AdamWeightDecay, "lamb": Lamb, "nadam": Nadam}


class TrainingInput(Protocol):
    """Training data: rows in memory or a stream, see engine.training_inputs.

    Attributes:
        token_ids: all ids in the batches, int32 in any order; None if the loss needs the whole
            vocabulary.
    """

    @property
    def token_ids(self) -> np.ndarray | None: ...

    def batches(self, run: "TrainingRun", state: str | None) -> tuple[Iterator[dict], dict[str, tf.TensorSpec]]:
        """Return the batches from the run's next step on, and their signature; see TrainingRun."""

    def checkpoint_tensors(self) -> dict[str, np.ndarray]:
        """Return tensors to save in addition to the model, for example the position in the data."""


class TrainingRun:
    """Training state of a model: optimizer, finished steps and step function.

    Attributes:
        start: number of finished steps.
        is_frozen: whether no encoder variable is trained.
        compact: the word embeddings that are trained; None if all are trained, or none.
    """

    def __init__(
        self,
        engine: TensorFlowEngine,
        updates: TrainingHyperparameters,
        factors: Mapping[str, float],
        token_ids: np.ndarray | None,
        state: str | None = None,
        num_words: int = 0,
    ):
        """Create the optimizer, and restore a checkpoint.

        Args:
            factors: factors for the learning rate, see rate_factors.
            token_ids: see TrainingInput.
            state: checkpoint prefix to resume from; None for a new run.
            num_words: number of different words in the data of all runs that `restart` starts.
        """
        self.engine = engine
        self.updates = updates
        model = engine.model
        self.compact = None
        with engine.strategy.scope():
            self.is_frozen = is_frozen(named_weights(model.encoder), factors)
            factors = dict(factors) | dict.fromkeys(model.without_gradient(self.is_frozen), 0.0)
            trained = dict(engine.variables)
            optimizer_class = _OPTIMIZERS[updates.optimizer]
            has_words = optimizer_class.rows_are_independent and WORDS in trained and factors.get(WORDS, 1.0) > 0
            if token_ids is not None and has_words:
                self.compact = CompactEmbeddings(model.encoder, token_ids, num_words)
                trained[WORDS] = self.compact.table
            self.optimizer = optimizer_class(trained, updates, factors)
            self.loss_scale = LossScale() if engine.precision == "float16" else None
            # int64, because a GPU has no kernels for int32 variables.
            self._seed = tf.Variable(updates.random_seed, dtype=tf.int64, trainable=False)
        self._step_function: Callable | None = None
        self._restore(state)

    def _restore(self, state: str | None) -> None:
        rest = (self.engine.variables, self.optimizer, self.compact, self.loss_scale)
        self.start = restore_training(state, *rest) if state else 0

    def fits(self, token_ids: np.ndarray | None) -> bool:
        """Return whether `restart` can use training data with these ids, see TrainingInput."""
        return token_ids is None or self.compact is None or self.compact.fits(token_ids)

    def restart(self, updates: TrainingHyperparameters, token_ids: np.ndarray | None, state: str | None) -> None:
        """Start another run with the same traced step, from the engine's weights; see __init__.

        The hyperparameters must have an equal `in_graph`, and `fits` must be true.
        """
        self.updates = updates
        if self.compact and token_ids is not None:
            self.compact.reopen(token_ids)
        self.optimizer.restart(updates)
        if self.loss_scale:
            self.loss_scale.restart()
        self._seed.assign(updates.random_seed)
        self._restore(state)

    def _loss(self, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        """Return a replica's share of the loss over the global batch."""
        engine = self.engine
        losses, weights = engine.model.loss_terms(batch, seed, engine.packed, self.updates.batch_size, self.is_frozen)
        return tf.reduce_sum(losses * weights)

    def step_function(self, specs: dict[str, tf.TensorSpec], on_traced: Callable[[], object] | None = None) -> Callable:
        """Return a function that updates the model with a batch; see make_train_step, AutoBatch.

        Later calls return the same function, and ignore the arguments.
        """
        if self._step_function is None:
            self._step_function = self._make_step_function(specs, on_traced)
        return self._step_function

    def _make_step_function(self, specs: dict[str, tf.TensorSpec], on_traced: Callable[[], object] | None) -> Callable:
        strategy, updates = self.engine.strategy, self.updates
        replicas = strategy.num_replicas_in_sync
        rule = (strategy, self._loss, self.optimizer, self._seed, self.loss_scale)

        def make_step(accumulation_steps: int) -> Callable:
            return make_train_step(*rule, specs if replicas == 1 else None, accumulation_steps, on_traced)

        if not updates.auto_batch:
            return make_step(updates.accumulation_steps)
        rows = updates.batch_size // replicas
        return AutoBatch(make_step, updates.accumulation_steps, rows, self.changed_variables, self._recompute)

    def _recompute(self) -> bool:
        """Turn on recomputation, and return whether that changed anything; see AutoBatch."""
        encoder = self.engine.model.encoder
        if self.is_frozen or not isinstance(encoder, BertEncoder) or encoder.recomputes or encoder.lora:
            return False
        encoder.recomputes = True
        return True

    def changed_variables(self) -> list[tf.Variable]:
        """Return the variables that an update changes."""
        scale = self.loss_scale
        return [*self.optimizer.variables(), *([scale.scale, scale.good_steps] if scale else [])]

    def tensors(self, is_regular: bool = True) -> contextlib.AbstractContextManager[LazyArrays]:
        """Return a context with a checkpoint's contents after the last step; see training_tensors."""
        state = (self.optimizer, self.compact, self.loss_scale)
        return training_tensors(self.engine.variables, *state, is_regular, self.engine.sums)

    def checkpoint_plan(self, saving: Saving, keeps_best: bool) -> CheckpointPlan:
        """Return sizes and number of checkpoints from here to the last step."""
        # Use the variables, not the optimizer's slots: a checkpoint has moments for all words.
        shapes = {name: tuple(variable.shape) for name, variable in self.engine.variables.items()}
        shapes |= {f"{name}{LORA_BASE}": shapes[name] for name in self.engine.sums}
        return plan_checkpoints(shapes, self.optimizer.weights, self.start, self.updates.steps, saving, keeps_best)


def train(
    engine: TensorFlowEngine,
    source: TrainingInput,
    updates: TrainingHyperparameters,
    factors: Mapping[str, float],
    saving: Saving,
    directory: RunDirectory,
    state: str | None = None,
    callbacks: Sequence[LoopCallback] = (),
    paused_seconds: Callable[[], float] = float,
    rerun: str = "the same command",
    is_temporary: bool = False,
    keeps_best: bool = False,
    packages: Sequence[str] = (),
    open_run: Callable[..., TrainingRun] = TrainingRun,
) -> TrainingFigures:
    """Train up to updates.steps, save into `directory`, and return figures for the report.

    Args:
        factors: factors for the learning rate, see rate_factors.
        state: checkpoint prefix to resume from; None for a new run.
        callbacks: called before the callback that saves; they may use the engine to predict.
        paused_seconds: returns the seconds since the start that were not used for training.
        rerun: the command or call that resumes after a signal.
        is_temporary: whether `directory` is deleted after an error, so that an error saves nothing.
        keeps_best: whether a callback saves the best weights, which need disk space, too.
        packages: modules that later phases need, imported while TensorFlow compiles the first step.
        open_run: returns the TrainingRun for the constructor's arguments.

    Raises:
        InputError: if a checkpoint does not fit on the disk, or cannot be written.
        Exception: any error in an evaluation or an observer, after the state was saved.
        Stopped: after a stop signal to this process.
        TemporaryError: after a stop signal to another process.
    """
    for callback in callbacks:
        callback.on_start()
    run = open_run(engine, updates, factors, source.token_ids, state)
    if engine.is_chief:
        check_space(directory, run.checkpoint_plan(saving, keeps_best))
    if state and engine.is_chief:
        repair_checkpoint_state(directory.path, state)
    batches, specs = source.batches(run, state)
    engine.freeze_for_inference(False)
    step_fn = run.step_function(specs, BackgroundImports(packages).start)
    distributed_batches = (distribute(batch, engine.strategy) for batch in batches)
    shown_steps, log_every = logging_intervals(saving.log_steps, updates.steps)
    data_tensors = source.checkpoint_tensors
    saver = SaveCheckpoints(engine, run.tensors, data_tensors, updates.steps, saving, directory, not is_temporary)
    with Progress("training", updates.steps, run.start, shown_steps, updates.batch_size) as progress:
        all_callbacks = [
            ShowProgress(progress),
            *(FullTableCallback(callback, run.compact, run.optimizer) for callback in callbacks),
            saver,
        ]
        start = time.monotonic()
        named = unwrapping_callback_errors(functools.partial(saver.name_state, "" if is_temporary else rerun))
        with named, deferring_signals(log_stop_signal) as stop_request, memory_advice("train_batch_size"):
            stop = StopFlag(engine.strategy, stop_request.is_made)
            losses = run_steps(step_fn, distributed_batches, run.start, updates.steps, all_callbacks, log_every, stop)
        seconds = time.monotonic() - start - paused_seconds()
    last_step = run.start + len(losses)
    if stop_request.number is not None or stop.is_decided:
        raise stop_error(stop_request.number, last_step, updates.steps, directory.file(CHECKPOINT), rerun)
    if run.compact:
        run.compact.close(run.optimizer)
    engine.freeze_for_inference()
    return TrainingFigures(
        global_step=last_step,
        train_seconds=round(seconds, 3),
        train_examples_per_second=round(len(losses) * updates.batch_size / seconds, 2),
        first_loss=losses[0],
        last_loss=float(f"{final_loss(losses, last_step, log_every):.7g}"),  # as history.jsonl has it
    )
