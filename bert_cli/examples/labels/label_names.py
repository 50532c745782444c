"""Label names in a training file: their order, and checks of the names."""

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, quote
from bert_cli.base.log import LOG
from bert_cli.base.names import find_label_problem
from bert_cli.examples.labels.look_alikes import find_look_alikes, warn_about_look_alikes
from bert_cli.examples.labels.unlabeled import check_markers
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.problem_type import ProblemType

_MAX_DIGITS = 4300  # int() rejects more digits
_MANY_LABELS = 20
_FEW_ROWS = 5  # per label
_MAX_SINGLE_WARNINGS = 5  # separate warnings about labels with one row
_MAX_NAME_WORDS = 6
_SENTENCE_END = re.compile(r"\w[.!?]$|[。！？]$")


def _is_whole(text: str) -> bool:
    """Return whether int() can read a text."""
    return text.isdecimal() and len(text) < _MAX_DIGITS


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
    skips_unlabeled: bool = False,
) -> tuple[str, ...]:
    """Return a training file's labels in natural order, or in label column order.

    Warnings list labels with only one row, labels that look the same, and labels that may mark a
    missing label.

    Args:
        cells: label cells used for training.
        problem_type: problem type; if its outputs have no names, () is returned.
        skips_unlabeled: whether --skip_unlabeled is given.

    Raises:
        InputError: there is only one label, the labels look like texts, or a name is invalid (see
            `refuse_texts` and `check_data_label_names`).
    """
    reader = require(problem_type.cell_reader, cells.path)
    column_labels = reader.labels_from_columns(cells)
    if column_labels is not None:
        check_column_names(cells.path, column_labels)
        return column_labels
    names_and_lines = [
        (name, line) for row, line in enumerate(cells.lines) for name in reader.cell_labels(cells, row) if name
    ]
    row_counts = Counter(name for name, _ in names_and_lines)
    # A single label can be learned if some texts are without labels.
    min_labels = reader.min_labels if len(names_and_lines) < len(cells.rows) else 2
    if len(row_counts) < min_labels:
        problem = f"has the label {quote(next(iter(row_counts)))}" if row_counts else ""
        raise InputError(
            f"{cells.path}: every row {problem or 'is without a label'}; two labels are needed; check --label_column"
        )
    location = f"{cells.path}:{cells.lines[0]}: column {cells.columns[0]}"
    refuse_texts(location, row_counts, len(cells.rows), "check --label_column")
    # Reverse, so that each name's first line is stored last.
    first_lines = dict(reversed(names_and_lines))
    labels = tuple(sorted(row_counts, key=natural_key))
    check_data_label_names(cells.path, {name: row_counts[name] for name in labels}, first_lines, skips_unlabeled)
    singles = _find_single_names(row_counts)
    if len(singles) > _MAX_SINGLE_WARNINGS:
        LOG.warning(
            "%s:%d: warning: %d labels occur only once, such as %s",
            cells.path, first_lines[singles[0]], len(singles), ", ".join(map(quote, singles[:_MAX_SINGLE_WARNINGS])),
        )  # fmt: skip
        singles = []
    for name in singles:
        similar = difflib.get_close_matches(name, [label for label in labels if label != name], n=1)
        hint = f"; the nearest other name is {quote(similar[0])}" if similar else ""
        LOG.warning(
            "%s:%d: warning: label %s occurs only once%s",
            cells.path, first_lines[name], quote(name), hint,
        )  # fmt: skip
    return labels


def check_column_names(path: str, names: Sequence[str]) -> None:
    """Raise InputError if labels.txt cannot hold a label that is the name of a column."""
    for name in names:
        if problem := find_label_problem(name):
            raise InputError(f"{path}:1: the label column {quote(name)} {problem}")


def refuse_texts(location: str, counts: Mapping[str, int], num_rows: int, advice: str) -> None:
    """Raise InputError if labels are sentences that differ in nearly every row.

    Args:
        location: file, line and column, for the message.
        counts: rows per label.
        num_rows: number of rows.
        advice: instruction for the user.
    """
    # Allow hundreds of names with few rows: in question answering, answers occur only once.
    sentences = [name for name in counts if _SENTENCE_END.search(name) or len(name.split()) > _MAX_NAME_WORDS]
    if len(counts) > max(_MANY_LABELS, num_rows / 2) and len(sentences) > len(counts) / 2:
        raise InputError(
            f"{location} holds {len(counts)} different labels in {num_rows} rows ({quote(next(iter(counts)))}), "
            f"which look like texts; {advice}, or name all labels with --labels"
        )


def warn_about_few_rows(path: str, num_labels: int, num_rows: int, unit: str = "rows") -> None:
    """Log a warning if many labels have few rows to learn from.

    Args:
        path: training file.
        num_labels: number of labels.
        num_rows: number of rows or other units.
        unit: plural noun for the rows in the message.
    """
    if num_labels > _MANY_LABELS and num_rows < _FEW_ROWS * num_labels:
        LOG.warning(
            "%s: warning: %d labels in %d %s, %.2g per label: few to learn from; check that the labels are what "
            "they should be, or join rare ones", path, num_labels, num_rows, unit, num_rows / num_labels,
        )  # fmt: skip


def check_data_label_names(
    path: str,
    counts: Mapping[str, int],
    first_lines: Mapping[str, int],
    skips_unlabeled: bool,
) -> None:
    """Check the names that will become a model's labels.

    Args:
        path: training file, for messages.
        counts: rows per label, in label order.
        first_lines: first line per label.
        skips_unlabeled: whether --skip_unlabeled is given.

    Raises:
        InputError: labels.txt cannot hold a name, or a name marks a missing label.
    """
    for name in counts:
        if problem := find_label_problem(name):
            raise InputError(f"{path}:{first_lines[name]}: the label {quote(name)} {problem}")
    check_markers(path, counts, first_lines, skips_unlabeled)
    warn_about_look_alikes(path, counts)


def _find_single_names(counts: Mapping[str, int]) -> list[str]:
    """Return labels with only one row, usually typing errors, except labels that look like others."""
    look_alikes = {name for group in find_look_alikes(counts) for name in group}
    return [name for name, count in counts.items() if count == 1 and name not in look_alikes]
