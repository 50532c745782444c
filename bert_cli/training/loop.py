"""The only training loop, and the interface of its callbacks."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from bert_cli.base.errors import DivergedError

# Results of steps are read this often, in seconds, so that a GPU is not stopped after each step.
_READ_INTERVAL = 0.5


class Callback:
    """What happens besides the updates of a training: evaluation, early stopping, checkpoints,
    history, progress.

    every: `on_step` is called after each `every` steps and after the last one; of a fraction, such
    as the steps of an epoch with a last batch that is shared with the next one, each multiple is
    rounded down; None: it is not called. saves: it is called too where the process is asked to
    stop.
    """

    every: int | Fraction | None = None
    saves = False

    def on_start(self) -> None:
        """Called once, before the first step; nothing is computed yet."""

    def on_log(self, step: int, loss: float, rate: float) -> None:
        """step: finished steps; loss: mean over the steps since the call before that was due, in
        the call of the last step the final loss; rate: the learning rate of the last step.
        """

    def on_step(self, step: int) -> bool | None:
        """Called when due; True stops the training after this step, which is the last one then."""

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> bool | None:
        """Called with the metrics of an evaluation during training; True stops the training."""

    def is_due(self, step: int) -> bool:
        """Whether `step` is a multiple of `every`, rounded down."""
        return self.every is not None and math.floor(math.ceil(step / Fraction(self.every)) * self.every) == step


def final_loss(losses: Sequence[float], steps: int, log_every: int) -> float:
    """The mean over the last tenth of the `steps` of a training, and over one interval at least.

    losses: of the steps since the training went on, at least one.
    """
    recent = losses[-max(log_every, steps // 10) :]
    return sum(recent) / len(recent)


def run_steps(
    step_fn: Callable,
    batches: Iterable[dict],
    start_step: int,
    num_train_steps: int,
    callbacks: Sequence[Callback],
    log_every: int,
    is_stopping: Callable[[], bool] = lambda: False,
) -> list[float]:
    """Run the updates start_step … num_train_steps − 1, or up to where a callback stops them;
    returns the loss of each.

    step_fn(batch) -> (loss, learning rate) scalars. The callbacks of a step are called in their
    order; where one of them stops the training, those that were not due follow. is_stopping() says
    whether the process was asked to stop: the running step is the last one then, and of the
    callbacks that are not due only those that save are called. Raises DivergedError where a loss is
    not finite; no callback, such as one that saves, is called for its step.
    """
    losses: list[float] = []
    pending: list = []
    stepped = [callback for callback in callbacks if callback.every is not None]
    logged = 0
    last_read = time.monotonic()
    step = start_step
    for batch in batches:
        # A result is not read yet: that would wait for the device, which then has nothing to do
        # until the next step.
        pending.append(step_fn(batch))
        step += 1
        is_last = step == num_train_steps
        stopping = is_stopping()
        due = [each for each in stepped if is_last or each.is_due(step) or (stopping and each.saves)]
        logging = is_last or stopping or step % log_every == 0
        if due or logging or time.monotonic() - last_read > _READ_INTERVAL:
            for loss, _ in pending:
                losses.append(float(loss))
                _check_finite(losses[-1], start_step + len(losses))
            rate = float(pending[-1][1])
            pending.clear()
            last_read = time.monotonic()
            recent = losses[logged:]
            # The last interval may be a single step, whose loss says little.
            loss = final_loss(losses, step, log_every) if is_last else sum(recent) / len(recent)
            for callback in callbacks:
                callback.on_log(step, loss, rate)
            if logging:
                logged = len(losses)
        # A list, not a generator: callbacks after a stopping one, such as the saving callback, are
        # called too.
        stops = [bool(callback.on_step(step)) for callback in due]
        if any(stops):
            for callback in stepped:
                if callback not in due:
                    callback.on_step(step)
            break
        if is_last or stopping:
            break
    return losses


def _check_finite(loss: float, step: int) -> None:
    if not math.isfinite(loss):
        raise DivergedError(
            f"the loss of step {step} is {loss}, or its gradient: training stopped and this state "
            "was not saved; try a lower --learning_rate, or --precision=float32"
        )
