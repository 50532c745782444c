"""Plans for --method: contrastive training, and a head that a logistic regression fits."""

import numpy as np

from bert_cli.base.errors import refuse_if
from bert_cli.base.head_types import MEAN
from bert_cli.base.log import LOG
from bert_cli.flags.option import replace_values
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.tasks.interface import Plan
from bert_cli.runtime.cluster import is_multi_worker
from bert_cli.settings.classification import CONTRASTIVE, LINEAR_PROBE, ClassifySettings

# Few rows are few updates per epoch, and pairs of rows have much to learn from each.
_LEAST_STEPS = 20


def with_method(settings: ClassifySettings) -> ClassifySettings:
    """Return the settings with the input of a head that a logistic regression fits."""
    return replace_values(settings, {"head_input": MEAN.name}) if settings.method.fits_head else settings


def plan_method(plan: Plan, settings: ClassifySettings, problem_type: ProblemType, label_ids: np.ndarray) -> Plan:
    """Return the plan with the steps of --method.

    Args:
        plan: plan of a fine-tuning.
        problem_type: the labels' problem type.
        label_ids: labels of all training rows, see LabelReader.label_array.

    Raises:
        InputError: if the method cannot have these labels, or several processes train.
    """
    method = settings.method
    if not method.fits_head:
        return plan
    flag = f"--method={method.method}"
    require(problem_type.fit_head, flag, "; leave it out")
    has_sets = problem_type.reader.classes(label_ids) is None
    refuse_if(method.method == CONTRASTIVE and has_sets, f"{flag}: needs one label per row; take {LINEAR_PROBE}")
    refuse_if(plan.class_weights and has_sets, f"{flag}: --class_weights needs one label per row; leave it out")
    refuse_if(is_multi_worker(settings.devices.distribution_strategy), f"{flag}: works in one process only")
    if method.method == LINEAR_PROBE:
        return plan._replace(steps=0, warmup_steps=0, fits_head=True)
    steps = plan.steps
    if settings.fine_tuning.num_train_epochs is None and steps < _LEAST_STEPS:
        LOG.info("%s: %d steps, as %d are too few for pairs; --num_train_epochs chooses", flag, _LEAST_STEPS, steps)
        steps = _LEAST_STEPS
    warmup_steps = int(steps * settings.fine_tuning.warmup_proportion)
    return plan._replace(steps=steps, warmup_steps=warmup_steps, fits_head=True)
