"""How long a run is, in its run.json, and what a larger --num_train_epochs or --num_train_steps makes of a run that is there.

A finished run, also one that was stopped early, is made longer: a new learning-rate plan leads from its last step to the new
end, with a warmup of the same share as before and the same peak. A run that was killed half-way goes on with the plan that it
began; where its steps do not decide what run it is (bert-pretrain), that plan takes the new number for its end.
"""

import logging
from collections.abc import Mapping
from typing import Any

LOG = logging.getLogger("bert_cli")
# Keys of run.json: steps in all, the step that the learning-rate plan begins at, and where a run was stopped early.
STEPS, PLAN_FROM, STOPPED = "steps", "plan_from", "stopped_at"
OF_LENGTH = (STEPS, PLAN_FROM, STOPPED)
GROWING = ("num_train_epochs",)  # what may be another value where a run is made longer


def is_longer(before: Mapping[str, Any], steps: int | None, done: int) -> bool:
    """Whether `steps` in all make a finished run longer.

    before: its run.json; one that does not say how long the run is cannot be told to be finished. done: its last step.
    """
    whole = before.get(STEPS)
    end = before.get(STOPPED, whole)
    return isinstance(whole, int) and isinstance(end, int) and steps is not None and done >= end and steps > whole


def plan_start(before: Mapping[str, Any], steps: int, done: int) -> int:
    """The step at which the learning-rate plan begins; arguments as in `is_longer`. The log says where it is a new one."""
    if is_longer(before, steps, done):
        LOG.info("the run is made longer, from %d to %d steps: a new learning-rate plan begins here", done, steps)
        return done
    if done < steps != before.get(STEPS, steps):
        LOG.info("the run has %d steps now, %d before: its learning-rate plan is stretched", steps, before[STEPS])
    start = before.get(PLAN_FROM, 0)
    return start if isinstance(start, int) and start < steps else 0


def plan_warmup(warmup_steps: int, steps: int, first_step: int) -> int:
    """Warmup of a plan that begins at first_step: the same share of its steps as warmup_steps of all steps."""
    return warmup_steps * (steps - first_step) // steps
