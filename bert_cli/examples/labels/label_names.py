"""Label names of a training file: their order, and checks of them."""

import difflib
import re
from collections import Counter

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number
from bert_cli.base.log import LOG
from bert_cli.base.messages import quoted
from bert_cli.examples.labels.unlabeled import check_markers
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.problem_type import ProblemType

_MOST_DIGITS = 4300  # of a number that int() takes


def _is_whole(text: str) -> bool:
    """Return whether a piece of a label is a number that int() can read."""
    return text.isdecimal() and len(text) < _MOST_DIGITS


def natural_key(label: str) -> tuple:
    """Return a sort key: numbers by value before words, and 'grade 2' before 'grade 10'."""
    if is_number(label):
        return (0, float(label), (), label)
    pieces = re.split(r"(\d+)", label)
    keys = tuple((0, int(piece), "") if _is_whole(piece) else (1, 0, piece) for piece in pieces)
    return (1, 0.0, keys, label)


def find_label_names(
    cells: LabelCells,
    problem_type: ProblemType,
    skips: bool = False,
) -> tuple[str, ...]:
    """Return the labels of a training file in natural order, or in the order of its label columns.

    A label with one row is logged, with the most similar other name. So is one that may mark
    a missing label.

    Args:
        cells: label cells of the rows to train on.
        problem_type: problem type of these labels; () is returned if its outputs have no names.
        skips: whether --skip_unlabeled is given.

    Raises:
        InputError: there is one label alone, nearly every row has a different one, or a label is
            a sign for no label.
    """
    stated = problem_type.stated_labels(cells)
    if stated is not None:
        return stated
    names_and_lines = [
        (name, line) for row, line in enumerate(cells.lines) for name in problem_type.cell_labels(cells, row) if name
    ]
    row_counts = Counter(name for name, _ in names_and_lines)
    if len(row_counts) < 2:
        problem = f"has the label {quoted(next(iter(row_counts)))}" if row_counts else ""
        raise InputError(
            f"{cells.path}: every row {problem or 'is without a label'}; two labels are needed; check --label_column"
        )
    # Texts in the label column: a training set has many rows of a label.
    if len(row_counts) > 20 and len(row_counts) > len(cells.rows) / 2:
        raise InputError(
            f"{cells.path}:{cells.lines[0]}: column {cells.columns[0]} holds {len(row_counts)} "
            f"different labels in {len(cells.rows)} rows ({quoted(names_and_lines[0][0])}); check "
            "--label_column, or name all labels with --labels"
        )
    # Reversed, so that the first line of each name is stored last.
    first_lines = dict(reversed(names_and_lines))
    labels = sorted(row_counts, key=natural_key)
    check_markers(cells.path, {name: row_counts[name] for name in labels}, first_lines, skips)
    for name, count in row_counts.items():
        if count == 1:
            # A label with one row is mostly a typing error.
            others = [label for label in row_counts if label != name]
            similar = difflib.get_close_matches(name, others, n=1)
            hint = f"; the nearest other name is {quoted(similar[0])}" if similar else ""
            LOG.warning(
                "%s:%d: warning: label %s occurs only once%s",
                cells.path, first_lines[name], quoted(name), hint,
            )  # fmt: skip
    return tuple(labels)
