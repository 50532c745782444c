"""Texts as arguments: sequences of texts or of pairs of texts, and tables with text columns."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bert_cli.api.inputs.frames import (
    UNKNOWN_COLUMNS,
    TextColumns,
    as_table,
    choose_columns,
    column_advice,
    refuse_labels,
)
from bert_cli.base.errors import InputError, InputTypeError, first_line

if TYPE_CHECKING:
    import pandas as pd

_MOST_NAMES = 3  # maximum number of keys in a message
Pair = tuple[str, str | None]


class ItemRequirements(NamedTuple):
    """Requirements for the items in an argument.

    Attributes:
        sequence: description of the argument, for errors.
        item: description of an item, for errors.
        least, most: number of texts per item.
    """

    sequence: str
    item: str
    least: int
    most: int


SINGLE_TEXTS = ItemRequirements("a list of texts", "a text is needed", 1, 1)
TEXTS_OR_PAIRS = ItemRequirements("a list of texts", "a text, or a pair of texts, is needed", 1, 2)
QUESTIONS = ItemRequirements("a list of pairs (question, context)", "a pair (question, context) is needed", 2, 2)


@dataclasses.dataclass(frozen=True)
class Texts:
    """The texts or pairs in an argument, and the table or column that they are from.

    Attributes:
        pairs: n pairs; a single text is (text, None).
        names: text columns; for a list, column names for a DataFrame.
        source: the caller's table as an api.inputs.frames.Table, its pandas.Series, or None.
        rows: rows of `source`, None for all of them.
        has_pairs: whether texts have second ones; parts of the texts keep this.
    """

    pairs: list[Pair]
    names: tuple[str, str] = ("text", "text_b")
    source: Any = None
    rows: Sequence[int] | None = None
    has_pairs: bool = False

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def singles(self) -> list[str]:
        """Return the texts, or the first texts of pairs."""
        return [text for text, _ in self.pairs]

    def take(self, rows: Sequence[int]) -> "Texts":
        """Return the texts in these rows, which are 0 to n − 1."""
        indices = range(len(self)) if self.rows is None else self.rows
        return dataclasses.replace(self, pairs=[self.pairs[row] for row in rows], rows=[indices[row] for row in rows])

    def to_frame(self) -> "pd.DataFrame":
        """Return a new DataFrame with the columns and the index of the caller's table.

        Without a table, the columns are `text`, and `text_b` for pairs.
        """
        import pandas as pd

        if self.source is None:
            columns = zip(*self.pairs, strict=True) if self.pairs else ((), ())
            names = self.names[: 1 + self.has_pairs]
            return make_frame({name: (column, "") for name, column in zip(names, columns, strict=False)})
        if isinstance(self.source, pd.Series):
            frame = self.source.to_frame(self.names[0] if self.source.name is None else self.source.name)
        else:
            frame = self.source.to_pandas()
        return frame.copy() if self.rows is None else frame.iloc[list(self.rows)].copy()


def make_frame(columns: Mapping[str, tuple[Sequence[Any] | np.ndarray, object]]) -> "pd.DataFrame":
    """Return a DataFrame. Columns without rows have the same types as others.

    Args:
        columns: name -> values, and an example for the type of an empty column.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            name: values if isinstance(values, np.ndarray) or len(values) else pd.Series([example]).iloc[:0]
            for name, (values, example) in columns.items()
        }
    )


def read_texts_argument(
    values: object,
    form: ItemRequirements = TEXTS_OR_PAIRS,
    columns: TextColumns = UNKNOWN_COLUMNS,
    name: str = "texts",
    takes_pairs: bool = True,
) -> Texts:
    """Return the texts or pairs in an argument.

    Every method that uses texts calls this function.

    Args:
        values: a list, a tuple, a generator, a NumPy array, a column or a table, see
            api.inputs.frames.Table.
        form: form of the items.
        columns: columns to use if the argument is a table.
        name: the argument's name, for errors.
        takes_pairs: whether two of a table's columns may be pairs.

    Raises:
        InputError: if a table lacks the columns.
        InputTypeError: for another argument, or an item that is no text; the message has its row.
    """
    if isinstance(values, Texts):
        return values
    table = as_table(name, values)
    if table is None:
        items = list_items(name, values, form.sequence)
        source = values if hasattr(values, "index") and hasattr(values, "to_frame") else None
        column_name = _column_name(values)
        refuse_labels(name, [column_name], columns)
        names = (column_name or "text", "text_b")
        pairs = [_pair(f"{name}[{row}]", item, form) for row, item in enumerate(items)]
        has_pairs = form.least == 2 or any(text_b is not None for _, text_b in pairs)
        return Texts(pairs, names, source, has_pairs=has_pairs)
    chosen = choose_columns(table, columns, name, form.most == 2 and takes_pairs)
    if len(chosen) > form.most or len(chosen) < form.least:
        raise InputTypeError(f"{name}: {form.sequence} is needed; pass {column_advice(table, form.most == 2)}")
    cells = [_check_column(name, column, table.column(column)) for column in chosen]
    names = (chosen[0], chosen[1] if len(chosen) == 2 else "text_b")
    second_texts = cells[1] if len(cells) == 2 else [None] * table.num_rows
    has_pairs = any(text_b is not None for text_b in second_texts)
    return Texts(list(zip(cells[0], second_texts, strict=True)), names, table, has_pairs=has_pairs)


def _column_name(values: object) -> str | None:
    """Return the name of a column, such as a pandas.Series; None for other sequences."""
    column_name = getattr(values, "name", None) if hasattr(values, "dtype") else None
    return column_name if isinstance(column_name, str) else None


def _check_column(name: str, column: Any, cells: list[Any]) -> list[Any]:
    for row, cell in enumerate(cells):
        if not isinstance(cell, str):
            raise InputTypeError(
                f"{name}[{row}]: a text is needed in the column {column!r}, found {cell!r:.80}{_advice(cell, column)}"
            )
    return cells


def _advice(cell: object, column: Any) -> str:
    is_missing = cell is None or type(cell).__name__ == "NAType" or cell != cell
    return f"; leave such rows out, as with df.dropna(subset=[{column!r}])" if is_missing else ""


def _pair(place: str, item: object, form: ItemRequirements) -> Pair:
    texts: tuple = (item,) if isinstance(item, str) else ()
    if isinstance(item, tuple | list):
        texts = tuple(item)
        # Use a pair without a second text as a single text.
        texts = texts[:1] if len(texts) == 2 and texts[1] is None and form.least == 1 < form.most else texts
    is_in_form = form.least <= len(texts) <= form.most and all(isinstance(text, str) for text in texts)
    is_single = isinstance(item, str) or form.most > 1
    if not (is_in_form and is_single):
        raise InputTypeError(f"{place}: {form.item}, found {item!r:.80}")
    return texts[0], texts[1] if len(texts) == 2 else None


def format_weights(values: Any, count: int) -> list[str]:
    """Return n weights as texts for a table in memory, which give the same float64 again.

    Args:
        values: n numbers.
        count: n.

    Raises:
        InputError: if there is another number of weights, or they are negative, not finite or all 0.
        InputTypeError: if the argument is not a list of numbers.
    """
    refuse_containers("sample_weight", values, "a list of numbers")
    try:
        weights = np.asarray(values if hasattr(values, "__array__") else list(values), np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"sample_weight: a list of numbers is needed ({first_line(error)})") from None
    if weights.shape != (count,):
        raise InputError(f"sample_weight: has the shape {weights.shape}; one weight per text is needed: ({count},)")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise InputError("sample_weight: finite weights of 0 or more are needed, and one that is not zero")
    return list(map(repr, weights.tolist()))


def list_items(name: str, values: object, needed: str = SINGLE_TEXTS.sequence, is_of_pairs: bool = False) -> list:
    """Return the items of an iterable as a list.

    Args:
        name: the argument's name, for the error.
        values: a list, a tuple, a generator, a NumPy array, a DataFrame column, and so on.
        needed: a description of the list, for the error.
        is_of_pairs: whether an item is made from two columns of a table.

    Raises:
        InputTypeError: for a text, a table, a dict, a set, or a value that is not iterable.
    """
    refuse_containers(name, values, needed, is_of_pairs)
    # Arrays and columns convert their items to Python types. An array without axes becomes a
    # scalar.
    convert = getattr(values, "tolist", None) or getattr(values, "to_pylist", None)
    items = convert() if convert else values
    if not isinstance(items, Iterable) or isinstance(items, str | bytes):
        raise InputTypeError(f"{name}: {needed} is needed, found {values!r:.80}")
    return list(items)


def refuse_containers(name: str, values: object, needed: str, is_of_pairs: bool = False) -> None:
    """Raise InputTypeError for an iterable that is not an ordered sequence of items.

    For the arguments see `texts.list_items`.
    """
    problem = f"{name}: {needed} is needed, found"
    if isinstance(values, str | bytes | bytearray):
        advice = "; put it into a list" if isinstance(values, str) else ""
        raise InputTypeError(f"{problem} {values!r:.80}{advice}")
    if table := as_table(name, values):
        raise InputTypeError(f"{problem} a {table.kind}; pass {column_advice(table, is_of_pairs)}")
    class_name = type(values).__name__
    if isinstance(values, Mapping):
        keys = ", ".join(repr(key) for key in list(values)[:_MOST_NAMES])
        raise InputTypeError(f"{problem} a {class_name} with the keys {keys:.80}")
    if isinstance(values, set | frozenset):
        raise InputTypeError(f"{problem} a {class_name}, which has no order")
