"""Tables in memory (pandas, polars, pyarrow, datasets) and their text columns."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bert_cli.base.errors import InputError, InputTypeError, refuse_if
from bert_cli.base.formats import list_some, quote
from bert_cli.reading.column_names import PAIRS, TEXT_NAMES, normalize_name

if TYPE_CHECKING:
    import pandas as pd


class TextColumns(NamedTuple):
    """Text columns in a model's training table; None if unknown.

    Attributes:
        text: the text's column.
        text_b: the second text's column for pairs; None for single texts.
        labels: columns with the labels, which are never read as texts.
    """

    text: str | None = None
    text_b: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the text columns that are not None."""
        return tuple(name for name in (self.text, self.text_b) if name is not None)


UNKNOWN_COLUMNS = TextColumns()


@dataclasses.dataclass(frozen=True)
class Table:
    """A DataFrame of pandas or polars, a pyarrow.Table, or a datasets.Dataset.

    Attributes:
        source: the caller's object.
        names: its column names.
    """

    source: Any
    names: tuple[Any, ...]

    @property
    def num_rows(self) -> int:
        # Not __len__: an empty table would be false.
        return len(self.source)

    @property
    def kind(self) -> str:
        """Return the object's class, for messages."""
        return type(self.source).__name__

    def column(self, name: Any) -> list[Any]:
        """Return the values in a column, as Python objects."""
        column = self.source[name]
        for method in ("tolist", "to_pylist", "to_list"):
            if hasattr(column, method):
                return getattr(column, method)()
        return list(column)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as Python objects."""
        # A pandas.DataFrame may use a name for two columns.
        if hasattr(self.source, "itertuples"):
            return list(self.source.itertuples(index=False, name=None))
        return list(zip(*map(self.column, self.names), strict=True))

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a pandas.DataFrame; a DataFrame of pandas is returned unchanged."""
        import pandas as pd

        if isinstance(self.source, pd.DataFrame):
            return self.source
        return pd.DataFrame({name: self.column(name) for name in self.names})


def as_table(name: str, values: object) -> Table | None:
    """Return an object with named columns as a Table, or None for another object.

    Use its attributes to recognize it, because importing the libraries takes seconds.

    Args:
        name: the argument's name, for the error.
        values: the argument.

    Raises:
        InputTypeError: if its columns have no values in memory, as in a Spark DataFrame.
    """
    if isinstance(values, Mapping | type):
        return None
    names = getattr(values, "column_names", None)
    names = getattr(values, "columns", None) if names is None else names
    if not isinstance(names, Iterable):
        return None
    if not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        table = f"{type(values).__module__}.{type(values).__qualname__}"
        if table.startswith("polars."):
            raise InputTypeError(f"{name}: a table in memory is needed, found a polars.LazyFrame; call its collect()")
        raise InputTypeError(f"{name}: convert the {table} to a pandas.DataFrame")
    return Table(values, tuple(names))


def names_and_rows_of_records(records: Sequence[Mapping[Any, Any]]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the keys of all records as names, and a row per record, with None for missing keys."""
    keys = tuple(dict.fromkeys(itertools.chain.from_iterable(records)))
    return tuple(map(str, keys)), [tuple(record.get(key) for key in keys) for record in records]


def choose_columns(table: Table, trained: TextColumns, name: str, takes_pairs: bool) -> tuple[Any, ...]:
    """Return one or two column names to read texts from.

    Use the model's training columns. If they are unknown, use columns with usual names, or the only
    column, but never a column of labels.

    Args:
        table: the caller's table.
        trained: training columns.
        name: the argument's name, for errors.
        takes_pairs: whether two columns can be used.

    Raises:
        InputError: if a trained column is missing, or no column is known to have the texts.
    """
    by_text = {str(column): column for column in table.names}
    refuse_if(len(by_text) < len(table.names), f"{name}: two columns of the {table.kind} have the same name")
    if by_text.keys() <= set(trained.labels):
        refuse_labels(name, list(by_text)[:1], trained)
    if trained.text is not None:
        missing = [column for column in trained.names if column not in by_text]
        if not missing:
            return tuple(by_text[column] for column in trained.names)
        present = list_some([quote(column) for column in by_text])
        needed = " and ".join(quote(column) for column in missing)
        raise InputError(
            f"{name}: the {table.kind} has no column {needed}, which the model was trained on; it has {present}; "
            f"rename a column{_or_pass(table, trained)}"
        )
    by_usual_name = {normalize_name(column): column for column in by_text if column not in trained.labels}
    pairs = [pair for pair in PAIRS if set(pair) <= set(by_usual_name)] if takes_pairs else []
    usual_names = [column for column in by_usual_name if column in TEXT_NAMES]
    if pairs:
        return tuple(by_text[by_usual_name[column]] for column in pairs[0])
    if len(usual_names) == 1:
        return (by_text[by_usual_name[usual_names[0]]],)
    if len(table.names) == len(by_usual_name) == 1:
        return table.names
    raise InputError(
        f"{name}: the {table.kind} has no column that is known to hold the texts"
        f"{_or_pass(table, trained).replace(', or', ';', 1)}"
    )


def check_has_labels(data: object, trained: TextColumns) -> None:
    """Raise InputError if data to evaluate is a table with texts alone.

    Args:
        data: the argument.
        trained: the training's columns.
    """
    table = as_table("data", data)
    if table is not None and (len(table.names) == 1 or {str(name) for name in table.names} <= set(trained.names)):
        missing = f" {list_some([quote(name) for name in trained.labels])}" if trained.labels else " with labels"
        raise InputError(f"data: the {table.kind} has no column{missing}; give the labels as second argument")


def refuse_labels(name: str, columns: Iterable[Any], trained: TextColumns) -> None:
    """Raise InputError if a column has the training's labels.

    Args:
        name: the argument's name, for the error.
        columns: the columns to read.
        trained: the training's columns.
    """
    for column in columns:
        refuse_if(
            column in trained.labels,
            f"{name}: the column {quote(str(column))} has the labels; pass the texts, or a list for these words as texts",
        )


_MOST_NAMES = 3  # maximum number of columns in advice


def _or_pass(table: Table, trained: TextColumns) -> str:
    """Return advice to pass columns themselves, "" if only labels are left."""
    is_of_pairs = len(trained.names) > 1
    rest = dataclasses.replace(table, names=tuple(name for name in table.names if str(name) not in trained.labels))
    has_enough = len(rest.names) > is_of_pairs
    return f", or pass {column_advice(rest, is_of_pairs)}" if has_enough else ""


def column_advice(table: Table, is_of_pairs: bool) -> str:
    """Return Python code that takes texts, or pairs of texts, from a table, for an error."""
    columns = [f"df[{_quoted(column)}]" for column in table.names]
    if is_of_pairs:
        return f"zip({', '.join(columns[:2])})"
    return "one of its columns: " + " or ".join(columns[:_MOST_NAMES]) + (" …" if len(columns) > _MOST_NAMES else "")


def _quoted(column: Any) -> str:
    return f'"{column}"' if isinstance(column, str) else repr(column)
