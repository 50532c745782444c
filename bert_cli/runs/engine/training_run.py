"""One training of a model: optimizer, checkpoints, the loop, and the figures that come of it. Imports TensorFlow."""

import contextlib
import functools
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError, TemporaryError
from bert_cli.base.names import CHECKPOINT
from bert_cli.model.encoder import WORDS
from bert_cli.model.layers import named_weights
from bert_cli.outputs.history import History, lines_each
from bert_cli.outputs.progress import Progress
from bert_cli.runtime.signals import Stopped, deferred
from bert_cli.settings.training import Saving
from bert_cli.training.auto_batch import AutoBatch
from bert_cli.training.batch_distribution import place
from bert_cli.training.checkpoints import restore_training, save_checkpoint, training_tensors
from bert_cli.training.compact_embeddings import CompactWords
from bert_cli.training.hyperparameters import Updates
from bert_cli.training.loop import Hook, run_steps
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.lamb import Lamb
from bert_cli.training.optimizers.nadam import Nadam
from bert_cli.training.optimizers.rate_multipliers import is_frozen
from bert_cli.training.step import LossScale, make_train_step
from bert_cli.training.stop_flag import Ending
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.names import POSITION_NAME
from bert_cli.weights.path import repair_state

if TYPE_CHECKING:
    from bert_cli.runs.engine.session import Session

LOG = logging.getLogger("bert_cli")
_OPTIMIZERS = {"adamw": AdamWeightDecay, "lamb": Lamb, "nadam": Nadam}


@contextlib.contextmanager
def memory_advice(flag: str) -> Iterator[None]:
    """Turn a device's lack of memory into advice."""
    try:
        yield
    except (tf.errors.ResourceExhaustedError, MemoryError):
        is_training = flag == "train_batch_size"
        parts = ", or raise --gradient_accumulation_steps, which --auto_batch does by itself" if is_training else ""
        raise InputError(
            f"out of memory: lower --{flag}, or --max_seq_length{parts}, or use --precision=bfloat16"
        ) from None


class TrainingRun:
    """The training of the model of a runs.engine.session.Session, from its start or from a checkpoint.

    `start`: the number of steps that are finished. `is_frozen`: no variable of the encoder is trained. `compact`: the rows
    of the word embeddings that are trained, None where it is all of them or none.
    """

    def __init__(
        self,
        session: "Session",
        updates: Updates,
        saving: Saving,
        folder: str,
        state: str | None,
        factors: Mapping[str, float] | None,
        token_ids: np.ndarray | None,
    ):
        """token_ids: all that batches will hold, None where the loss needs all words; else see Session.train."""
        self._session, self._updates, self._saving, self._folder = session, updates, saving, folder
        model, self.compact = session.model, None
        with session.strategy.scope():
            self.is_frozen = is_frozen(named_weights(model.encoder), factors or {})
            factors = dict(factors or {}) | dict.fromkeys(model.without_gradient(self.is_frozen), 0.0)
            trained, kind = dict(session.variables), _OPTIMIZERS[updates.optimizer]
            has_words = kind.rows_are_apart and WORDS in trained and factors.get(WORDS, 1.0) > 0
            if token_ids is not None and has_words:
                self.compact = CompactWords(model.encoder, token_ids)
                trained[WORDS] = self.compact.table
            self.optimizer = kind(
                trained,
                updates.learning_rate,
                updates.steps - updates.first_step,
                updates.warmup_steps,
                updates.bias_correction,
                factors,
                updates.weight_decay,
                updates.lr_schedule,
            )
            self.optimizer.first_step = updates.first_step
            self.loss_scale = LossScale() if session.precision == "float16" else None
        self.start = 0
        if state:
            self.start = restore_training(
                state, session.variables, self.optimizer, self.compact, self.loss_scale
            )  # fmt: skip
            if session.is_chief:
                repair_state(folder, state)

    def _loss(self, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        """A replica's share of the loss of the global batch."""
        session = self._session
        losses, weights = session.model.loss_terms(
            batch, seed, session.packed, self._updates.batch_size, self.is_frozen
        )
        return tf.reduce_sum(losses * weights)

    def step_function(self, specs: dict[str, tf.TensorSpec]) -> Callable:
        """One update on a batch that `specs` describe; see training.step.make_train_step and training.auto_batch."""
        strategy, updates = self._session.strategy, self._updates
        replicas = strategy.num_replicas_in_sync

        def make_step(parts: int) -> Callable:
            shown = specs if replicas == 1 else None
            return make_train_step(
                strategy, self._loss, self.optimizer, updates.random_seed, self.loss_scale, shown, parts
            )

        if not updates.auto_batch:
            return make_step(updates.parts)
        return AutoBatch(make_step, updates.parts, updates.batch_size // replicas, self.changed_variables)

    def changed_variables(self) -> list[tf.Variable]:
        """All that an update changes."""
        scale = self.loss_scale
        return [*self.optimizer.variables(), *([scale.scale, scale.good_steps] if scale else [])]

    def go(
        self,
        batches: Iterable[dict[str, np.ndarray]],
        specs: dict[str, tf.TensorSpec],
        hooks: Sequence[Hook],
        extra_tensors: Callable[[], dict[str, np.ndarray]] = dict,
        history: History | None = None,
    ) -> dict:
        """Run the updates and save; returns figures for the report.

        batches: those of step `start` and the following ones, which `specs` describe. hooks: called before a saving of the
        same step; they may use the session to predict. extra_tensors(): what else goes into a checkpoint.
        history: gets its lines; see outputs.history.lines_each.
        """
        updates, strategy, start = self._updates, self._session.strategy, self.start
        self._session.fix_weights(False)
        step_fn = self.step_function(specs)
        placed = (place(batch, strategy) for batch in batches)
        saving = Hook(self._saving.save_checkpoints_steps, lambda step: self._save(step, extra_tensors()), saves=True)
        all_hooks = [*(Hook(hook.every, functools.partial(self._call, hook)) for hook in hooks), saving]
        told, every = lines_each(self._saving.log_steps, updates.steps)
        with Progress("training", updates.steps, start, told, updates.batch_size) as progress:

            def report(step: int, loss: float, rate: float) -> None:
                progress.update(step, {"loss": f"{loss:.4f}", "learning rate": f"{rate:.3g}"})
                if history and (step % every == 0 or step == updates.steps):
                    history.add_training(step, loss, rate, updates.batch_size)

            began = time.monotonic()
            with deferred(_tell_ending) as asked, memory_advice("train_batch_size"):
                ending = Ending(strategy, asked.is_made)
                losses = run_steps(step_fn, placed, start, updates.steps, all_hooks, report, every, ending)
            seconds = time.monotonic() - began - (history.paused if history else 0.0)
        if asked.number is not None or ending.is_decided:
            raise self._stopped(asked.number, start + len(losses))
        if self.compact:
            self.compact.close(self.optimizer)
        self._session.fix_weights()
        return {
            "global_step": start + len(losses),
            "train_seconds": round(seconds, 3),
            "train_examples_per_second": round(len(losses) * updates.batch_size / seconds, 2),
            "first_loss": losses[0],
            "last_loss": losses[-1],
        }

    def _call(self, hook: Hook, step: int) -> bool | None:
        """The hook sees the model as a checkpoint of this step would have it."""
        with self.compact.set_aside(self.optimizer) if self.compact else contextlib.nullcontext():
            return hook.call(step)

    def _stopped(self, number: int | None, step: int) -> Stopped | TemporaryError:
        """What to raise after a signal, None for one that another process got, when all is saved."""
        said = f"after step {step} of {self._updates.steps}; saved as {os.path.join(self._folder, CHECKPOINT)}{step}"
        if number is None:
            return TemporaryError(
                f"a process that trains together with this one was asked to end: stopped {said}; start all of them again, with "
                "the same commands"
            )
        return Stopped(number, f"stopped by {Stopped(number).name} {said}; the same command goes on from there")

    def _save(self, step: int, extra: dict[str, np.ndarray]) -> None:
        session = self._session
        is_regular = step % self._saving.save_checkpoints_steps == 0 or step == self._updates.steps
        tensors = training_tensors(session.variables, self.optimizer, self.compact, self.loss_scale, is_regular)
        if session.is_chief:
            path = save_checkpoint(self._folder, step, tensors | extra, self._saving.keep_checkpoint_max)
            LOG.info("saved %s", path)


def _tell_ending(name: str) -> None:
    LOG.warning("%s: saving after the step that is running; a second signal ends at once, without", name)


def read_position(state: str) -> tuple[int, int]:
    """Where a checkpoint of bert-pretrain stands in its data. InputError for another one."""
    reader = Tf1Reader(state)
    if POSITION_NAME not in reader.shapes:
        raise InputError(
            f"{state}: does not say how far its data was read: it was not saved by bert-pretrain; use "
            "--overwrite_output_dir, or another --output_dir with --init_checkpoint"
        )
    shard, taken = reader.read(POSITION_NAME).tolist()
    return shard, taken
