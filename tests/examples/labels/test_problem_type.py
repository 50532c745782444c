"""The problem type that is inferred from the label cells of a training file."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.problem_type import find_problem_type
from bert_cli.problem_types.columns import LabelCells


def column(*labels, separator=None):
    return LabelCells("t.csv", range(2, 2 + len(labels)), [(label,) for label in labels], ("label",), True, separator)


def test_decimals_are_asked_about_also_between_missing_labels():
    with pytest.raises(InputError, match=r"^t.csv:4: the label is the decimal 3.5: give --problem_type=regression"):
        find_problem_type(column("1", "nan", "3.5", ""))
