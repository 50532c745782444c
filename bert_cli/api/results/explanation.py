"""Explanations of predictions: each word's share in the score."""

import dataclasses
import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bert_cli.api.inputs.texts import make_frame
from bert_cli.api.results.sequence import ItemResults, ResultColumn, index_of_rows, shorten_text

if TYPE_CHECKING:
    import pandas as pd

# The report's colors for words that raise and that lower the score.
_GOOD, _BAD = "22, 140, 84", "206, 58, 58"


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Each word's share in a prediction's score.

    The shares add up to score − masked_score.

    Attributes:
        text: the text.
        text_b: the second text for a pair, otherwise None.
        prediction: the prediction as a dict, see predicting.explanation.explain.
        score: score for the text.
        masked_score: score with all words masked.
        words: the words in text order.
        shares: the words' shares.
        in_text_b: for each word, whether it is in the second text.
    """

    text: str
    text_b: str | None
    prediction: dict[str, Any]
    score: float
    masked_score: float
    words: tuple[str, ...]
    shares: tuple[float, ...]
    in_text_b: tuple[bool, ...]

    def record(self) -> dict[str, Any]:
        """Return the explanation as `bert-classify --explain` prints it in JSON."""
        words = zip(self.words, self.shares, self.in_text_b, strict=True)
        return {
            "text": self.text,
            **({} if self.text_b is None else {"text_b": self.text_b}),
            **self.prediction,
            "score": self.score,
            "masked_score": self.masked_score,
            "words": [
                {"word": word, "share": share} | ({"text_b": True} if is_second else {})
                for word, share, is_second in words
            ],
        }

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per word: word, share, and text_b for pairs."""
        columns: dict[str, Any] = {"word": (self.words, ""), "share": (self.shares, 0.0)}
        return make_frame(columns | ({} if self.text_b is None else {"text_b": (self.in_text_b, False)}))

    def __repr__(self) -> str:
        best = sorted(zip(self.words, self.shares, strict=True), key=lambda pair: -abs(pair[1]))[:8]
        lines = [f"Explanation: {self.title()}", *(f"  {share:+8.3f}  {word}" for word, share in best)]
        return "\n".join(lines)

    def title(self) -> str:
        """Return the prediction and the score on one line."""
        values = [
            f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}"
            for name, value in self.prediction.items()
        ]
        return f"{', '.join(values)}, score {self.score:+.3f}"

    def _repr_html_(self) -> str:
        # Use inline styles, because a style sheet would also change the notebook.
        most = max(map(abs, self.shares), default=0.0) or 1.0
        words = [
            f'<span style="background: rgba({_GOOD if share > 0 else _BAD}, {0.6 * abs(share) / most:.2f}); '
            f'padding: 1px 3px; border-radius: 4px" title="{share:+.3f}">{html.escape(word)}</span>'
            for word, share in zip(self.words, self.shares, strict=True)
        ]
        if True in self.in_text_b:
            words.insert(self.in_text_b.index(True), "<br>")
        return f'<div><b>{html.escape(self.title())}</b><div style="line-height: 2">{" ".join(words)}</div></div>'


def make_explanation(record: Mapping[str, Any], labels: Mapping[str, Any] = {}) -> Explanation:
    """Return an Explanation for a record that `bert-classify --explain` prints.

    Args:
        record: the record.
        labels: label name -> label with the type of the training's labels.
    """
    names = ("text", "text_b", "score", "masked_score", "words")
    words = record["words"]
    prediction = {name: value for name, value in record.items() if name not in names}
    for name in ("label", "explained_label"):
        if name in prediction:
            prediction[name] = labels.get(prediction[name], prediction[name])
    if "labels" in prediction:
        prediction["labels"] = [labels.get(label, label) for label in prediction["labels"]]
    return Explanation(
        record["text"],
        record.get("text_b"),
        prediction,
        record["score"],
        record["masked_score"],
        tuple(word["word"] for word in words),
        tuple(word["share"] for word in words),
        tuple(word.get("text_b", False) for word in words),
    )


class Explanations(ItemResults[Explanation]):
    """Explanations for n texts: a sequence of `Explanation`."""

    def columns(self) -> dict[str, ResultColumn]:
        """Return the words and their shares as columns with tuples."""
        return {"words": [item.words for item in self], "shares": [item.shares for item in self]}

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per word, using its text's index."""
        import pandas as pd

        frames = [item.to_frame() for item in self]
        frame = pd.concat(frames) if frames else make_frame({"word": ((), ""), "share": ((), 0.0)})
        return frame.set_axis(index_of_rows(self.texts, list(map(len, frames))))

    def _summary(self, item: Explanation) -> str:
        return f"{item.title()}  {shorten_text(item.text)}"

    def _repr_html_(self) -> str:
        return "".join(item._repr_html_() for item in self)
