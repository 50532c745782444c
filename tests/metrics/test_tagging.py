"""Entity scores: cases counted by hand, and a second implementation of conlleval's rules."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.examples.tag_schemes import from_bio, to_bio
from bert_cli.metrics.tagging import (
    EntityCounts,
    bootstrap_scores,
    eval_results,
    format_scores,
    known_results,
    undefined_results,
)
from bert_cli.outputs.tagging import score_tags


def score(gold, predicted):
    """Return the scores of sentences that are separated by `|`."""
    return score_tags(*([sentence.split() for sentence in tags.split("|")] for tags in (gold, predicted)))


@pytest.mark.parametrize(
    ("gold", "predicted", "counts"),  # counts of gold, predicted and correct entities
    [
        ("B-a I-a O", "B-a I-a O", (1, 1, 1)),
        ("B-a I-a O", "B-a O O", (1, 1, 0)),  # a partial match does not count
        ("B-a I-a O", "B-a I-a I-a", (1, 1, 0)),
        ("B-a O", "B-b O", (1, 1, 0)),
        ("B-a I-a O", "I-a I-a O", (1, 1, 1)),  # I- without B- begins a chunk
        ("O B-a I-a", "O I-a I-a", (1, 1, 1)),
        ("B-a I-a", "B-a I-b", (1, 2, 0)),  # a type change begins a chunk
        ("B-a B-b", "B-a I-b", (2, 2, 2)),
        ("B-a B-a", "B-a I-a", (2, 1, 0)),
        ("I-a B-a I-a O", "I-a B-a I-a O", (2, 2, 2)),  # IOB1
        ("I-a I-b O I-a", "I-a I-b O O", (3, 2, 2)),
        ("B-a | I-a", "B-a | B-a", (2, 2, 2)),  # a sentence's end ends a chunk
        ("O O", "O O", (0, 0, 0)),
        ("O O", "B-a O", (0, 1, 0)),
        ("B I O B", "B I O O", (2, 1, 1)),  # without types
        ("B-a-b I-a-b", "B-a-b I-a-b", (1, 1, 1)),
        ("B-a-b I-a-b", "B-a-b I-a-c", (1, 2, 0)),
    ],
)
def test_entity_counts_by_hand(gold, predicted, counts):
    assert score(gold, predicted).overall == EntityCounts(*counts)


GOLD = "B-PER I-PER O B-LOC | B-ORG O B-LOC I-LOC O | O"
PREDICTED = "B-PER I-PER O B-ORG | B-ORG O I-LOC I-LOC O | B-PER"


def test_scores_by_hand():
    scores = score(GOLD, PREDICTED)
    assert (scores.words, scores.correct_words) == (10, 7)
    assert scores.accuracy == pytest.approx(70)
    assert scores.overall == EntityCounts(gold=4, predicted=5, correct=3)
    assert scores.overall.precision == pytest.approx(60)
    assert scores.overall.recall == pytest.approx(75)
    assert scores.overall.f1 == pytest.approx(2 * 60 * 75 / (60 + 75))
    assert list(scores.types.items()) == [
        ("LOC", EntityCounts(2, 1, 1)),
        ("ORG", EntityCounts(1, 2, 1)),
        ("PER", EntityCounts(1, 2, 1)),
    ]


def test_format_scores():
    assert format_scores(score(GOLD, PREDICTED)) == [
        "processed 10 tokens with 4 phrases; found: 5 phrases; correct: 3.",
        "accuracy:  70.00%; precision:  60.00%; recall:  75.00%; FB1:  66.67",
        "              LOC: precision: 100.00%; recall:  50.00%; FB1:  66.67  1 of 2",
        "              ORG: precision:  50.00%; recall: 100.00%; FB1:  66.67  2 of 1",
        "              PER: precision:  50.00%; recall: 100.00%; FB1:  66.67  2 of 1",
    ]


def test_eval_results():
    assert eval_results(score("B-a O", "B-a B-b")) == {
        "eval_accuracy": 50.0,
        "eval_words": 2,
        "eval_precision": 50.0,
        "eval_recall": 100.0,
        "eval_f1": 66.666667,
        "eval_entities": 1,
        "eval_predicted_entities": 2,
        "eval_correct_entities": 1,
        "eval_precision_a": 100.0,
        "eval_recall_a": 100.0,
        "eval_f1_a": 100.0,
        "eval_entities_a": 1,
        "eval_precision_b": 0.0,
        "eval_recall_b": 0.0,
        "eval_f1_b": 0.0,
        "eval_entities_b": 0,
    }
    assert len(format_scores(score("B I", "B I"))) == 2  # no line for entities without a type
    assert set(eval_results(score("B I", "B I"))) == set(eval_results(score("O", "O")))


def test_scores_without_sentences():
    scores = score_tags([], [])
    assert (scores.accuracy, scores.overall.precision, scores.overall.recall, scores.overall.f1) == (0, 0, 0, 0)


def test_different_lengths_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        score_tags([["O", "O"]], [["O"]])
    with pytest.raises(ValueError, match="shorter"):
        score_tags([["O"], ["O"]], [["O"]])


def chunk_boundaries(before, tag):
    """Return whether a chunk ends, and whether one begins, between two tags (conlleval's table)."""
    (prefix_1, _, type_1), (prefix_2, _, type_2) = before.partition("-"), tag.partition("-")
    ends = prefix_1 + prefix_2 in ("BB", "BO", "IB", "IO") or (prefix_1 != "O" and type_1 != type_2)
    begins = prefix_1 + prefix_2 in ("BB", "IB", "OB", "OI") or (prefix_2 != "O" and type_1 != type_2)
    return ends, begins


def count_like_conlleval(gold, predicted):
    """Count gold, predicted and correct chunks in one pass over all words, as conlleval does."""
    num_gold = num_predicted = num_correct = 0
    both_open = False
    pairs = [
        pair for sentence in zip(gold, predicted, strict=True) for pair in [*zip(*sentence, strict=True), ("O", "O")]
    ]
    for (gold_before, before), (gold_tag, tag) in itertools.pairwise([("O", "O"), *pairs]):
        gold_ends, gold_begins = chunk_boundaries(gold_before, gold_tag)
        ends, begins = chunk_boundaries(before, tag)
        if both_open and gold_ends and ends:
            num_correct += 1
        if gold_ends or ends:
            both_open = False
        if gold_begins and begins and gold_tag.partition("-")[2] == tag.partition("-")[2]:
            both_open = True
        num_gold += gold_begins
        num_predicted += begins
    return num_gold, num_predicted, num_correct


tag_pairs = st.lists(st.tuples(*[st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"])] * 2), max_size=8)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.lists(tag_pairs, max_size=3))
def test_counts_equal_conlleval(sentences):
    gold = [[pair[0] for pair in sentence] for sentence in sentences]
    predicted = [[pair[1] for pair in sentence] for sentence in sentences]
    scores = score_tags(gold, predicted)
    assert scores.overall == EntityCounts(*count_like_conlleval(gold, predicted))
    assert scores.correct_words == sum(a == b for sentence in sentences for a, b in sentence)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(tag_pairs, max_size=3), st.sampled_from(["IOB1", "BIOES"]))
def test_tag_scheme_does_not_change_scores(sentences, scheme):
    gold = [to_bio([pair[0] for pair in sentence], "BIO") for sentence in sentences]
    predicted = [to_bio([pair[1] for pair in sentence], "BIO") for sentence in sentences]
    converted = ([to_bio(from_bio(tags, scheme), scheme) for tags in side] for side in (gold, predicted))
    assert score_tags(*converted).types == score_tags(gold, predicted).types


def test_io_tags():
    sides = ([to_bio(tags.split(), "IO")] for tags in ("x x O y", "x O O y"))
    assert score_tags(*sides).overall == EntityCounts(2, 2, 1)


def test_results_without_entities_in_the_data_are_undefined():
    """Precision, recall and F1 are then 0 for all predictions, so they cannot choose a checkpoint."""
    labels = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
    assert undefined_results(labels, {"PER", "LOC"}) == {}
    assert undefined_results(labels, {"PER"}).keys() == {"eval_f1_LOC", "eval_precision_LOC", "eval_recall_LOC"}
    without_entities = undefined_results(labels, set())
    assert without_entities.keys() == set(known_results(labels)) - {"eval_accuracy"}
    assert without_entities["eval_f1"] == "the evaluated data has no entity"
    assert undefined_results(("O", "B"), {""}) == {}  # entities without type


def test_bootstrap_of_sentences():
    """Without tags of a rare type, a sample does not define its scores."""
    gold = [["B-a", "O"], ["B-a", "O"], ["O", "B-a"], ["B-b", "O"]] * 3
    predicted = [["B-a", "O"], ["O", "O"], ["O", "B-a"], ["B-a", "O"]] * 3
    gold, predicted = [*gold, ["B-c"]], [*predicted, ["B-c"]]
    sentences = [score_tags([tags], [others]) for tags, others in zip(gold, predicted, strict=True)]
    intervals = bootstrap_scores(sentences, 300, 7)
    rng = np.random.default_rng(7)
    values = []
    for _ in range(300):
        rows = rng.integers(0, 13, 13)
        scores = score_tags([gold[row] for row in rows], [predicted[row] for row in rows])
        values.append(scores.overall.f1)
    assert intervals["eval_f1"][:2] == pytest.approx(tuple(np.percentile(values, [2.5, 97.5])), abs=1e-4)
    whole = eval_results(score_tags(gold, predicted))
    assert intervals.keys() == {name for name, value in whole.items() if isinstance(value, float)}
    assert intervals["eval_f1_c"] == (100, 100, 300, intervals["eval_f1_c"].undefined)
    assert 50 < intervals["eval_f1_c"].undefined < 150
