"""Problem types by name, and the labels and problem types of GLUE, XNLI and SWAG by task name.

examples.glue has the files of these tasks.
"""

from dataclasses import dataclass

from bert_cli.base.errors import InputError
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.regression import REGRESSION

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


@dataclass(frozen=True)
class TaskFacts:
    """Facts about a task that a trained model needs.

    Attributes:
        labels: label names in output column order, () for regression. For multiple choice, the
            choice indices.
        problem_type: the problem type.
        has_pairs: whether an example has two texts.
    """

    labels: tuple[str, ...]
    problem_type: ProblemType = SINGLE_LABEL
    has_pairs: bool = True


_ENTAILMENT = ("entailment", "not_entailment")
_NLI = ("contradiction", "entailment", "neutral")
_BINARY = ("0", "1")

TASK_FACTS = {
    "cola": TaskFacts(_BINARY, has_pairs=False),
    "sst-2": TaskFacts(_BINARY, has_pairs=False),
    "mrpc": TaskFacts(_BINARY),
    "sts-b": TaskFacts((), REGRESSION),
    "qqp": TaskFacts(_BINARY),
    "mnli": TaskFacts(_NLI),
    "qnli": TaskFacts(_ENTAILMENT),
    "rte": TaskFacts(_ENTAILMENT),
    "wnli": TaskFacts(_BINARY),
    "ax": TaskFacts(_NLI),
    "xnli": TaskFacts(_NLI),
    "swag": TaskFacts(("0", "1", "2", "3"), MULTIPLE_CHOICE, has_pairs=False),
}


def find_facts(name: str) -> TaskFacts:
    """Return a task's facts; raise InputError if the name, in any letter case, is unknown."""
    if name.lower() not in TASK_FACTS:
        import difflib  # late, as only wrong names need it

        close = difflib.get_close_matches(name.lower(), TASK_FACTS, n=1)
        hint = f"did you mean {close[0]}? The tasks are" if close else "choose one of"
        raise InputError(f"--task_name: {name!r} is not a task; {hint} {', '.join(TASK_FACTS)}")
    return TASK_FACTS[name.lower()]
