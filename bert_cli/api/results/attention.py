"""Attention in one text: numbers, a table, and the heat maps of bert-extract-features."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.api.results.page import Page
from bert_cli.base.errors import refuse_if
from bert_cli.base.names import PAIR_MARK
from bert_cli.outputs.vectors.attention import strongest_links

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Attention:
    """Attention in a text: how strongly each token of a layer and head looks at the others.

    Attributes:
        text: the text.
        text_b: the second text for a pair, otherwise None.
        model: the model's name.
        tokens: T tokens, including [CLS] and [SEP].
        weights: float32 [layers, heads, T, T]; the row is the token that looks, and a row adds up
            to 1.
    """

    text: str
    text_b: str | None
    model: str
    tokens: tuple[str, ...]
    weights: np.ndarray

    def to_frame(self, layer: int = -1, head: int | None = None) -> "pd.DataFrame":
        """Return one layer as a DataFrame with tokens as index and columns.

        Args:
            layer: the layer, from 0, or from −1 back.
            head: the head, from 0; None for the mean over all heads.

        Raises:
            InputError: if the model has no such layer or head.
        """
        import pandas as pd

        return pd.DataFrame(self._matrix(layer, head), index=list(self.tokens), columns=list(self.tokens))

    def links(self, top_k: int = 10, layer: int = -1, head: int | None = None) -> list[tuple[float, str, str]]:
        """Return the strongest links as (weight, from, to), best first, without special tokens.

        Args:
            top_k: maximum number of links.
            layer, head: see `to_frame`.
        """
        return strongest_links(self._matrix(layer, head), self.tokens, top_k)

    def page(self) -> Page:
        """Return the page with heat maps of all layers and heads."""
        from bert_cli.report.attention_map import attention_page

        text = self.text if self.text_b is None else f"{self.text}{PAIR_MARK}{self.text_b}"
        return Page("Attention", attention_page(self.model, text, self.tokens, self.weights))

    def _matrix(self, layer: int, head: int | None) -> np.ndarray:
        """Return one head of a layer, or the mean of all heads, float32 [T, T]."""
        layers, heads = self.weights.shape[:2]
        refuse_if(
            not -layers <= layer < layers,
            f"layer={layer}: this model has the layers 0 to {layers - 1}, or -{layers} to -1",
        )
        refuse_if(head is not None and not 0 <= head < heads, f"head={head}: this model has the heads 0 to {heads - 1}")
        return self.weights[layer].mean(axis=0) if head is None else self.weights[layer, head]

    def __repr__(self) -> str:
        layers, heads, count, _ = self.weights.shape
        title = f"Attention: {layers} layers, {heads} heads, {count} tokens; strongest links of the last layer"
        return "\n".join([title, *(f"  {weight:.4f}  {source} -> {target}" for weight, source, target in self.links())])

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()
