"""The training loop: the only one."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from bert_cli.base.errors import DivergedError

# Results of steps are read this often, in seconds, so that a GPU is not stopped after each step.
_READ_INTERVAL = 0.5


@dataclasses.dataclass(frozen=True)
class Hook:
    """What is done while training goes on: call(finished steps), after each `every` of them and after the last one.

    every: above 0; of a fraction, such as the steps of an epoch whose last batch is shared with the next one, each multiple
    is rounded down. Where `call` returns True, training stops after this step, which so is the last one. saves: it is
    called too where the process is asked to end.
    """

    every: int | Fraction
    call: Callable[[int], bool | None]
    saves: bool = False

    def is_due(self, step: int) -> bool:
        """Whether `step` is a multiple of `every`, rounded down."""
        return math.floor(math.ceil(step / Fraction(self.every)) * self.every) == step


def _never_stops() -> bool:
    return False


def run_steps(
    step_fn: Callable,
    batches: Iterable[dict],
    start_step: int,
    num_train_steps: int,
    hooks: Sequence[Hook],
    report: Callable[[int, float, float], None],
    report_every: int,
    stop_flag: Callable[[], bool] = _never_stops,
) -> list[float]:
    """Run the updates start_step … num_train_steps − 1, or up to where a hook stops them; returns the loss of each.

    step_fn(batch) -> (loss, learning rate) scalars; the hooks of a step are called in their order, then, where one of them
    stopped the training, those that it would not have been the turn of; report(step, loss, rate) gets the number of
    finished steps with the mean loss since the last report; stop_flag() says whether the process was asked to end: the step
    that is running is the last one then, and of the hooks whose turn it is not, only those that save are called.
    Raises DivergedError where a loss is not finite; no hook, such as one that saves, is called for its step.
    """
    losses: list[float] = []
    pending: list = []
    reported, last_read = 0, time.monotonic()
    step = start_step
    for batch in batches:
        pending.append(step_fn(batch))
        step += 1
        is_last, ending = step == num_train_steps, stop_flag()
        due = [hook for hook in hooks if is_last or hook.is_due(step) or (ending and hook.saves)]
        reporting = is_last or ending or step % report_every == 0
        if due or reporting or time.monotonic() - last_read > _READ_INTERVAL:
            for loss, _ in pending:
                losses.append(float(loss))
                _check_finite(losses[-1], start_step + len(losses))
            rate = float(pending[-1][1])
            pending.clear()
            last_read = time.monotonic()
            recent = losses[reported:]
            report(step, sum(recent) / len(recent), rate)
            if reporting:
                reported = len(losses)
        if _call(hooks, due, step) or is_last or ending:
            break
    return losses


def _call(hooks: Sequence[Hook], due: list[Hook], step: int) -> bool:
    """Call the hooks that are due, and all where one of them stops the training; returns whether one did."""
    stops = [bool(hook.call(step)) for hook in due]
    if not any(stops):
        return False
    for hook in hooks:
        if not any(hook is called for called in due):
            hook.call(step)
    return True


def _check_finite(loss: float, step: int) -> None:
    if not math.isfinite(loss):
        raise DivergedError(
            f"the loss of step {step} is {loss}, or its gradient: training stopped and this state was not saved; try a lower "
            "--learning_rate, or --precision=float32"
        )
