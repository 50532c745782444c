"""All problem types by name."""

from bert_cli.base.errors import InputError
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.regression import REGRESSION

# --help and error messages have this order.
PROBLEM_TYPES: dict[str, ProblemType] = {
    each.name: each for each in (SINGLE_LABEL, MULTI_LABEL, REGRESSION, MULTIPLE_CHOICE)
}


def problem_type(name: str | None) -> ProblemType:
    """The problem type of that name; of None single-label, as old runs and strangers' models name
    none.

    InputError for an unknown name.
    """
    if name is None:
        return SINGLE_LABEL
    if name not in PROBLEM_TYPES:
        raise InputError(f"--problem_type={name}: is none of {', '.join(PROBLEM_TYPES)}")
    return PROBLEM_TYPES[name]
