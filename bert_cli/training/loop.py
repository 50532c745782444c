"""The training loop: the only one."""

import math
import time
from collections.abc import Callable, Iterable

from bert_cli.base.errors import InputError

# Results of steps are read this often, in seconds, so that a GPU is not stopped after each step.
_READ_INTERVAL = 0.5


def run_steps(
    step_fn: Callable,
    batches: Iterable[dict],
    start_step: int,
    num_train_steps: int,
    save: Callable[[int], None],
    save_every: int,
    report: Callable[[int, float, float], None],
    report_every: int,
) -> list[float]:
    """Run the updates start_step … num_train_steps − 1 and save; returns the loss of each.

    step_fn(batch) -> (loss, learning rate) scalars; save(step) is called after each `save_every` finished steps and after
    the last; report(step, loss, rate) gets the number of finished steps with the mean loss since the last report.
    Raises InputError where a loss is not finite; nothing after the last good checkpoint is saved then.
    """
    losses: list[float] = []
    pending: list = []
    reported, last_read = 0, time.monotonic()
    step = start_step
    for batch in batches:
        pending.append(step_fn(batch))
        step += 1
        saving = step % save_every == 0 or step == num_train_steps
        reporting = step % report_every == 0 or step == num_train_steps
        if saving or reporting or time.monotonic() - last_read > _READ_INTERVAL:
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
        if saving:
            save(step)
        if step == num_train_steps:
            break
    return losses


def _check_finite(loss: float, step: int) -> None:
    if not math.isfinite(loss):
        raise InputError(
            f"the loss of step {step} is {loss}, or its gradient: training stopped and this state was not saved; try a lower "
            "--learning_rate, or --precision=float32"
        )
