"""Answers from the start and end logits of windows.

decoder = SpanDecoder(features, search, version_2_with_negative)
decoder.add(windows, start_logits, end_logits)          # per batch; keeps a few numbers per window
predictions = decoder.finish(examples, tokenizer)
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.examples.squad.records import SquadExample
from bert_cli.features.squad import SquadFeatures
from bert_cli.outputs.answers.answer_text import context_span, final_span, join_pieces
from bert_cli.settings.answering import AnswerSearch
from bert_cli.text.tokenization import FullTokenizer

# Null odds if the null answer is the only one; the original starts from this score.
NO_ANSWER_ODDS = 1000000.0
# Text used for a single n-best entry if there is no candidate, without version_2_with_negative.
NO_ANSWER_TEXT = "empty"
_ROWS_AT_ONCE = 1024  # windows to sort together, which limits memory
# (window, start position, end position, start logit, end logit)
_Candidate = tuple[int, int, int, float, float]


class NBestEntry(NamedTuple):
    """An answer: text, probability within its n-best list, logits and span in the context.

    `span` is [first, end), or None if there is no answer ("" or "empty").
    """

    text: str
    probability: float
    start_logit: float
    end_logit: float
    span: tuple[int, int] | None


class SquadPrediction(NamedTuple):
    """The answer to a question.

    Attributes:
        qas_id: the question's id.
        text: "" for no answer; "empty" if there is no candidate although an answer must exist.
        span: characters [first, end) in the context, None for no answer.
        nbest: entries with different texts, best first.
        null_odds: score of no answer minus the best answer's score, None without
            version_2_with_negative.
        found: whether there was any candidate; False for a context without a word.
    """

    qas_id: str
    text: str
    span: tuple[int, int] | None
    nbest: tuple[NBestEntry, ...]
    null_odds: float | None
    found: bool


def check_search(search: AnswerSearch) -> None:
    """Raise InputError if a number is below 1."""
    for flag in ("n_best_size", "max_answer_length"):
        value = getattr(search, flag)
        if value < 1:
            raise InputError(f"--{flag}: {value} leaves no answer; give 1 or more")


class SpanDecoder:
    """Decoder that keeps each window's best starts and ends, n_best_size at most.

    Answers depend on nothing else.
    """

    def __init__(self, features: SquadFeatures, search: AnswerSearch, version_2: bool):
        """Prepare for all windows of `features`; with `version_2`, a question may have no answer."""
        check_search(search)
        self._features = features
        self._search = search
        self._version_2 = version_2
        # Keep at most as many as the longest window has tokens: short contexts would waste memory
        # on n_best_size.
        width = min(search.n_best_size, int(features.sequences.lengths.max(initial=0)))
        # Axis 0 is starts and ends. Positions are best first, padded with -1.
        self._positions = np.full((2, len(features), width), -1, np.int32)
        self._logits = np.zeros((2, len(features), width), np.float32)
        self._null_logits = np.zeros((len(features), 2), np.float32)
        self._added = np.zeros(len(features), bool)

    def add(self, windows: np.ndarray | Sequence[int], start_logits: np.ndarray, end_logits: np.ndarray) -> None:
        """Add the logits of some windows, in any order.

        Logits after a window's end belong to padding. As in the original, they compete for the
        n_best_size positions, but are never an answer. -inf excludes them.

        Args:
            windows: window numbers.
            start_logits: float [len(windows), L]; L is at least their longest length.
            end_logits: float [len(windows), L].

        Raises:
            InputError: a token's logit is not finite.
        """
        windows = np.asarray(windows, np.int64)
        for first in range(0, len(windows), _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            self._add(windows[rows], np.asarray(start_logits[rows]), np.asarray(end_logits[rows]))

    def _add(self, windows: np.ndarray, start_logits: np.ndarray, end_logits: np.ndarray) -> None:
        features = self._features
        lengths = features.sequences.lengths[windows][:, None]
        shape = (len(windows), start_logits.shape[1])
        if start_logits.shape != shape or end_logits.shape != shape or lengths.max(initial=0) > shape[1]:
            raise ValueError(f"logits {start_logits.shape}, {end_logits.shape} for {len(windows)} windows")
        is_padding = np.arange(shape[1]) >= lengths
        # An answer starts at a token with its most context in this window, and may end at any
        # context token.
        starts = features.owned[windows].T[:, :, None]
        ends = (features.doc_starts[windows][:, None], lengths - 1)
        for side, (side_logits, (first, end)) in enumerate(((start_logits, starts), (end_logits, ends))):
            logits = side_logits.astype(np.float32)
            # Allow -inf at padding, because some models mask padding with it.
            if not (np.isfinite(logits) | is_padding).all() or np.isnan(logits).any():
                raise InputError(
                    "the model gives logits that are not numbers (NaN or infinite): its weights "
                    "are damaged, or --precision is too low for them; give another checkpoint, or "
                    "--precision=float32"
                )
            # Sort stably: the first position wins in a tie.
            order = np.argsort(-logits, axis=1, kind="stable")[:, : self._search.n_best_size]
            allowed = (order >= first) & (order < end)
            # Move impossible positions to the end, so that fewer columns hold the others.
            packed = np.argsort(~allowed, axis=1, kind="stable")[:, : self._positions.shape[2]]
            order = np.take_along_axis(order, packed, 1)
            allowed = np.take_along_axis(allowed, packed, 1)
            cells = np.s_[side, windows, : order.shape[1]]
            self._positions[cells] = np.where(allowed, order, -1)
            self._logits[cells] = np.take_along_axis(logits, order, 1)
            self._null_logits[windows, side] = logits[:, 0]
        self._added[windows] = True

    def _candidates(self, windows: slice) -> list[_Candidate]:
        """Return all spans in some windows, best first; the null answer has window -1."""
        starts, ends = self._positions[:, windows]
        lengths = ends[:, None, :] - starts[:, :, None]  # [windows, starts, ends]; 0 for a single token
        is_span = (starts[:, :, None] >= 0) & (lengths >= 0) & (lengths < self._search.max_answer_length)
        window, i, j = np.nonzero(is_span)
        # Compare scores in float64, as the original's Python floats do.
        start_logits, end_logits = self._logits[:, windows].astype(np.float64)
        spans = (window + windows.start, starts[window, i], ends[window, j])
        columns: Sequence[np.ndarray] = (*spans, start_logits[window, i], end_logits[window, j])
        if self._version_2:
            # Append it after all spans: in a tie, a span comes before the null answer.
            columns = [np.append(c, n) for c, n in zip(columns, (-1, 0, 0, *self._null(windows)), strict=True)]
        # Sort stably: in a tie, the first window and then the better start win.
        order = np.argsort(-(columns[3] + columns[4]), kind="stable")
        return list(zip(*(column[order].tolist() for column in columns), strict=True))

    def _null(self, windows: slice) -> tuple[float, float]:
        """Return the null answer's start and end logit, from the window with their least sum.

        Both are 0 if there is no window.
        """
        logits = self._null_logits[windows].astype(np.float64)
        return tuple(logits[logits.sum(axis=1).argmin()].tolist()) if len(logits) else (0.0, 0.0)

    def finish(self, examples: Sequence[SquadExample], tokenizer: FullTokenizer) -> list[SquadPrediction]:
        """Return the answers in example order.

        Args:
            examples: the examples that the features were made from.

        Raises:
            ValueError: a window has no logits, or the number of examples differs.
        """
        if len(examples) != self._features.num_examples:
            raise ValueError("other examples than the decoder was made for")
        if not self._added.all():
            raise ValueError(f"window {int(self._added.argmin())} has no logits")
        bounds = np.searchsorted(self._features.example_index, np.arange(len(examples) + 1)).tolist()
        predictions = []
        for index, example in enumerate(examples):
            windows = slice(bounds[index], bounds[index + 1])
            texts = _texts(self._features, example, tokenizer, self._candidates(windows))
            null_logits = self._null(windows) if self._version_2 else None
            predictions.append(_predict(example.qas_id, texts, null_logits, self._search))
        return predictions


def _texts(
    features: SquadFeatures, example: SquadExample, tokenizer: FullTokenizer, candidates: Sequence[_Candidate]
) -> Iterator[NBestEntry]:
    """Yield the candidates with their texts, best first, without probabilities."""
    # Use a generator: only n_best_size of some hundred candidates are needed, and each text uses
    # the tokenizer.
    for window, start, end, start_logit, end_logit in candidates:
        if window < 0:
            yield NBestEntry("", 0.0, start_logit, end_logit, None)
            continue
        first = int(features.sequences.offsets[window])
        ids = features.sequences.token_ids[first + start : first + end + 1].tolist()
        words = features.word_of(window, start), features.word_of(window, end)
        orig_text = " ".join(example.paragraph.doc_tokens[words[0] : words[1] + 1])
        pred_text = join_pieces(tokenizer.convert_ids_to_tokens(ids))
        span = final_span(pred_text, orig_text, tokenizer)
        text = orig_text[span[0] : span[1]]
        yield NBestEntry(text, 0.0, start_logit, end_logit, context_span(example.paragraph, *words, span))


def _predict(
    qas_id: str, texts: Iterator[NBestEntry], null_logits: tuple[float, float] | None, search: AnswerSearch
) -> SquadPrediction:
    """Choose the n-best list and the answer; `null_logits` are used for version_2_with_negative."""
    by_text: dict[str, NBestEntry] = {}
    for entry in texts:
        if len(by_text) >= search.n_best_size:
            break
        by_text.setdefault(entry.text, entry)
    if null_logits is not None:
        by_text.setdefault("", NBestEntry("", 0.0, *null_logits, None))
    nbest = _with_probabilities([*by_text.values()] or [NBestEntry(NO_ANSWER_TEXT, 0.0, 0.0, 0.0, None)])
    # None means that there is no candidate: a window's best span comes before its null answer.
    best = next((entry for entry in nbest if entry.span is not None), None)
    if null_logits is None:
        return SquadPrediction(qas_id, nbest[0].text, nbest[0].span, tuple(nbest), None, best is not None)
    if best is None:
        return SquadPrediction(qas_id, "", None, tuple(nbest), NO_ANSWER_ODDS, False)
    null_odds = null_logits[0] + null_logits[1] - best.start_logit - best.end_logit
    text, span = ("", None) if null_odds > search.null_score_diff_threshold else (best.text, best.span)
    return SquadPrediction(qas_id, text, span, tuple(nbest), null_odds, True)


def _with_probabilities(nbest: list[NBestEntry]) -> list[NBestEntry]:
    """Return the entries with a softmax over their scores, summed in the original's order."""
    scores = [entry.start_logit + entry.end_logit for entry in nbest]
    weights = [math.exp(score - max(scores)) for score in scores]
    total = 0.0
    for weight in weights:  # since Python 3.12, sum() compensates rounding errors, unlike the original
        total += weight
    return [entry._replace(probability=weight / total) for entry, weight in zip(nbest, weights, strict=True)]
