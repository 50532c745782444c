"""Tags from log-probabilities of word pieces, and entities."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.tagging import TaggingExample
from bert_cli.examples.text_lines import make_text_example
from bert_cli.features.tagging import tagging_features
from bert_cli.outputs.answers.tagging import (
    TagPrediction,
    example_entities,
    forbidden_transitions,
    mean_tags,
    predict_tags,
    viterbi,
    word_log_probabilities,
)
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import raises

TOKENIZER = FullTokenizer({"[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4, "##b": 5})
LABELS = ("O", "B-x", "I-x", "B-y", "I-y")
NO_LOG_PROBABILITIES = np.zeros((0, 5), np.float32)  # for tests that do not read them


def features_of(*sentences, max_seq_length=16, doc_stride=4):
    examples = [TaggingExample(tuple(sentence.split()), None, 1) for sentence in sentences]
    return tagging_features(examples, LABELS, TOKENIZER, max_seq_length, doc_stride)


def log_rows(*rows):
    """Return float32 log-probabilities from {label: probability}; other labels share the rest."""
    table = []
    for row in rows:
        rest = (1 - sum(row.values())) / (len(LABELS) - len(row))
        table.append([row.get(label, rest) for label in LABELS])
    return np.log(np.array(table, np.float32))


NOTHING = {"B-y": 0.99}  # for [CLS], [SEP] and continuation pieces, which must be ignored


def test_argmax_by_hand():
    features = features_of("ab \u200b a", "a")
    first = log_rows(NOTHING, {"B-x": 0.75}, NOTHING, {"I-y": 0.5}, NOTHING)
    second = log_rows(NOTHING, {"O": 0.875}, NOTHING)
    prediction, second_prediction = predict_tags(features, [(1, second), (0, first)], LABELS)
    assert prediction.tags == ("B-x", "O", "I-y")
    assert np.allclose(prediction.probabilities, [0.75, np.nan, 0.5], equal_nan=True)
    assert prediction.probabilities.dtype == np.float32
    assert np.allclose(prediction.log_probabilities, [first[1], np.zeros(5), first[3]])
    assert second_prediction.tags == ("O",)
    assert np.allclose(second_prediction.probabilities, [0.875])


def test_viterbi_by_hand():
    # Alone I-x would win the first word and I-y the second. B-x I-x has 0.3 * 0.4, B-x I-y is forbidden,
    # B-y I-y has 0.1 * 0.5.
    features = features_of("a a")
    rows = log_rows(NOTHING, {"I-x": 0.5, "B-x": 0.3, "B-y": 0.1}, {"I-y": 0.5, "I-x": 0.4}, NOTHING)
    (argmax,) = predict_tags(features, [(0, rows)], LABELS)
    (best,) = predict_tags(features, [(0, rows)], LABELS, "viterbi")
    assert argmax.tags == ("I-x", "I-y")
    assert best.tags == ("B-x", "I-x")
    assert np.allclose(best.probabilities, [0.3, 0.4])


def test_mean_by_hand():
    features = features_of("a a")
    members = [
        predict_tags(features, [(0, log_rows(NOTHING, first, second, NOTHING))], LABELS)
        for first, second in (({"B-x": 0.58, "O": 0.4}, {"I-y": 0.9}), ({"B-x": 0.001, "O": 0.5}, {"I-x": 0.8}))
    ]
    (argmax,) = mean_tags(members, LABELS)
    (best,) = mean_tags(members, LABELS, "viterbi")
    assert argmax.tags == ("O", "I-y")
    np.testing.assert_allclose(argmax.probabilities, [0.45, (0.9 + 0.05) / 2], rtol=1e-5)
    assert best.tags == ("B-x", "I-x")
    np.testing.assert_allclose(best.probabilities, [0.2905, (0.8 + 0.025) / 2], rtol=1e-5)
    assert mean_tags(members[:1], LABELS)[0].tags == members[0][0].tags


def test_viterbi_crosses_windows_of_a_sentence():
    features = features_of("a a a", max_seq_length=3, doc_stride=1)
    assert len(features) == 3
    said = [{"B-x": 0.9}, {"I-x": 0.9}, {"I-y": 0.6, "I-x": 0.3}]
    windows = [(number, log_rows(NOTHING, row, NOTHING)) for number, row in enumerate(said)]
    assert predict_tags(features, windows, LABELS)[0].tags == ("B-x", "I-x", "I-y")
    assert predict_tags(features, windows, LABELS, "viterbi")[0].tags == ("B-x", "I-x", "I-x")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["B-x", None, "I-x"], "B-x I-x I-x"),
        (["B-x", None, None, "I-x"], "B-x I-x I-x I-x"),
        (["B-x", None, "B-x"], "B-x O B-x"),
        (["B-x", None, "I-y"], "B-x O I-y"),
        (["B-x", None], "B-x O"),
        ([None, "I-x"], "O I-x"),
        ([None, "O", None], "O O O"),
        ([None], "O"),
    ],
)
def test_words_without_pieces(tags, expected):
    features = features_of(" ".join("\u200b" if tag is None else "a" for tag in tags))
    rows = log_rows(NOTHING, *({tag: 0.9} for tag in tags if tag), NOTHING)
    windows = [(0, rows)] if len(features) else []
    (prediction,) = predict_tags(features, windows, LABELS)
    assert " ".join(prediction.tags) == expected
    assert np.isnan(prediction.probabilities).tolist() == [tag is None for tag in tags]


def test_examples_without_words():
    features = features_of("", "a")
    predictions = predict_tags(features, [(0, log_rows(NOTHING, {"O": 0.9}, NOTHING))], LABELS, "viterbi")
    assert [prediction.tags for prediction in predictions] == [(), ("O",)]


def test_rows_after_the_end_are_ignored():
    features = features_of("a")
    rows = log_rows(NOTHING, {"O": 0.9}, NOTHING, NOTHING, NOTHING)
    assert predict_tags(features, [(0, rows)], LABELS)[0].tags == ("O",)


def test_missing_and_repeated_windows_are_refused():
    features = features_of("a", "a")
    rows = log_rows(NOTHING, {"O": 0.9}, NOTHING)
    with pytest.raises(ValueError, match="window 1 is missing"):
        word_log_probabilities(features, [(0, rows)], 5)
    with pytest.raises(ValueError, match="window 0 comes twice"):
        word_log_probabilities(features, [(0, rows), (0, rows)], 5)


def test_nan_and_unknown_decoding_are_refused():
    features = features_of("a")
    with raises(InputError):
        predict_tags(features, [(0, np.full((3, 5), np.nan, np.float32))], LABELS)
    with raises(InputError, "--decoding: "):
        predict_tags(features, [], LABELS, "best")


def test_transitions():
    start, between = forbidden_transitions(LABELS)
    assert (start == 0).tolist() == [True, True, False, True, False]
    allowed = {(a, b) for i, a in enumerate(LABELS) for j, b in enumerate(LABELS) if between[i, j] == 0}
    everywhere = {(a, b) for a in LABELS for b in ("O", "B-x", "B-y")}
    assert allowed == everywhere | {("B-x", "I-x"), ("I-x", "I-x"), ("B-y", "I-y"), ("I-y", "I-y")}
    assert ((between == 0) | (between == -np.inf)).all()


def is_allowed(path, start, between):
    return start[path[0]] == 0 and all(between[a, b] == 0 for a, b in itertools.pairwise(path))


scores = st.lists(st.lists(st.integers(-8, 0), min_size=5, max_size=5), min_size=1, max_size=4)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(scores)
def test_viterbi_finds_the_best_sequence(rows):
    table = np.array(rows, np.float32)
    start, between = forbidden_transitions(LABELS)
    path = viterbi(table, start, between).tolist()
    assert is_allowed(path, start, between)
    totals = {
        candidate: sum(rows[word][label] for word, label in enumerate(candidate))
        for candidate in itertools.product(range(5), repeat=len(rows))
        if is_allowed(candidate, start, between)
    }
    assert totals[tuple(path)] == max(totals.values())


def test_viterbi_never_uses_a_forbidden_transition():
    start, between = forbidden_transitions(LABELS)
    table = np.full((3, 5), -np.inf, np.float32)
    table[:, 2] = 0  # certain of I-x I-x I-x
    assert viterbi(table, start, between)[1:].tolist() == [2, 2]
    assert viterbi(np.zeros((0, 5), np.float32), start, between).tolist() == []


def test_entities_of_a_text(tmp_path):
    example = make_text_example("  Anna  Lund, São\u200bx!")
    assert example.words == ("Anna", "Lund", ",", "São\u200bx", "!")
    prediction = TagPrediction(
        ("B-PER", "I-PER", "O", "I-LOC", "O"), np.array([0.5, 1, 1, 0.25, 1], np.float32), NO_LOG_PROBABILITIES
    )
    expected = {
        "text": "  Anna  Lund, São\u200bx!",
        "entities": [
            {"type": "PER", "text": "Anna  Lund", "start": 2, "end": 12, "score": 0.75},
            {"type": "LOC", "text": "São\u200bx", "start": 14, "end": 19, "score": 0.25},
        ],
    }
    assert example_entities(example, prediction) == expected


def test_entities_have_offsets_in_their_sentence():
    example = TaggingExample(("In", "New", "\u200b", "York"), None, 1)
    prediction = TagPrediction(
        ("O", "B-LOC", "I-LOC", "I-LOC"), np.array([1, 0.5, np.nan, 0.25], np.float32), NO_LOG_PROBABILITIES
    )
    assert example_entities(example, prediction) == {
        "text": "In New \u200b York",
        "entities": [{"type": "LOC", "text": "New \u200b York", "start": 3, "end": 13, "score": 0.375}],
    }
    nothing = TagPrediction((), np.zeros(0), NO_LOG_PROBABILITIES)
    assert example_entities(TaggingExample((), None, 1), nothing) == {"text": "", "entities": []}
