"""Word pieces and their places in a text, as a table and in colors."""

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bert_cli.api.inputs.texts import make_frame
from bert_cli.text.offsets import Piece
from bert_cli.text.vocabulary import UNK

if TYPE_CHECKING:
    import pandas as pd

# Background colors: neighbors differ, and so does [UNK].
_COLORS, _UNKNOWN = ("rgba(40, 120, 220, 0.18)", "rgba(240, 170, 0, 0.22)"), "rgba(206, 58, 58, 0.35)"


class Pieces(tuple[Piece, ...]):
    """A text's word pieces: a tuple with `Piece` (token, token_id, start, end).

    Attributes:
        text: the text.
    """

    text: str

    def __new__(cls, text: str, pieces: Iterable[Piece]) -> "Pieces":
        """Make the tuple."""
        made = super().__new__(cls, pieces)
        made.text = text
        return made

    def __getnewargs__(self) -> tuple[str, tuple[Piece, ...]]:
        return self.text, tuple(self)

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with a row per piece: token, token_id, start, end and text."""
        names, examples = [*Piece._fields, "text"], ("", 0, 0, 0, "")
        rows = [(*piece, self.text[piece.start : piece.end]) for piece in self]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        return make_frame(dict(zip(names, zip(columns, examples, strict=True), strict=True)))

    def __repr__(self) -> str:
        return f"Pieces: {' '.join(piece.token for piece in self)}"

    def _repr_html_(self) -> str:
        # Use inline styles, because a style sheet would also change the notebook.
        spans = []
        for number, piece in enumerate(self):
            color = _UNKNOWN if piece.token == UNK else _COLORS[number % 2]
            title = f"{piece.token_id}: {self.text[piece.start : piece.end]}"
            spans.append(
                f'<span style="background: {color}; padding: 1px 3px; border-radius: 4px" '
                f'title="{html.escape(title)}">{html.escape(piece.token)}</span>'
            )
        return f'<div style="line-height: 2">{" ".join(spans)}</div>'
