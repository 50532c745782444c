"""Reader for label distributions, such as shares of annotators or probabilities of a model."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, parse_number, quote
from bert_cli.base.log import LOG
from bert_cli.examples.labels.label_names import check_column_names
from bert_cli.examples.labels.reading import FileLabels, FileRole
from bert_cli.examples.labels.written_lists import parse_list
from bert_cli.problem_types.columns import SKIP_ADVICE, LabelCell, LabelCells
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.reading.rows import LeftOutRows

_TOLERANCE = 1e-3  # of a sum from 1
_COUNTS_ADVICE = "--normalize_soft_labels divides counts, such as votes, by their sum"
Distribution = tuple[float, ...]


def read_distributions(
    cells: LabelCells, names: tuple[str, ...] | None, role: FileRole, normalizes: bool
) -> FileLabels:
    """Read a file's label distributions, and the most probable label per row.

    The first label wins a tie. A row has a column per label, a list with a number per label, or an
    object with names and numbers.

    Args:
        cells: label cells of all rows.
        names: label names from flags, the model or an earlier file; None to use the file's names.
        role: the file's role in the run.
        normalizes: whether rows are divided by their sums.

    Raises:
        InputError: a row is no distribution, or its labels are not `names`.
    """
    rows = [_read_cells(cells, row) for row in range(len(cells.rows))]
    labeled = [row for row, members in enumerate(rows) if members]
    unlabeled = [line for line, members in zip(cells.lines, rows, strict=True) if not members]
    if unlabeled and not (role.skips_unlabeled or role.keeps_rows):
        raise InputError(f"{cells.path}:{unlabeled[0]}: the probabilities are empty; {SKIP_ADVICE}")
    if not labeled:
        raise InputError(f"{cells.path}: has no probabilities; check --label_column")
    file_names = tuple(rows[labeled[0]])
    for row in labeled:
        if tuple(rows[row]) != file_names and (set(rows[row]) != set(file_names) or not _has_names(cells)):
            raise InputError(
                f"{cells.path}:{cells.lines[row]}: has {len(rows[row])} probabilities, of {list_names(tuple(rows[row]))}; "
                f"{len(file_names)} are needed, of {list_names(file_names)}, as in line {cells.lines[labeled[0]]}"
            )
    if names is None:
        check_column_names(cells.path, file_names)
        names = file_names
    order = _match_names(cells.path, file_names, names)
    labels: list[Any] = [None] * len(rows)
    distributions: list[Distribution | None] = [None] * len(rows)
    for row in labeled:
        numbers = [rows[row][name] for name in order]
        distribution = _check_sum(f"{cells.path}:{cells.lines[row]}", numbers, normalizes)
        distributions[row] = distribution
        labels[row] = names[max(range(len(names)), key=distribution.__getitem__)]
    if role.decides_names:
        LOG.info(
            "%s: distributions over %d labels, single-label classification (--soft_labels)", cells.path, len(names)
        )
    left_out = LeftOutRows.of_lines("rows without a label", unlabeled) if role.skips_unlabeled else ()
    return FileLabels(SINGLE_LABEL, names, labels, tuple(left_out), distributions)


def _has_names(cells: LabelCells) -> bool:
    """Return whether the cells are objects with label names."""
    return len(cells.columns) == 1 and any(str(cell).startswith("{") for (cell,) in cells.rows)


def _read_cells(cells: LabelCells, row: int) -> Mapping[str, str | float]:
    """Return a row's numbers by label name or position, {} for an unlabeled row."""
    place = f"{cells.path}:{cells.lines[row]}"
    if len(cells.columns) > 1:
        columns = dict(zip(cells.columns, cells.rows[row], strict=True))
        members: Mapping[str, Any] = columns if any(columns.values()) else {}
    else:
        members = _read_list(place, cells.rows[row][0])
    return {name: _read_number(place, name, number) for name, number in members.items()}


def _read_list(place: str, cell: LabelCell) -> Mapping[str, Any]:
    if isinstance(cell, tuple):
        items: Sequence[Any] = cell
    elif not cell:
        return {}
    elif cell.startswith("{"):
        try:
            members = json.loads(cell)
        except ValueError:
            members = {}
        if not members:
            raise InputError(f"{place}: the label is {quote(cell)}, an object of names and probabilities is needed")
        return members
    else:
        written = parse_list(cell)
        items = written.items if written else ()
    if len(items) < 2:
        raise InputError(
            f"{place}: the label is {quote(str(cell))}, and --soft_labels needs a list with a probability per label, or "
            "a column per label, as in --label_column=neg,pos"
        )
    return {str(position): item for position, item in enumerate(items)}


def _read_number(place: str, name: str, cell: Any) -> float:
    number = parse_number(cell) if isinstance(cell, str) else float(cell) if isinstance(cell, int | float) else math.nan
    if not 0 <= number < math.inf:
        shown = "empty" if cell == "" else quote(str(cell))
        raise InputError(f"{place}: the probability of {quote(name)} is {shown}; a number of 0 or more is needed")
    return number


def _check_sum(place: str, numbers: Sequence[Any], normalizes: bool) -> Distribution:
    """Return numbers divided by their sum; raise InputError if it is not 1, unless `normalizes`."""
    total = math.fsum(numbers)
    shown = ", ".join(f"{number:g}" for number in numbers)
    if total == 0:
        raise InputError(f"{place}: the probabilities {shown} sum to 0; a row needs a label")
    if abs(total - 1) > _TOLERANCE and not normalizes:
        raise InputError(f"{place}: the probabilities {shown} sum to {total:g}; a sum of 1 is needed; {_COUNTS_ADVICE}")
    return tuple(number / total for number in numbers)


def _match_names(path: str, file_names: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return the file's names in label order; raise InputError if they are other labels.

    Args:
        path: the file, for the message.
        file_names: its columns, members or positions.
        names: label names.
    """
    if set(file_names) == set(names):
        return names
    # Columns or positions without names of labels are in label order.
    if len(file_names) == len(names) and not set(file_names) & set(names):
        return file_names
    raise InputError(
        f"{path}: has probabilities of {list_names(tuple(file_names))}, and the labels are {list_names(tuple(names))}"
    )
