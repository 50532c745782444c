"""Labels for `Classifier.fit`: one label per text, or one-hot rows of 0 and 1."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.api.inputs.frames import Table, as_table
from bert_cli.api.inputs.label_types import find_label_type
from bert_cli.api.inputs.texts import list_items
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_some, quote
from bert_cli.problem_types.columns import soft_labels_error
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.reading.exports.cells import DecimalList

_FLAGS = frozenset((0, 1))  # also contains the equal values False, True, 0.0 and 1.0
_NEEDED = "a 0 or 1 per label"


class LabelRows(NamedTuple):
    """Labels of n texts.

    Attributes:
        items: for each text a label, a list of labels, a tuple of 0 and 1, or None for no label.
        names: label names in tuple order, or None if the argument has no names.
        have_one_label: whether all items are tuples with a single 1, or lists of probabilities.
    """

    items: list[Any]
    names: tuple[str, ...] | None = None
    have_one_label: bool = False

    @property
    def label_type(self) -> str | None:
        """Return the labels' type, None for texts and for tuples of 0 and 1; see label_types."""
        is_tuple = any(isinstance(item, tuple) for item in self.items)
        return None if is_tuple else find_label_type(self.items)

    def options(self) -> dict[str, Any]:
        """Return the flags that these labels set unless the caller does."""
        options: dict[str, Any] = {} if self.names is None else {"labels": self.names}
        return options | ({"problem_type": SINGLE_LABEL.name} if self.have_one_label else {})


def is_flags(value: object) -> bool:
    """Return whether a value is a list of at least two items that are 0, 1, False or True."""
    if not isinstance(value, list | tuple) or len(value) < 2:
        return False
    try:
        return _FLAGS.issuperset(value)
    except TypeError:  # a nested list cannot be hashed
        return False


def read_label_rows(name: str, values: Any, names: Sequence[str] | None = None) -> LabelRows:
    """Return the labels of n texts.

    Args:
        name: the argument's name, for errors.
        values: labels in an iterable, an array [n] or [n, labels], a sparse matrix, or a table of
            any library with one column per label.
        names: label names of the training; a table's columns are sorted into this order.

    Raises:
        InputError: if rows of numbers are not a 0 or 1 per label.
        InputTypeError: if the argument is not a list.
    """
    if table := as_table(name, values):
        return _table_labels(name, table, names)
    items = _list_plain(name, values, f"a label per text is needed, or a row with {_NEEDED} per text")
    if tuple(getattr(values, "shape", ()))[1:] == (1,) and any(isinstance(item[0], float) for item in items):
        # These are regression targets as a column.
        return LabelRows([item[0] for item in items])
    return _label_rows(name, items)


def read_distribution_rows(name: str, values: Any, names: Sequence[str] | None = None) -> LabelRows:
    """Return the label distributions of n texts.

    Args:
        name: the argument's name, for errors.
        values: rows with a probability per label: an array, a tensor, a sparse matrix, lists, or a table
            with label names as columns.
        names: label names of the training; a table's columns are sorted into this order.

    Raises:
        InputError: if an item is not a list of numbers, or a table has other columns than `names`,
            or two of the same name.
        InputTypeError: if the argument is not a list.
    """
    columns: tuple[str, ...] | None = None
    if table := as_table(name, values):
        columns, rows = _sort_columns(name, table, [list(row) for row in table.rows()], names)
    else:
        rows = _list_plain(name, values, "a row of probabilities per text is needed")
    items: list[DecimalList | None] = []
    for number, plain in enumerate(rows):
        if is_missing(plain):
            items.append(None)
            continue
        is_row = isinstance(plain, list | tuple) and all(isinstance(item, int | float) for item in map(_plain, plain))
        refuse_if(
            not is_row or len(plain) < 2,
            f"{name}[{number}]: a row with a probability per label is needed, found {plain!r:.80}",
        )
        items.append(DecimalList(repr(float(item)) for item in plain))
    return LabelRows(items, columns, have_one_label=True)


def _label_rows(name: str, items: list[Any], names: tuple[str, ...] | None = None) -> LabelRows:
    """Return LabelRows from items that may be rows of 0 and 1."""
    if not any(isinstance(item, list | tuple) for item in items):
        return LabelRows(items, names)
    items = [None if is_missing(item) else item for item in items]
    rows = [item for item in items if item is not None]
    if rows and all(map(is_flags, rows)) and len({len(row) for row in rows}) == 1:
        flags = [None if item is None else tuple(map(int, item)) for item in items]
        return LabelRows(flags, names, all(sum(row) == 1 for row in flags if row is not None))
    for number, item in enumerate(items):
        _check_numbers(f"{name}[{number}]", item)
    return LabelRows(items, names)


def _table_labels(name: str, table: Table, names: Sequence[str] | None) -> LabelRows:
    """Return the labels in a table: its only column, or one column of 0 and 1 per label."""
    columns = tuple(map(str, table.names))
    rows = [[_plain(cell) for cell in row] for row in table.rows()]
    if len(columns) == 1:
        return LabelRows([row[0] for row in rows])
    for number, row in enumerate(rows):
        wrong = next((column for column, cell in enumerate(row) if not is_missing(cell) and cell not in _FLAGS), None)
        if wrong is not None:
            raise InputError(
                f"{name}[{number}]: column {quote(columns[wrong])} holds {row[wrong]!r:.40}; a {table.kind} of labels "
                f"has a column of 0 and 1 per label; to take one column, pass df[{table.names[0]!r}]"
            )
    columns, rows = _sort_columns(name, table, rows, names)
    return _label_rows(name, rows, columns)


def _sort_columns(
    name: str, table: Table, rows: list[list[Any]], names: Sequence[str] | None
) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Return a table's columns and rows in the order of the labels.

    Args:
        name: the argument's name, for errors.
        table: the table.
        rows: its rows.
        names: label names of the training, None for the table's order.

    Raises:
        InputError: two columns have one name, or the columns are not the labels.
    """
    columns = tuple(map(str, table.names))
    refuse_if(
        len(set(columns)) < len(columns),
        f"{name}: two of the columns have the same name: {list_some(columns)}; rename one",
    )
    if names is None or tuple(names) == columns:
        return columns, rows
    refuse_if(
        set(names) != set(columns),
        f"{name}: has the columns {list_some(columns)}, and the labels are {list_some(names)}",
    )
    return tuple(names), [[row[columns.index(label)] for label in names] for row in rows]


def _list_plain(name: str, values: Any, needed: str) -> list[Any]:
    """Return the items of a list, an array, a tensor or a sparse matrix as Python objects.

    Args:
        name: the argument's name, for errors.
        values: the argument.
        needed: what an item has to be, for an array with more than two axes.
    """
    if hasattr(values, "toarray"):
        values = values.toarray()
    # TensorFlow's tensors have no tolist().
    elif hasattr(values, "__array__") and not hasattr(values, "tolist"):
        values = np.asarray(values)
    shape = tuple(getattr(values, "shape", ()))
    refuse_if(len(shape) > 2, f"{name}: has the shape {shape}; {needed}")
    return [_plain(item) for item in list_items(name, values, "a list")]


def _check_numbers(place: str, item: Any) -> None:
    """Raise InputError for a list of numbers that are neither label names nor 0 and 1."""
    if not isinstance(item, list | tuple) or not item or isinstance(item[0], str):
        return
    refuse_if(
        any(is_missing(element) for element in item),
        f"{place}: lacks a number: {item!r:.80}; give {_NEEDED}, or None for a text without labels",
    )
    is_number = all(isinstance(element, int | float | np.number | np.bool_) for element in item)
    if is_number and any(isinstance(element, float | np.floating) and element not in _FLAGS for element in item):
        raise soft_labels_error(place, item, "soft_labels=True, which learns them")


def is_missing(item: Any) -> bool:
    """Return whether an item marks a missing label, or is a list of such items."""
    if isinstance(item, list | tuple):
        return len(item) > 1 and all(map(is_missing, item))
    return item is None or type(item).__name__ == "NAType" or (isinstance(item, float) and math.isnan(item))


def _plain(item: Any) -> Any:
    """Return an item as a Python object: None for pandas.NA, and a list for an array."""
    if isinstance(item, np.ndarray | np.generic):
        return item.tolist()
    return None if type(item).__name__ == "NAType" else item
