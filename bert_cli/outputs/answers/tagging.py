"""Tags of words from log-probabilities of word pieces, and the entities that they form."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.names import OUTSIDE
from bert_cli.examples.tag_schemes import EntityRecord, find_entities, join_tag, split_tag
from bert_cli.examples.tagging import TaggingExample
from bert_cli.features.tagging import NOTHING, TaggingFeatures
from bert_cli.settings.groups import DECODINGS


class TagPrediction(NamedTuple):
    """A sentence's predicted BIO tags.

    Attributes:
        tags: a tag per word.
        probabilities: tag probabilities, float32 [words], NaN for words without pieces.
        log_probabilities: float32 [words, L], 0 for words without pieces.
    """

    tags: tuple[str, ...]
    probabilities: np.ndarray
    log_probabilities: np.ndarray


def word_log_probabilities(
    features: TaggingFeatures, windows: Iterable[tuple[int, np.ndarray]], num_labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Collect each word's log-probabilities from the windows.

    Args:
        features: n windows of sentences.
        windows: (window number, log-probabilities float32 [tokens, num_labels]) in any order. Rows
            include [CLS] and [SEP]; rows after the window's end are ignored.
        num_labels: number of labels.

    Returns:
        float32 [words in all examples, num_labels], 0 for words without pieces; and bool [words],
            False for these words.

    Raises:
        ValueError: a window is missing or comes twice.
        InputError: a log-probability is NaN.
    """
    # Index of each example's first word, because all words in a file are rows of one array.
    first_words = np.concatenate([[0], np.cumsum(features.num_words, dtype=np.int64)])
    result = np.zeros((int(first_words[-1]), num_labels), np.float32)
    is_predicted = np.zeros(len(result), bool)
    offsets = features.sequences.offsets
    is_missing = np.ones(len(features), bool)
    for window, log_probabilities in windows:
        if not is_missing[window]:
            raise ValueError(f"window {window} comes twice")
        is_missing[window] = False
        word_ids = features.word_ids[offsets[window] : offsets[window + 1]]
        tokens = np.flatnonzero(word_ids != NOTHING)
        words = first_words[features.example_ids[window]] + word_ids[tokens]
        result[words] = log_probabilities[tokens]
        is_predicted[words] = True
    if is_missing.any():
        raise ValueError(f"window {is_missing.argmax()} is missing")
    if np.isnan(result).any():
        raise InputError("the model gives NaN instead of probabilities; its training diverged, use another checkpoint")
    return result, is_predicted


def forbidden_transitions(labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the costs of BIO labels: 0 if allowed, -inf if not.

    I-x only follows B-x and I-x. The costs are float64 [L] for a sentence's first label, and
    float64 [L, L] from one label to the next.
    """
    prefixes, types = np.array([split_tag(label) for label in labels]).T
    is_inside = prefixes == "I"
    continues = (prefixes != OUTSIDE)[:, None] & (types[:, None] == types)
    return np.where(is_inside, -np.inf, 0.0), np.where(is_inside & ~continues, -np.inf, 0.0)


def viterbi(log_probabilities: np.ndarray, start: np.ndarray, between: np.ndarray) -> np.ndarray:
    """Return the allowed label sequence with the largest sum of log-probabilities, int64 [words].

    In a tie, the first label wins, from the last word backwards. Probability 0 is replaced by a
    tiny one, so that an allowed sequence always beats a forbidden one.

    Args:
        log_probabilities: float [words, L].
        start: costs [L] from forbidden_transitions.
        between: costs [L, L] from forbidden_transitions.
    """
    # Avoid -inf, which forbidden transitions cost: two sums of -inf could not be compared.
    emissions = np.maximum(np.asarray(log_probabilities, np.float64), -1e30)
    if not len(emissions):
        return np.zeros(0, np.int64)
    # Add logarithms instead of multiplying: a long sentence would underflow.
    best = start + emissions[0]
    came_from = np.zeros(emissions.shape, np.int64)
    columns = np.arange(emissions.shape[1])
    for word in range(1, len(emissions)):
        candidates = best[:, None] + between
        came_from[word] = candidates.argmax(axis=0)
        best = candidates[came_from[word], columns] + emissions[word]
    path = np.zeros(len(emissions), np.int64)
    path[-1] = best.argmax()
    for word in range(len(emissions) - 1, 0, -1):
        path[word - 1] = came_from[word, path[word]]
    return path


def predict_tags(
    features: TaggingFeatures,
    windows: Iterable[tuple[int, np.ndarray]],
    labels: Sequence[str],
    decoding: str = "argmax",
) -> list[TagPrediction]:
    """Return the tags of every example.

    argmax chooses each word's most probable label. viterbi chooses a sentence's most probable
    sequence with the rule that I-x only follows B-x or I-x. A word without pieces gets I-x between
    a tag of type x and an I-x, so that the entity stays whole, and O otherwise.

    Args:
        features: n windows of sentences.
        windows: see word_log_probabilities.
        labels: BIO labels, in column order.
        decoding: argmax or viterbi.
    """
    if decoding not in DECODINGS:
        raise InputError(f"--decoding: {decoding!r} is not a decoding; choose one of {', '.join(DECODINGS)}")
    log_probabilities, is_predicted = word_log_probabilities(features, windows, len(labels))
    decode = _make_decoder(labels, decoding)
    predictions = []
    first = 0
    for count in features.num_words.tolist():
        words_range = slice(first, first + count)
        first += count
        predictions.append(decode(log_probabilities[words_range], is_predicted[words_range]))
    return predictions


def mean_tags(
    members: Sequence[Sequence[TagPrediction]], labels: Sequence[str], decoding: str = "argmax"
) -> list[TagPrediction]:
    """Return the tags by the mean probabilities of several models, computed in float64.

    Args:
        members: predictions of each model for the same sentences.
        labels: BIO labels, in column order; all models have the same.
        decoding: see predict_tags.
    """
    decode = _make_decoder(labels, decoding)
    means = []
    for predictions in zip(*members, strict=True):
        probabilities = np.exp([np.asarray(prediction.log_probabilities, np.float64) for prediction in predictions])
        logs = np.log(np.maximum(probabilities.mean(axis=0), np.finfo(np.float32).tiny)).astype(np.float32)
        means.append(decode(logs, ~np.isnan(predictions[0].probabilities)))
    return means


def _make_decoder(labels: Sequence[str], decoding: str) -> Callable[[np.ndarray, np.ndarray], TagPrediction]:
    """Return a function from a sentence's log-probabilities, and its words with pieces, to tags."""
    start, between = forbidden_transitions(labels)
    names = np.array(labels, dtype=object)

    def decode(log_probabilities: np.ndarray, is_predicted: np.ndarray) -> TagPrediction:
        seen = np.flatnonzero(is_predicted)
        rows = log_probabilities[seen]
        label_ids = viterbi(rows, start, between) if decoding == "viterbi" else rows.argmax(axis=1)
        probabilities = np.full(len(is_predicted), np.nan, np.float32)
        probabilities[seen] = np.exp(rows[np.arange(len(seen)), label_ids])
        tags = np.full(len(is_predicted), None, object)
        tags[seen] = names[label_ids]
        return TagPrediction(_without_gaps(tags.tolist()), probabilities, log_probabilities)

    return decode


def _without_gaps(tags: Sequence[str | None]) -> tuple[str, ...]:
    """Fill in missing tags by the rule in predict_tags."""
    filled: list[str] = []
    following = OUTSIDE
    for tag in reversed(tags):
        following = following if tag is None else tag
        filled.append(following)  # a missing tag is the next tag for now
    filled.reverse()
    # Go forward, so that a word uses the previous word's new tag.
    for word, tag in enumerate(tags):
        if tag is None:
            prefix, entity_type = split_tag(filled[word])
            before = filled[word - 1] if word else OUTSIDE
            continues = prefix == "I" and before != OUTSIDE and split_tag(before)[1] == entity_type
            filled[word] = join_tag("I", entity_type) if continues else OUTSIDE
    return tuple(filled)


class TextEntities(TypedDict):
    """A text and its predicted entities, for JSON."""

    text: str
    entities: list[EntityRecord]


def example_entities(example: TaggingExample, prediction: TagPrediction) -> TextEntities:
    """Return a sentence's text and its predicted entities.

    If the sentence has no text, its words are joined with spaces.
    """
    text, starts = example.text, example.starts
    if text is None:
        text = " ".join(example.words)
        starts = tuple(np.cumsum([0, *(len(word) + 1 for word in example.words)]).tolist())
    records: list[EntityRecord] = []
    probabilities = prediction.probabilities.tolist()
    for entity in find_entities(prediction.tags):
        start = starts[entity.start]
        last = entity.end - 1
        end = starts[last] + len(example.words[last])
        # Words without pieces have no probability.
        scores = [value for value in probabilities[entity.start : entity.end] if not math.isnan(value)]
        score = sum(scores) / len(scores)
        records.append(
            {"type": entity.type, "text": text[start:end], "start": start, "end": end, "score": round(score, 6)}
        )
    return {"text": text, "entities": records}
