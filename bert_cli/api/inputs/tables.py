"""Conversion of data frames and lists to tables in memory, which are then read like files."""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from bert_cli.api.inputs.frames import as_table, names_and_rows_of_records
from bert_cli.api.inputs.label_rows import LabelRows, is_flags, is_missing
from bert_cli.api.inputs.texts import Texts, list_items, read_texts_argument
from bert_cli.base.errors import InputError, InputTypeError, refuse_if
from bert_cli.reading.exports.cells import DecimalList, JsonCell
from bert_cli.reading.frames import Frame, format_scalar
from bert_cli.reading.probe import TableFile
from bert_cli.reading.rows import Row

# A path, a pandas.DataFrame, or a list of dicts or tuples: (text, label) or (text, text_b, label).
Data = Any
# Texts in advice about columns, which a call with texts and labels does not have.
COLUMN_ADVICE = ("--text_column", "--text_b_column", "--label_column", "--id_column", "--labels", "--header")
_LEAST_TO_COMPARE = 8  # fewer rows do not show whether labels and texts are exchanged
_MANY_WORDS = 4  # a label with more words looks like a text
_NAMES = {2: ("text", "label"), 3: ("text", "text_b", "label")}


def is_path(data: Data) -> bool:
    """Return whether the data is given as a path."""
    return isinstance(data, str | os.PathLike)


def read_table(name: str, data: Data) -> TableFile:
    """Return a table from a library's table, or from a list of dicts or tuples.

    The columns are all keys of the dicts. Tuples are (text, label) or (text, text_b, label).

    Args:
        name: the argument's name, for errors.
        data: the data.

    Raises:
        InputError: if the data has another form; the message names name[row].
    """
    if table := as_table(name, data):
        return _table(name, tuple(map(str, table.names)), table.rows())
    rows = list_items(name, data, "a list of rows")
    if all(isinstance(row, dict) for row in rows) and rows:
        return _table(name, *names_and_rows_of_records(rows))
    width = len(rows[0]) if rows and isinstance(rows[0], tuple | list) else 0
    for number, row in enumerate(rows):
        if not isinstance(row, tuple | list) or len(row) != width or width not in _NAMES:
            raise InputError(
                f"{name}:{number}: (text, label) or (text, text_b, label), the same in every row, "
                f"or a dict is needed, found {row!r:.80}"
            )
    return _table(name, _NAMES.get(width, ()), rows)


def read_rows_of_texts(name: str, data: Data) -> TableFile:
    """Return a table of pairs from a library's table, or from a list of dicts or tuples.

    Tuples have two texts that belong together, and then texts that do not, or their score.

    Args:
        name: the argument's name, for errors.
        data: the data.

    Raises:
        InputError: if the data has another form; the message names name[row].
    """
    if as_table(name, data):
        return read_table(name, data)
    rows = list_items(name, data, "a list of rows")
    refuse_if(not rows, f"{name}: is empty; pairs of texts are needed")
    if isinstance(rows[0], dict):
        return read_table(name, rows)
    width = len(rows[0]) if isinstance(rows[0], tuple | list) else 0
    for number, row in enumerate(rows):
        if not isinstance(row, tuple | list) or len(row) != width or width < 2:
            raise InputError(
                f"{name}:{number}: two texts, two texts and a number, or two texts and negatives, the "
                f"same in every row, or a dict is needed, found {row!r:.80}"
            )
    has_scores = width == 3 and not any(isinstance(row[2], str | tuple | list) for row in rows)
    negatives = ("score",) if has_scores else tuple(f"negative_{number}" for number in range(1, width - 1))
    return _table(name, ("anchor", "positive", *negatives), rows)


class ColumnNames(NamedTuple):
    """Column names for a table that is made from texts and labels.

    Attributes:
        text: text column.
        text_b: column for second texts.
        label: label column.
    """

    text: str = "text"
    text_b: str = "text_b"
    label: str = "label"

    def options(self, has_pairs: bool) -> dict[str, str]:
        """Return the flags that name these columns, {} for the usual names."""
        if self == ColumnNames():
            return {}
        pair = {"text_b_column": self.text_b} if has_pairs else {}
        return {"text_column": self.text, "label_column": self.label, **pair}


USUAL_COLUMNS = ColumnNames()


def column_names(texts: Texts, labels: Any) -> ColumnNames:
    """Return column names for texts and labels, with which a model finds them in a table.

    Missing names are the usual ones. If a flag cannot name a column, all are the usual ones.

    Args:
        texts: the texts.
        labels: the labels; a Series has a name.
    """
    label = getattr(labels, "name", None) if hasattr(labels, "dtype") else None
    names = ColumnNames(*texts.names, "label" if label is None else label)
    # A number as a flag is a position, and a comma separates names.
    are_flags = all(
        isinstance(name, str) and re.fullmatch(r"[^\W\d][\w .:()/-]*\b", name) is not None for name in names
    )
    return names if are_flags and len(set(names)) == len(names) else USUAL_COLUMNS


def pair_up(
    name: str,
    texts: Any,
    labels: Iterable,
    columns: ColumnNames = USUAL_COLUMNS,
    further: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> TableFile:
    """Return a table with n texts, or n pairs of texts, and their labels.

    Args:
        name: the argument's name for texts, for errors.
        texts: texts or pairs of texts, see texts.read_texts_argument.
        labels: for each text a text or a whole number, a list of these, a tuple of 0 and 1, a float
            for a regression, or None.
        columns: column names for the table.
        further: other columns: name -> n cells.
    """
    pairs = read_texts_argument(texts, name=name).pairs
    labels = list_items(name.replace("texts", "labels"), labels, "a list")
    if len(pairs) != len(labels):
        raise InputError(f"{name} has {len(pairs)} entries and its labels {len(labels)}; one label for each is needed")
    num_pairs = sum(text_b is not None for _, text_b in pairs)
    if 0 < num_pairs < len(pairs):
        raise InputError(f"{name}: holds single texts and pairs of texts; one of them is needed")
    are_lists = [label is None or isinstance(label, tuple | list | set | frozenset) for label in labels]
    has_lists = any(is_list and label is not None for label, is_list in zip(labels, are_lists, strict=True))
    if has_lists and not all(are_lists):
        place = f"{name}:{are_lists.index(False)}"
        raise InputError(f"{place}: a list of labels is needed, as in other rows, found one label")
    rows = [
        (*(pair if num_pairs else pair[:1]), label, *cells)
        for pair, label, *cells in zip(pairs, labels, *further.values(), strict=True)
    ]
    names = tuple(columns) if num_pairs else (columns.text, columns.label)
    return _table(name, (*names, *further), rows)


def refuse_label_columns(name: str, texts: Any, labels: Any) -> None:
    """Raise InputError if a column of labels is also a column of texts, which would give them away.

    Args:
        name: the argument's name for texts, for errors.
        texts: texts, or a table that has `columns`.
        labels: labels; a pandas.Series has a `name`, and a table has `columns`.
    """
    columns = list(getattr(texts, "columns", ()))
    own_names = list(getattr(labels, "columns", ())) or [getattr(labels, "name", None)]
    shared = [column for column in own_names if column is not None and column in columns]
    if shared:
        rest = [column for column in columns if column not in own_names]
        raise InputError(f"{name}: the column {shared[0]!r} has the labels; give the columns with texts alone: {rest}")


def check_label_values(texts: Texts, labels: LabelRows, skips_unlabeled: bool) -> None:
    """Raise InputError if labels are missing, of different types, or exchanged with the texts.

    Args:
        texts: the texts.
        labels: their labels.
        skips_unlabeled: whether texts without a label are left out.
    """
    items = labels.items
    missing = [row for row, item in enumerate(items) if is_missing(item)]
    refuse_if(
        missing and not skips_unlabeled,
        f"labels[{missing[0] if missing else 0}]: {'is missing' if len(missing) == 1 else f'{len(missing)} are missing'}"
        "; every text needs one; --skip_unlabeled leaves such texts out",
    )
    names = [item for item in items if isinstance(item, str)]
    numbers = [item for item in items if isinstance(item, int | float) and not is_missing(item)]
    if names and numbers:
        raise InputTypeError(
            f"labels: has texts, such as {names[0]!r:.40}, and numbers, such as {numbers[0]!r}; give labels of one type"
        )
    if not names or len(items) < _LEAST_TO_COMPARE:
        return
    num_labels, num_texts = len(set(names)), len(set(texts.singles))
    refuse_if(
        2 * num_labels > len(items) and 2 * num_texts <= len(items) and max(map(_num_words, names)) > _MANY_WORDS,
        f"labels: has {num_labels} different labels for {len(items)} texts, and texts has {num_texts} different texts; "
        "they may be exchanged",
    )


def _num_words(text: str) -> int:
    return len(text.split())


def are_numbers(labels: Sequence) -> bool:
    """Return whether labels are floats, so that a regression predicts them."""
    # Whole numbers are class names, but with a single float all labels are values.
    types = {type(label) for label in labels if label is not None}
    return bool(types) and float in types and types <= {float, int}


def list_or_text(name: str, row: int, value: Any, needed: str) -> Any:
    """Return a cell as text, "" if it is missing, or a tuple of texts for a list.

    Args:
        name: the argument's name, for the error.
        row: the cell's row.
        value: the cell.
        needed: description of a cell, for the error.

    Raises:
        InputError: if the cell is neither; the message has its row.
    """
    if hasattr(value, "tolist"):  # an array in a data frame
        value = value.tolist()
    if isinstance(value, tuple | list):
        return tuple(map(str, value))
    text = format_scalar(value)
    if text is None:
        raise InputError(f"{name}:{row}: {needed} is needed, found {value!r:.80}")
    return text


def _table(name: str, names: tuple[str, ...], rows: Sequence[Sequence]) -> TableFile:
    if not rows:
        raise InputError(f"{name}: is empty; texts and labels are needed")
    cells = [Row(number, [_cell(name, number, cell) for cell in row]) for number, row in enumerate(rows)]
    return TableFile(name, Frame(names, cells))


def _cell(name: str, row: int, value: Any) -> Any:
    """Return a cell as text, "" if it is missing, or a tuple of names for a list."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    # str writes a number as the caller knows it, for example 3.0 with its decimal point.
    if isinstance(value, int | float) and not (isinstance(value, float) and math.isnan(value)):
        return str(value)
    cell = format_scalar(value)
    if cell is not None:
        return cell
    if isinstance(value, DecimalList):
        return value
    # Sort, because a set's order differs between processes.
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    # These are 0 or 1 per label; the label names come from the reader.
    if is_flags(value):
        return tuple(str(int(flag)) for flag in value)
    if isinstance(value, list | tuple) and all(isinstance(name_item, str | int) for name_item in value):
        names = tuple(map(str, value))
        if len(set(names)) < len(names):
            raise InputError(
                f"{name}:{row}: names a label twice: {value!r:.80}; give the names of the labels that it has, "
                "or a 0 or 1 per label"
            )
        return names
    numbers = list(value.values()) if isinstance(value, dict) else value
    if isinstance(numbers, list | tuple) and numbers and all(isinstance(number, int | float) for number in numbers):
        if isinstance(value, dict):
            return JsonCell(json.dumps(value))
        return DecimalList(repr(float(number)) for number in numbers)
    raise InputError(f"{name}:{row}: a text, a number or a list of names is needed, found {value!r:.80}")
