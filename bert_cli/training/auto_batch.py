"""A training step that finds out by itself into how many parts its batch has to be divided to fit into memory."""

import logging
from collections.abc import Callable, Sequence

import tensorflow as tf

LOG = logging.getLogger("bert_cli")


class AutoBatch:
    """`step(batch) -> (loss, learning rate)` for training.loop. `parts`: into how many each replica's rows are divided.

    Where memory does not suffice for the first call, all is put back as it was before, and the same batch is computed in
    twice as many parts, as long as these divide the rows. Later calls keep to what was found.
    """

    def __init__(
        self, make_step: Callable[[int], Callable], parts: int, rows: int, changed: Callable[[], Sequence[tf.Variable]]
    ):
        """make_step(parts) builds a step function. rows: of a replica in each batch; changed(): the variables that a step
        changes, of which a copy in the memory of the host is kept while the first one runs."""
        self.parts, self._rows, self._changed = parts, rows, changed
        self._make_step, self._step, self._is_settled = make_step, make_step(parts), False

    def __call__(self, batch: dict) -> tuple[tf.Tensor, tf.Tensor]:
        """Raises what the step raises, also a lack of memory where no more parts are possible."""
        if self._is_settled:
            return self._step(batch)
        before = [(variable, variable.numpy()) for variable in self._changed()]
        while True:
            try:
                loss, rate = self._step(batch)
                float(loss)  # waits for the device, whose lack of memory may be told no earlier
            except (tf.errors.ResourceExhaustedError, MemoryError):
                if self._rows % (2 * self.parts):
                    raise
            else:
                self._is_settled = True
                return loss, rate
            self.parts *= 2
            LOG.warning(
                "out of memory: each update is computed in %d parts from here on, as --gradient_accumulation_steps=%d does",
                self.parts, self.parts,
            )  # fmt: skip
            for variable, value in before:
                variable.assign(value)
            self._step = self._make_step(self.parts)
