"""Vectors for texts and tokens."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.api.inputs.texts import Texts
from bert_cli.api.results.sequence import Column, ItemResults, shorten_text

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

    def columns(self) -> dict[str, Column]:
        """Return tokens and vectors as columns with lists and arrays."""
        return {"tokens": [item.tokens for item in self], "vectors": [item.vectors for item in self]}

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per token: the token and its numbers, from 0 to W − 1.

        The index has two levels: the text's index and the token's number.
        """
        import pandas as pd

        index = self.texts.to_frame().index.tolist()
        rows = [index[row] for row, item in enumerate(self) for _ in item.tokens]
        positions = [position for item in self for position in range(len(item.tokens))]
        vectors = np.concatenate([item.vectors for item in self]) if len(self) else np.zeros((0, 0), np.float32)
        frame = pd.DataFrame(vectors, index=pd.MultiIndex.from_arrays([rows, positions], names=["text", "position"]))
        frame.insert(0, "token", [token for item in self for token in item.tokens])
        return frame

    def _summary(self, item: TokenFeatures) -> str:
        return f"{item.vectors.shape}  {shorten_text(' '.join(item.tokens))}"
