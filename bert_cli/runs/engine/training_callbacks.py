"""Callbacks of every training: progress, checkpoints, and a wrapper for those that predict."""

import contextlib
from collections.abc import Callable

import numpy as np

from bert_cli.base.errors import first_line
from bert_cli.base.log import LOG
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.outputs.progress import Progress
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.settings.training import NEWEST, Saving
from bert_cli.training.checkpoints import save_checkpoint
from bert_cli.training.compact_embeddings import CompactEmbeddings
from bert_cli.training.loop import CallbackError, LoopCallback
from bert_cli.training.older_checkpoints import drop_older_moments
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.several_processes import has_other_workers
from bert_cli.weights.formats.checkpoint_writer import LazyArrays


class FullTableCallback(LoopCallback):
    """Wrapper for a callback that needs the whole embedding table, as in a checkpoint."""

    def __init__(self, callback: LoopCallback, compact: CompactEmbeddings | None, optimizer: AdamWeightDecay):
        self.every = callback.every
        self._callback = callback
        self._compact = compact
        self._optimizer = optimizer

    def on_log(self, step: int, loss: float, rate: float) -> bool | None:
        return self._callback.on_log(step, loss, rate)

    def on_step(self, step: int) -> bool | None:
        compact = self._compact
        with compact.set_aside(self._optimizer) if compact else contextlib.nullcontext():
            return self._callback.on_step(step)


class SaveCheckpoints(LoopCallback):
    """Saves model.ckpt-N every save_checkpoints_steps, after the last step and on a stop signal.

    It also saves if an evaluation or an observer fails.
    """

    saves = True

    def __init__(
        self,
        engine: TensorFlowEngine,
        tensors: Callable[[bool], contextlib.AbstractContextManager[LazyArrays]],
        data_tensors: Callable[[], dict[str, np.ndarray]],
        last_step: int,
        saving: Saving,
        directory: RunDirectory,
        saves_failures: bool = True,
    ):
        """Keep the sources of a checkpoint's tensors.

        Args:
            engine: the model.
            tensors: see TrainingRun.tensors.
            data_tensors: see TrainingInput.checkpoint_tensors.
            last_step: number of steps in the whole training.
            saves_failures: whether a failure saves, too.
        """
        self._saves_failures = saves_failures
        self.every = saving.save_checkpoints_steps
        self._engine = engine
        self._tensors = tensors
        self._data_tensors = data_tensors
        self._last_step = last_step
        self._saving = saving
        self._directory = directory

    def on_step(self, step: int) -> None:
        is_regular = step % self._saving.save_checkpoints_steps == 0 or step == self._last_step
        with self._tensors(is_regular) as state:
            tensors = state | self._data_tensors()
            if self._engine.is_chief:
                keep = self._saving.keep_checkpoint_max
                LOG.info("saved %s", save_checkpoint(self._directory.path, step, tensors, keep))
            else:
                list(map(np.shape, tensors.values()))  # reading a distributed variable involves all processes
        if self._engine.is_chief and self._saving.keep_moments == NEWEST:
            drop_older_moments(self._directory.path, step)

    def on_failure(self, step: int) -> None:
        # The other processes of a training go on with the
        # next step, so they cannot help to save this one.
        if self._saves_failures and not has_other_workers(self._engine.strategy):
            self.on_step(step)

    def name_state(self, rerun: str, failure: CallbackError) -> None:
        """Add notes about the newest checkpoint to the error in a failure.

        Args:
            rerun: the command or call that resumes; "" if nothing is kept.
        """
        error = failure.error
        newest = self._directory.newest_checkpoint
        if failure.later_error:
            error.add_note(f"the state could not be saved: {first_line(failure.later_error)}")
        if rerun and newest:
            error.add_note(f"{rerun} goes on from {newest}")


class ShowProgress(LoopCallback):
    """Shows the loss and the learning rate next to the progress."""

    def __init__(self, progress: Progress):
        self._progress = progress

    def on_log(self, step: int, loss: float, rate: float) -> None:
        self._progress.update(step, {"loss": f"{loss:.4f}", "learning rate": f"{rate:.3g}"})
