"""The training loop and the interface of its callbacks."""

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from bert_cli.base.errors import DivergedError

# Seconds between reads of results: reading after every step would stop a GPU each time.
_READ_INTERVAL = 0.5


class LoopCallback:
    """An observer of training, for example for evaluation, early stopping or checkpoints.

    Attributes:
        every: `on_step` is called after this many steps, and after the last one. Multiples of a
            fraction are rounded down; an epoch has a fraction of steps if its last batch continues
            with the next epoch. If None, `on_step` is not called.
        saves: whether `on_step` is also called when the process should stop.
    """

    every: int | Fraction | None = None
    saves = False

    def on_start(self) -> None:
        """Prepare for the first step."""

    def on_log(self, step: int, loss: float, rate: float) -> bool | None:
        """Receive the loss; return True to stop training.

        Args:
            step: number of finished steps.
            loss: mean since the previous multiple of log_every; after the last step, final_loss.
            rate: learning rate of the latest step.
        """

    def on_step(self, step: int) -> bool | None:
        """Act after a step that is due; return True to stop training."""

    def on_evaluation(self, step: int, metrics: Mapping[str, Any]) -> bool | None:
        """Receive metrics from an evaluation during training; return True to stop training."""

    def on_failure(self, step: int) -> None:
        """Save the state after `step` if other work failed and `on_step` was not called."""

    def is_due(self, step: int) -> bool:
        """Return whether `step` is a multiple of `every`, rounded down."""
        return self.every is not None and math.floor(math.ceil(step / Fraction(self.every)) * self.every) == step


class CallbackError(Exception):
    """Failure of work besides the updates, after which the state can be saved and later resumed.

    Attributes:
        error: the exception, with a note that names the work and the step.
        later_error: error while the state was saved; None if there was none.
    """

    def __init__(self, error: Exception, work: str):
        """Add a note to the error.

        Args:
            work: the work that failed, such as "in Prune.on_log at step 20".
        """
        super().__init__(str(error))
        error.add_note(work)
        self.error = error
        self.later_error: Exception | None = None


class CallbackCalls:
    """Calls of callbacks, which are all made even if one fails.

    Attributes:
        failure: the first CallbackError, or None.
    """

    def __init__(self) -> None:
        self._results: list[bool | None] = []
        self.failure: CallbackError | None = None

    def add(self, function: Callable[..., bool | None], *arguments: Any) -> None:
        """Make a call. An error after a failure is kept in `later_error`."""
        try:
            self._results.append(function(*arguments))
        except CallbackError as failure:
            self.failure = self.failure or failure
        except Exception as error:
            if self.failure is None:
                raise
            self.failure.later_error = error

    def is_any_true(self) -> bool:
        """Return whether a call returned True; raise the CallbackError if there was one."""
        if self.failure is not None:
            raise self.failure
        return any(self._results)


@contextlib.contextmanager
def unwrapping_callback_errors(add_notes: Callable[[CallbackError], None] = lambda failure: None) -> Iterator[None]:
    """Raise the error in a CallbackError, after `add_notes` was called with the CallbackError."""
    failure = None
    try:
        yield
    except CallbackError as raised:
        failure = raised
    # Raise it outside the handler, where it would get the CallbackError as its context.
    if failure:
        add_notes(failure)
        raise failure.error


class TrainingFigures(NamedTuple):
    """Figures of a training, named as in run_report.json; the losses are in nats."""

    global_step: int
    train_seconds: float
    train_examples_per_second: float
    first_loss: float
    last_loss: float


def final_loss(losses: Sequence[float], steps: int, log_every: int) -> float:
    """Return the mean loss over the last tenth of training, or at least over `log_every` steps.

    Args:
        losses: losses since training started or resumed; at least one.
        steps: number of steps in the whole training.
        log_every: steps per logging interval.
    """
    recent = losses[-max(log_every, steps // 10) :]
    return sum(recent) / len(recent)


def run_steps(
    step_fn: Callable,
    batches: Iterable[dict],
    start_step: int,
    num_train_steps: int,
    callbacks: Sequence[LoopCallback],
    log_every: int,
    is_stopping: Callable[[], bool] = lambda: False,
) -> list[float]:
    """Run steps start_step … num_train_steps − 1 and return the loss of each.

    Callbacks are called in order. If one stops training, those that are not due follow.

    Args:
        step_fn: step_fn(batch) returns loss and learning rate, both scalars.
        batches: batches in order.
        start_step: number of finished steps.
        num_train_steps: number of steps in the whole training.
        callbacks: see LoopCallback.
        log_every: steps per logging interval.
        is_stopping: returns True if the process should stop. The current step is then the last
            one, and callbacks that save are called even if they are not due.

    Raises:
        DivergedError: if a loss is not finite. No callback is called for that step, so it is not
            saved.
        CallbackError: if a callback raised it. All callbacks were called for that step, also
            `on_failure`.
    """
    losses: list[float] = []
    pending: list = []
    stepped = [callback for callback in callbacks if callback.every is not None]
    logged = 0
    last_read = time.monotonic()
    step = start_step
    for batch in batches:
        # Do not read the result yet: that would wait for
        # the device and leave it idle until the next step.
        pending.append(step_fn(batch))
        step += 1
        is_last = step == num_train_steps
        stopping = is_stopping()
        due = [callback for callback in stepped if is_last or callback.is_due(step) or (stopping and callback.saves)]
        logging = is_last or stopping or step % log_every == 0
        calls = CallbackCalls()
        if due or logging or time.monotonic() - last_read > _READ_INTERVAL:
            for loss, _ in pending:
                losses.append(float(loss))
                _check_finite(losses[-1], start_step + len(losses))
            rate = float(pending[-1][1])
            pending.clear()
            last_read = time.monotonic()
            recent = losses[logged:]
            # Use final_loss at the end: the last interval may be a single step.
            loss = final_loss(losses, step, log_every) if is_last else sum(recent) / len(recent)
            for callback in callbacks:
                calls.add(callback.on_log, step, loss, rate)
            if logging:
                logged = len(losses)
        for callback in due:
            calls.add(callback.on_step, step)
        if calls.failure:
            for callback in callbacks:
                if callback not in due:
                    calls.add(callback.on_failure, step)
        if calls.is_any_true():
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
