"""Candidates for masked words, and scores of texts."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bert_cli.api.results.sequence import ItemResults, ResultColumn, item_html, shorten_text

if TYPE_CHECKING:
    import pandas as pd


class Candidate(NamedTuple):
    """A token to use for a [MASK], and its probability."""

    token: str
    probability: float


@dataclasses.dataclass(frozen=True, repr=False)
class FilledText:
    """Candidates for each [MASK] in a text.

    Attributes:
        text: the text.
        masks: candidates for each [MASK], best first.
        next_sentence_probability: for two texts separated by ` ||| `, the probability that the
            second one follows; None if there is one text, or no next-sentence head.
    """

    text: str
    masks: tuple[tuple[Candidate, ...], ...]
    next_sentence_probability: float | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """Return the best token for each [MASK]."""
        return tuple(candidates[0].token for candidates in self.masks)

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per candidate: mask (from 1), token and probability."""
        import pandas as pd

        rows = [(number, *candidate) for number, candidates in enumerate(self.masks, 1) for candidate in candidates]
        return pd.DataFrame(rows, columns=["mask", "token", "probability"])

    def __repr__(self) -> str:
        lines = [f"FilledText: {shorten_text(self.text)}"]
        for number, candidates in enumerate(self.masks, 1):
            shown = ", ".join(f"{token} {probability:.3f}" for token, probability in candidates)
            lines.append(f"  [MASK] {number}: {shown}")
        if self.next_sentence_probability is not None:
            lines.append(f"  the second text follows: {self.next_sentence_probability:.3f}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return item_html(self.text, self.to_frame())


def make_filled_text(record: Mapping[str, Any]) -> FilledText:
    """Return a FilledText for a record from bert-fill-mask's JSON lines."""
    masks = tuple(tuple(Candidate(**candidate) for candidate in candidates) for candidates in record["masks"])
    return FilledText(record["text"], masks, record.get("next_sentence_probability"))


class FilledTexts(ItemResults[FilledText]):
    """Candidates for n texts: a sequence of `FilledText`."""

    def columns(self) -> dict[str, ResultColumn]:
        """Return the best tokens and the probabilities as columns."""
        columns: dict[str, ResultColumn] = {
            "tokens": [item.tokens for item in self],
            "probabilities": [tuple(candidates[0].probability for candidates in item.masks) for item in self],
        }
        follows = [item.next_sentence_probability for item in self]
        has_pairs = any(probability is not None for probability in follows)
        return columns | ({"next_sentence_probability": follows} if has_pairs else {})

    def _summary(self, item: FilledText) -> str:
        return f"{shorten_text(item.text)}  [{', '.join(item.tokens)}]"


class ScoredToken(NamedTuple):
    """A token, and its log-probability when it alone is masked."""

    token: str
    log_probability: float


@dataclasses.dataclass(frozen=True, repr=False)
class ScoredText:
    """A text's score from a masked language model.

    Attributes:
        text: the text.
        pseudo_log_likelihood: the sum of the tokens' log-probabilities (natural logarithm).
        pseudo_perplexity: exp(−pseudo_log_likelihood / number of tokens).
        tokens: the tokens without [CLS] and [SEP].
    """

    text: str
    pseudo_log_likelihood: float
    pseudo_perplexity: float
    tokens: tuple[ScoredToken, ...]

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per token: token and log_probability."""
        import pandas as pd

        return pd.DataFrame(self.tokens, columns=list(ScoredToken._fields))

    def __repr__(self) -> str:
        return f"ScoredText: {self.summary()}"

    def summary(self) -> str:
        """Return a shortened text and its score on one line."""
        return f"{shorten_text(self.text)}  [{self.pseudo_log_likelihood:.3f}]"

    def _repr_html_(self) -> str:
        return item_html(self.summary(), self.to_frame())


def make_scored_text(record: Mapping[str, Any]) -> ScoredText:
    """Return a ScoredText for a record from the JSON lines of `bert-fill-mask --score`."""
    tokens = tuple(ScoredToken(**token) for token in record["tokens"])
    return ScoredText(record["text"], record["pseudo_log_likelihood"], record["pseudo_perplexity"], tokens)


class ScoredTexts(ItemResults[ScoredText]):
    """Scores of n texts: a sequence of `ScoredText`."""

    def columns(self) -> dict[str, ResultColumn]:
        """Return the scores as columns."""
        return {
            "pseudo_log_likelihood": [item.pseudo_log_likelihood for item in self],
            "pseudo_perplexity": [item.pseudo_perplexity for item in self],
        }

    def _examples(self) -> dict[str, object]:
        return {"pseudo_log_likelihood": 0.0, "pseudo_perplexity": 0.0}

    def _summary(self, item: ScoredText) -> str:
        return item.summary()
