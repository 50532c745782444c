"""Vectors for texts and tokens."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from bert_cli.api.inputs.texts import Texts, make_frame
from bert_cli.api.results.sequence import ItemResults, ResultColumn, index_of_rows, shorten_text

if TYPE_CHECKING:
    import pandas as pd


class Vectors(np.ndarray):
    """Vectors for n texts, float32 [n, W]: an array that becomes a DataFrame.

    Attributes:
        texts: the texts; None if the array was computed from other vectors.
    """

    texts: Texts | None = None

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with the input's index and one column per number, from 0 to W − 1."""
        import pandas as pd

        index = None if self.texts is None else self.texts.to_frame().index
        return pd.DataFrame(np.asarray(self), index=index)


def make_vectors(values: np.ndarray, texts: Texts) -> Vectors:
    """Return `values` as vectors for these texts; they use the same memory."""
    vectors = values.view(Vectors)
    vectors.texts = texts
    return vectors


@dataclasses.dataclass(frozen=True, eq=False)
class TokenFeatures:
    """Token vectors for a text.

    Attributes:
        tokens: t tokens, including [CLS] and [SEP].
        vectors: float32 [t, W].
    """

    tokens: list[str]
    vectors: np.ndarray


class TokenVectors(ItemResults[TokenFeatures]):
    """Token vectors for n texts: a sequence of `TokenFeatures`."""

    def __init__(self, texts: Texts, items: Sequence[TokenFeatures], width: int):
        super().__init__(texts, items)
        self._width = width

    def _take(self, rows: Sequence[int]) -> Self:
        return type(self)(self.texts.take(rows), [self._items[row] for row in rows], self._width)

    def columns(self) -> dict[str, ResultColumn]:
        """Return tokens and vectors as columns with lists and arrays."""
        return {"tokens": [item.tokens for item in self], "vectors": [item.vectors for item in self]}

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per token: the token and its numbers, from 0 to W − 1.

        The index has two levels: the text's index and the token's number.
        """
        import pandas as pd

        vectors = np.concatenate([np.zeros((0, self._width), np.float32), *(item.vectors for item in self)])
        frame = make_frame({"token": ([token for item in self for token in item.tokens], "")})
        index = index_of_rows(self.texts, [len(item.tokens) for item in self])
        return pd.concat([frame, pd.DataFrame(vectors)], axis=1).set_axis(index)

    def _summary(self, item: TokenFeatures) -> str:
        return f"{item.vectors.shape}  {shorten_text(' '.join(item.tokens))}"
