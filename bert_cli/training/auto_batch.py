"""A training step that reduces its memory until it fits, with micro-batches or recomputation."""

import dataclasses
from collections.abc import Callable, Sequence

import tensorflow as tf

from bert_cli.base.log import LOG


@dataclasses.dataclass(eq=False)
class AutoBatch:
    """A function `step(batch) -> (loss, learning rate)` for training.loop.

    If the first call runs out of memory, the variables are restored, and the same batch is computed
    with twice as many micro-batches, as long as these divide the rows. If that is not enough, use
    recomputation. Later calls use the same settings.

    Attributes:
        make_step: make_step(steps) returns a step function with `steps` micro-batches.
        steps: number of micro-batches for each replica's rows.
        rows: rows per replica.
        changed: returns the variables that a step changes. The host keeps a copy during the first
            step.
        recompute: makes new step functions recompute activations. It returns False if they already
            do, or cannot.
    """

    make_step: Callable[[int], Callable]
    steps: int
    rows: int
    changed: Callable[[], Sequence[tf.Variable]]
    recompute: Callable[[], bool]

    def __post_init__(self) -> None:
        self._step = self.make_step(self.steps)
        self._is_settled = False

    def __call__(self, batch: dict) -> tuple[tf.Tensor, tf.Tensor]:
        """Run a step; raise the step's errors, including a lack of memory if nothing helps."""
        if self._is_settled:
            return self._step(batch)
        saved_values = [(variable, variable.numpy()) for variable in self.changed()]
        while True:
            try:
                loss, rate = self._step(batch)
                float(loss)  # wait for the device, which may report a lack of memory only now
            except (tf.errors.ResourceExhaustedError, MemoryError):
                if not self._save_memory():
                    raise
            else:
                self._is_settled = True
                return loss, rate
            for variable, value in saved_values:
                variable.assign(value)
            self._step = self.make_step(self.steps)

    def _save_memory(self) -> bool:
        """Change the settings for the next step; return False if no change is left."""
        # Use micro-batches first: they take less time than recomputation (docs/memory.md).
        if self.rows % (2 * self.steps) == 0:
            self.steps *= 2
            LOG.warning(
                "out of memory: each update is computed in %d micro-batches from now on, as with "
                "--gradient_accumulation_steps=%d", self.steps, self.steps,
            )  # fmt: skip
            return True
        if self.recompute():
            LOG.warning("out of memory: activations are recomputed from now on, as with --recompute=layers")
            return True
        return False
