"""The page of --attention_map: one heat map per layer and head, in a file without scripts."""

import base64
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.report.page import render_template

_INK = (64, 110, 226)  # readable on light and dark backgrounds; the alpha channel holds the value


class HeatMap(NamedTuple):
    """One heat map: its id in the page, its layer and head from 0, and its image as a data URI."""

    key: str
    layer: int
    head: int
    image: str


def _image(attention: np.ndarray) -> str:
    """Return attention float32 [length, length] as a PNG data URI, one pixel per pair of tokens."""
    from matplotlib.image import imsave

    pixels = np.empty((*attention.shape, 4), np.uint8)
    pixels[..., :3] = _INK
    # The square root keeps small values visible: most attention is below 0.1.
    pixels[..., 3] = np.rint(255 * np.sqrt(np.clip(attention, 0.0, 1.0)))
    buffer = io.BytesIO()
    imsave(buffer, pixels, format="png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def attention_page(model: str, text: str, tokens: Sequence[str], attention: np.ndarray) -> str:
    """Return the page as HTML.

    Args:
        model: model name.
        tokens: the text's tokens.
        attention: float32 [layers, heads, length, length].
    """
    layers, heads = attention.shape[:2]
    maps = [
        [HeatMap(f"l{layer}h{head}", layer, head, _image(attention[layer, head])) for head in range(heads)]
        for layer in range(layers)
    ]
    return render_template("attention.html", model=model, text=text, tokens=tokens, maps=maps)
