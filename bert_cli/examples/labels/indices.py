"""Labels written as indices of given names, such as 0 and 1 for --labels=neg,pos."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, list_names
from bert_cli.base.log import LOG
from bert_cli.problem_types.columns import LabelCell, LabelCells, may_be_missing

_INDEX = re.compile(r"(\d{1,9})(?:\.0*)?")  # pandas writes 1.0 in a column with missing values
_MAX_SHOWN = 5


def find_index_names(
    path: str, labels: Iterable[tuple[int, str]], names: Sequence[str], is_training: bool
) -> dict[str, str]:
    """Return the name of each label that is an index from 0, and log them; {} if labels are names.

    Args:
        path: the file, for messages.
        labels: line and label of each row.
        names: label names in the order of the model's outputs.
        is_training: whether the file decides the labels, so that the label 0 must occur.

    Raises:
        InputError: an index has no name, or the indices may count from 1.
    """
    lines: dict[str, int] = {}
    for line, label in labels:
        if not may_be_missing(label):
            lines.setdefault(label, line)
    matches = {label: _INDEX.fullmatch(label) for label in lines}
    indices = {label: int(match[1]) for label, match in matches.items() if match}
    if not indices or len(indices) < len(lines) or any(map(is_number, names)):
        return {}
    last = len(names) - 1
    largest = max(indices, key=lambda label: indices[label])
    if indices[largest] > last:
        raise InputError(
            f"{path}:{lines[largest]}: the label {largest} is the index of no name: {list_names(names)} are 0 to "
            f"{last}; give all names with --labels, or write the names into the file"
        )
    lowest = min(indices, key=lambda label: indices[label])
    if is_training and indices[lowest]:
        raise InputError(
            f"{path}:{lines[lowest]}: the label {lowest} may be an index of {list_names(names)} from 0 or from 1, as no "
            "row has 0; write the names into the file"
        )
    by_index = sorted(indices, key=lambda label: indices[label])
    shown = ", ".join(f"{label} is {names[indices[label]]}" for label in by_index[:_MAX_SHOWN])
    LOG.info("%s: its labels are indices of names: %s%s", path, shown, ", …" if len(indices) > _MAX_SHOWN else "")
    return {label: names[index] for label, index in indices.items()}


def name_indices(cells: LabelCells, names: Sequence[str], is_training: bool) -> LabelCells:
    """Return the cells with names instead of indices, see `find_index_names`."""
    # Columns of 0 and 1, and a column for a model's only label, have a number per label.
    if len(cells.columns) > 1 or len(names) == 1:
        return cells
    rows = map(cells.names, range(len(cells.rows)))
    labels = ((line, label) for line, row in zip(cells.lines, rows, strict=True) for label in row)
    index_names = find_index_names(cells.path, labels, names, is_training)
    if not index_names:
        return cells

    def name(row: int) -> LabelCell:
        row_names = tuple(index_names.get(label, label) for label in cells.names(row))
        is_list = cells.separator or isinstance(cells.rows[row][0], tuple)
        return row_names if is_list else "".join(row_names)

    return replace(cells, rows=[(name(row),) for row in range(len(cells.rows))])
