"""Inference of a training file's problem type from its label cells."""

import re
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, quote
from bert_cli.examples.labels.lists import ListCells
from bert_cli.problem_types.columns import FLAGS, SKIP_ADVICE, LabelCells, may_be_missing
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.regression import has_comma

_INDICES = re.compile(r"\d+(?:\s*,\s*\d+)+")  # class indices separated by commas
_SINGLE_LABEL_ADVICE = "--problem_type=single_label if a text has exactly one"
_MULTI_LABEL_ADVICE = "--problem_type=multi_label if a text may have none or several"


class InferredType(NamedTuple):
    """An inferred problem type.

    Attributes:
        problem_type: single-label or multi-label classification.
        reason: reason for the log.
    """

    problem_type: ProblemType
    reason: str

    def describe(self, num_labels: int) -> str:
        """Return a log message: `3 labels, single-label classification (one label per row)`."""
        title = self.problem_type.name.replace("_", "-")
        return f"{num_labels} label{'s' if num_labels != 1 else ''}, {title} classification ({self.reason})"


def infer_problem_type(lists: ListCells) -> InferredType:
    """Infer the problem type from a training file's label cells.

    Raises:
        InputError: the labels are decimals, which may be numbers to predict or class names.
    """
    cells = lists.cells
    if len(cells.columns) > 1:
        are_one_hot = all(sum(FLAGS.get(str(cell), 0) for cell in row) == 1 for row in cells.rows)
        advice = f"; {_SINGLE_LABEL_ADVICE}" if are_one_hot else ""
        return InferredType(MULTI_LABEL, f"a column per label{advice}")
    if lists.flag_count:
        reason = f"lists of {lists.flag_count} numbers 0 and 1"
        if lists.index_names:
            reason += ", named by their positions unless --labels names them"
        if all(len(cell) == 1 for (cell,) in cells.rows):
            reason += f"; {_SINGLE_LABEL_ADVICE}"
        return InferredType(MULTI_LABEL, reason)
    if cells.separator:
        return InferredType(MULTI_LABEL, f"cells divided at {quote(cells.separator)}")
    tuples = [cell for (cell,) in cells.rows if isinstance(cell, tuple)]
    if any(len(cell) > 1 for cell in tuples):
        return InferredType(MULTI_LABEL, "lists of labels")
    if tuples and not all(tuples):
        empty = [line for line, (cell,) in zip(cells.lines, cells.rows, strict=True) if not cell]
        return InferredType(
            MULTI_LABEL,
            f"lists of at most one label; {len(empty)} are empty, the first in line {empty[0]}; "
            f"{SKIP_ADVICE}, and it is single-label",
        )
    _refuse_decimals(cells)
    if tuples:
        return InferredType(SINGLE_LABEL, f"lists of one label each; {_MULTI_LABEL_ADVICE}")
    return InferredType(SINGLE_LABEL, "one label per row")


def _refuse_decimals(cells: LabelCells) -> None:
    """Raise InputError if all labels are decimals, which may be numbers to predict or names.

    Digits with commas may also be several labels.
    """
    texts = ["".join(cell) for (cell,) in cells.rows]
    rows = list(zip(cells.lines, texts, strict=True))
    with_comma = [(line, text) for line, text in rows if has_comma(text) or _INDICES.fullmatch(text)]
    decimals = [(line, text) for line, text in rows if "." in text and is_number(text)]
    # Integers are class names. Only a decimal sign makes the type unclear.
    without_comma = set(texts).difference(text for _, text in with_comma)
    if not all(is_number(text) or may_be_missing(text) for text in without_comma):
        return
    if with_comma:
        line, text = with_comma[0]
        are_numbers = all(has_comma(text) for _, text in with_comma)
        regression = "--problem_type=regression if it is a number with a decimal comma, "
        raise InputError(
            f"{cells.path}:{line}: the label is {quote(text)}: give {regression * are_numbers}"
            "--label_separator=, if it is a list of labels, --problem_type=single_label if it is "
            "the name of a class"
        )
    if decimals:
        line, text = decimals[0]
        raise InputError(
            f"{cells.path}:{line}: the label is the decimal {text}: give "
            "--problem_type=regression if it is a number to predict, --problem_type=single_label "
            "if it is the name of a class"
        )
