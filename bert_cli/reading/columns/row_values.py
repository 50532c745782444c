"""Values of training rows besides texts and labels: groups and weights."""

import sys
from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import parse_number, quote
from bert_cli.reading.columns.roles import TableColumns
from bert_cli.reading.rows import Row


def read_group(path: str, row: Row, columns: TableColumns) -> str | None:
    """Return a row's group, None without a column of groups; raise InputError if it is empty.

    Args:
        path: the file, for the message.
    """
    if columns.group is None:
        return None
    group = _cell(row, columns.group)
    if not group:
        raise InputError(
            f"{path}:{row.line}: the group from {quote(columns.column_name(columns.group))} is empty, so the row's place "
            "in a split is unknown; fill it in, with a name of its own for a row without a group"
        )
    return sys.intern(group)


def read_weight(path: str, row: Row, columns: TableColumns) -> float | None:
    """Return a row's weight, None without a column of weights; raise InputError for no weight.

    Args:
        path: the file, for the message.
    """
    if columns.weight is None:
        return None
    cell = _cell(row, columns.weight)
    weight = parse_number(cell)
    if not 0 <= weight < float("inf"):
        raise InputError(
            f"{path}:{row.line}: the weight from {quote(columns.column_name(columns.weight))} is "
            f"{quote(cell) if cell else 'empty'}; a number of 0 or more is needed, such as 0.5"
        )
    return weight


def _cell(row: Row, column: int) -> str:
    # A JSON list is a tuple.
    cell = row.cell(column)
    return (cell if isinstance(cell, str) else " ".join(cell)).strip()


def normalize_weights(path: str, name: str, weights: Sequence[float]) -> list[float]:
    """Return weights with a mean of 1, rounded to float32.

    Args:
        path: the file, for the message.
        name: the column's name.
        weights: n weights.

    Raises:
        InputError: if all weights are 0.
    """
    values = np.array(weights, np.float64)
    if not values.any():
        raise InputError(f"{path}: every weight from {quote(name)} is 0, so no row counts; check --weight_column")
    return (values / values.mean()).astype(np.float32).tolist()
