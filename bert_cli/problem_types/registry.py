"""Registry of all problem types by name."""

from bert_cli.base.errors import InputError
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.multiple_choice import MULTIPLE_CHOICE
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.problem_types.single_label import SINGLE_LABEL

# --help and error messages list the types in this order.
PROBLEM_TYPES: dict[str, ProblemType] = {
    registered_type.name: registered_type
    for registered_type in (SINGLE_LABEL, MULTI_LABEL, REGRESSION, MULTIPLE_CHOICE)
}


def problem_type(name: str | None) -> ProblemType:
    """Return the problem type with this name.

    Third-party models have no name (None), and use single-label classification.

    Raises:
        InputError: the name is unknown.
    """
    if name is None:
        return SINGLE_LABEL
    if name not in PROBLEM_TYPES:
        raise InputError(f"--problem_type={name}: is none of {', '.join(PROBLEM_TYPES)}")
    return PROBLEM_TYPES[name]
