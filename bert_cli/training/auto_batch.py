"""A training step that divides its batch, and then recomputes activations, until it fits."""

import dataclasses
from collections.abc import Callable, Sequence

import tensorflow as tf

from bert_cli.base.log import LOG


@dataclasses.dataclass(eq=False)
class AutoBatch:
    """`step(batch) -> (loss, learning rate)` for training.loop. `steps`: accumulation steps, of
    each replica's rows.

    Where memory does not suffice for the first call, all variables are restored, and the same batch
    is computed in twice as many steps, as long as their number divides the rows; after that, with
    recomputation. Later calls keep to what was found.

    make_step(steps) builds a step function. rows: of a replica in each batch; changed(): the
    variables that a step changes, of which a copy in the memory of the host is kept while the first
    one runs. recompute(): has the steps that are built from then on recompute activations; False
    where they do already, or cannot.
    """

    make_step: Callable[[int], Callable]
    steps: int
    rows: int
    changed: Callable[[], Sequence[tf.Variable]]
    recompute: Callable[[], bool]

    def __post_init__(self):
        self._step = self.make_step(self.steps)
        self._is_settled = False

    def __call__(self, batch: dict) -> tuple[tf.Tensor, tf.Tensor]:
        """Raises what the step raises, also a lack of memory where nothing is left to try."""
        if self._is_settled:
            return self._step(batch)
        before = [(variable, variable.numpy()) for variable in self.changed()]
        while True:
            try:
                loss, rate = self._step(batch)
                float(loss)  # waits for the device, which may report a lack of memory no earlier
            except (tf.errors.ResourceExhaustedError, MemoryError):
                if not self._save_memory():
                    raise
            else:
                self._is_settled = True
                return loss, rate
            for variable, value in before:
                variable.assign(value)
            self._step = self.make_step(self.steps)

    def _save_memory(self) -> bool:
        """Change the next step; False where nothing is left to change."""
        # Micro-batches come first: they cost less time than recomputation (docs/training.md).
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
