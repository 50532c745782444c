"""A training step that doubles its accumulation steps until a micro-batch fits into memory."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from bert_cli.base.log import LOG


class AutoBatch:
    """`step(batch) -> (loss, learning rate)` for training.loop. `steps`: accumulation steps, of
    each replica's rows.

    Where memory does not suffice for the first call, all variables are restored, and the same batch
    is computed in twice as many steps, as long as their number divides the rows. Later calls keep
    to the number that was found.
    """

    def __init__(
        self, make_step: Callable[[int], Callable], steps: int, rows: int, changed: Callable[[], Sequence[tf.Variable]]
    ):
        """make_step(steps) builds a step function. rows: of a replica in each batch; changed(): the
        variables that a step changes, of which a copy in the memory of the host is kept while the
        first one runs.
        """
        self.steps = steps
        self._rows = rows
        self._changed = changed
        self._make_step = make_step
        self._step = make_step(steps)
        self._is_settled = False

    def __call__(self, batch: dict) -> tuple[tf.Tensor, tf.Tensor]:
        """Raises what the step raises, also a lack of memory where no more steps are possible."""
        if self._is_settled:
            return self._step(batch)
        before = [(variable, variable.numpy()) for variable in self._changed()]
        while True:
            try:
                loss, rate = self._step(batch)
                float(loss)  # waits for the device, which may report a lack of memory no earlier
            except (tf.errors.ResourceExhaustedError, MemoryError):
                if self._rows % (2 * self.steps):
                    raise
            else:
                self._is_settled = True
                return loss, rate
            self.steps *= 2
            LOG.warning(
                "out of memory: each update is computed in %d micro-batches from now on, as with "
                "--gradient_accumulation_steps=%d", self.steps, self.steps,
            )  # fmt: skip
            for variable, value in before:
                variable.assign(value)
            self._step = self._make_step(self.steps)
