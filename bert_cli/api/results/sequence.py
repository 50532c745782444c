"""Base class for results: a sequence with one item per text."""

import abc
import html
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

import numpy as np

from bert_cli.api.inputs.texts import Texts, make_frame

if TYPE_CHECKING:
    import pandas as pd

Item = TypeVar("Item", covariant=True)
ResultColumn = Sequence[Any] | np.ndarray  # one value per text
_SHOWN_ROWS = 10  # rows in a notebook and in a repr
_TEXT_WIDTH = 60  # characters of a text in a repr


class Results(Sequence[Item], Generic[Item]):
    """Results for n texts, in their order.

    A slice, a mask or an array with row numbers gives results, too.

    Attributes:
        texts: the texts or pairs.
    """

    def __init__(self, texts: Texts):
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice | np.ndarray | Sequence[Any]) -> Self: ...
    def __getitem__(self, index: Any) -> Item | Self:
        rows = range(len(self))
        if isinstance(index, slice):
            return self._take(rows[index])
        # Raise IndexError for a row that does not exist, and count negative rows from the end.
        if hasattr(index, "__index__") and not np.ndim(index):
            return self._item(rows[index])
        chosen = np.asarray(index)
        if chosen.dtype == bool:
            if chosen.shape != (len(self),):
                raise IndexError(f"a mask for {len(self)} texts is needed, found the shape {chosen.shape}")
            chosen = np.flatnonzero(chosen)
        return self._take([rows[row] for row in chosen])

    def __iter__(self) -> Iterator[Item]:
        return map(self._item, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Results | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # like a list

    @abc.abstractmethod
    def _item(self, row: int) -> Item:
        """Return a row's item; rows are 0 to n − 1."""

    @abc.abstractmethod
    def _take(self, rows: Sequence[int]) -> Self:
        """Return the results in these rows, which are 0 to n − 1."""

    @abc.abstractmethod
    def columns(self) -> dict[str, ResultColumn]:
        """Return the results as columns with one value per text."""

    def _examples(self) -> Mapping[str, object]:
        """Return an example value by column name, for empty columns; () is the default."""
        return {}

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with the input's columns and index, and the results.

        A result's column is called `predicted_…` if the input has a column with its name.
        """
        frame, examples = self.texts.to_frame(), self._examples()
        names = set(map(str, frame.columns))
        columns = make_frame({name: (values, examples.get(name, ())) for name, values in self.columns().items()})
        for name, column in columns.items():
            frame[f"predicted_{name}" if name in names else name] = column.array
        return frame

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} for {len(self)} {'text' if len(self) == 1 else 'texts'}"]
        lines += [f"  {self._summary(item)}" for item in self[:_SHOWN_ROWS]]
        if len(self) > _SHOWN_ROWS:
            lines.append("  …")
        return "\n".join(lines)

    def _summary(self, item: Any) -> str:
        """Return an item as one line."""
        return repr(item)

    def _repr_html_(self) -> str:
        # Pandas cuts long cells and escapes HTML.
        frame = self[:_SHOWN_ROWS].to_frame()
        more = len(self) - len(frame)
        return frame.to_html(float_format="{:.3f}".format, border=0) + (f"<p>… and {more} more</p>" if more else "")


class ItemResults(Results[Item]):
    """Results that are a list of items."""

    def __init__(self, texts: Texts, items: Sequence[Item]):
        super().__init__(texts)
        self._items = list(items)
        if len(self._items) != len(texts):
            raise RuntimeError(f"{len(self._items)} of {len(texts)} texts have a result")

    def _item(self, row: int) -> Item:
        return self._items[row]

    def _take(self, rows: Sequence[int]) -> Self:
        return type(self)(self.texts.take(rows), [self._items[row] for row in rows])


def index_of_rows(texts: Texts, counts: Sequence[int]) -> "pd.MultiIndex":
    """Return the index of a DataFrame with several rows per text: text and row number.

    Args:
        texts: n texts.
        counts: number of rows per text, [n].
    """
    import pandas as pd

    rows = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(len(rows)) - np.repeat(np.cumsum([0, *counts])[:-1], counts)
    index = texts.to_frame().index.to_flat_index()[rows]
    return pd.MultiIndex.from_arrays([index, positions], names=["text", "position"])


def shorten_text(text: str) -> str:
    """Return a text on one line, cut for a repr."""
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_WIDTH else line[: _TEXT_WIDTH - 1] + "…"


def item_html(title: str, frame: "pd.DataFrame") -> str:
    """Return one result as HTML for a notebook: a line, and a table of its first rows."""
    table = frame[:_SHOWN_ROWS].to_html(float_format="{:.3f}".format, border=0, index=False)
    return f"<div>{html.escape(title)}</div>{table}"
