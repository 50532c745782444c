"""Exact match and F1: cases computed by hand, and known scores of a strong model."""

import json

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.squad.reading import read_gold_answers
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.metrics.squad import (
    bootstrap_scores,
    exact_match,
    f1,
    normalize_answer,
    read_null_odds,
    read_predictions,
    scores_v1,
    scores_v2,
)
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Cat's hat!", "cats hat"),
        ("a an the", ""),
        ("an A-team", "ateam"),  # the hyphen is deleted first, so that "a" is not an article
        ("Theatre of\u00a0the mind", "theatre of mind"),
        ("“Old”", "“old”"),  # only ASCII punctuation is deleted
        (" ", ""),
    ],
)
def test_normalize_answer(text, expected):
    assert normalize_answer(text) == expected


@pytest.mark.parametrize(
    ("predicted", "gold", "exact", "expected"),
    [
        ("the cat", "Cat.", 1, 1),
        ("black cat", "the cat", 0, 2 / 3),
        ("cat cat", "cat", 0, 2 / 3),
        ("dog", "cat", 0, 0),
        ("", "cat", 0, 0),
        ("the", "a", 1, 0),
        ("one two three four", "two four six", 0, 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3)),
    ],
)
def test_exact_match_and_f1_of_an_answer(predicted, gold, exact, expected):
    assert exact_match(predicted, gold) == exact
    assert f1(predicted, gold) == pytest.approx(expected)
    assert f1(gold, predicted) == pytest.approx(expected)


def test_scores_v1_by_hand():
    gold = {"q1": ("cat", "black cat"), "q2": ("dog",), "q3": ("one", "two"), "q4": ("x",)}
    predictions = {"q1": "the black cat", "q2": "dogs", "q3": "two three", "other": "no matter"}
    # q1 equals the second answer, q2 is wrong, q3 shares one word with "two", q4 is missing.
    assert scores_v1(gold, predictions) == {
        "exact_match": 25.0,
        "f1": pytest.approx(100 * (1 + 0 + 2 / 3 + 0) / 4),
        "total": 4,
        "missing": 1,
    }
    with raises(InputError, "'q1'"):
        scores_v1({"q1": ()}, predictions)


GOLD = {"h1": ("cat",), "h2": ("black dog", "dog"), "n1": (), "n2": ()}
PREDICTIONS = {"h1": "cat", "h2": "red dog", "n1": "", "n2": "mouse"}


def test_scores_v2_by_hand():
    # h1 and n1 are right, n2 is wrong. One of h2's two words is in each gold answer; the best F1 is with "dog".
    f1_of_h2 = 2 * (1 / 2) * 1 / (1 / 2 + 1)
    expected = {
        "exact": 50.0,
        "f1": pytest.approx(25 * (2 + f1_of_h2)),
        "total": 4,
        "HasAns_exact": 50.0,
        "HasAns_f1": pytest.approx(50 * (1 + f1_of_h2)),
        "HasAns_total": 2,
        "NoAns_exact": 50.0,
        "NoAns_f1": 50.0,
        "NoAns_total": 2,
        "missing": 0,
    }
    scores = scores_v2(GOLD, PREDICTIONS)
    assert scores == expected
    assert list(scores) == list(expected)


NULL_ODDS = {"h1": -3.0, "n1": -2.0, "n2": 1.5, "h2": -1.0}


def test_best_thresholds_by_hand():
    scores = scores_v2(GOLD, PREDICTIONS, NULL_ODDS)
    # Without answers, n1 and n2 are right. Threshold -3 adds h1, -2 adds nothing (n1 has no answer), and
    # -1 adds h2, which increases F1 only.
    assert scores["best_exact"] == 75.0
    assert scores["best_exact_thresh"] == -3.0
    assert scores["best_f1"] == pytest.approx(25 * (3 + 2 / 3))
    assert scores["best_f1_thresh"] == -1.0
    assert scores["exact"] == 50.0
    assert list(scores)[-5:] == ["best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh", "missing"]


def at_threshold(predictions, null_odds, threshold):
    """Return the predictions with "" for questions with null odds above the threshold."""
    return {qas_id: "" if null_odds[qas_id] > threshold else text for qas_id, text in predictions.items()}


def test_scores_at_a_threshold():
    scores = scores_v2(GOLD, at_threshold(PREDICTIONS, NULL_ODDS, 1.0), NULL_ODDS)  # drops n2's answer
    assert (scores["exact"], scores["NoAns_exact"], scores["HasAns_exact"]) == (75.0, 100.0, 50.0)
    assert scores["best_exact"] == 75.0
    scores = scores_v2(GOLD, at_threshold(PREDICTIONS, NULL_ODDS, -10.0), NULL_ODDS)
    assert (scores["exact"], scores["HasAns_f1"]) == (50.0, 0.0)


def test_missing_predictions_score_zero():
    predictions = {"h1": "cat", "n2": ""}
    scores = scores_v2(GOLD, predictions, {"h1": -1.0, "n2": 1.0})
    assert (scores["exact"], scores["f1"], scores["missing"], scores["total"]) == (50.0, 50.0, 2, 4)
    assert (scores["best_exact"], scores["best_exact_thresh"]) == (50.0, -1.0)


def test_answers_that_normalize_to_nothing():
    scores = scores_v2({"q": ("the",)}, {"q": "..."})
    assert (scores["HasAns_exact"], scores["HasAns_f1"]) == (100.0, 100.0)
    assert "NoAns_exact" not in scores
    assert scores_v2({"q": ("the", "cat")}, {"q": ""})["exact"] == 0.0


def test_missing_null_odds_are_refused():
    with raises(InputError, "'n1'"):
        scores_v2(GOLD, PREDICTIONS, {"h1": 0.0, "h2": 0.0})


ODDS = st.lists(st.integers(-3, 3).map(float), min_size=5, max_size=5)
TEXTS = st.lists(st.sampled_from(["", "cat", "dog", "the"]), min_size=5, max_size=5)


@settings(derandomize=True, deadline=None)
@given(TEXTS, TEXTS, ODDS)
def test_best_exact_is_the_maximum_over_thresholds(right, predicted, odds):
    ids = [str(index) for index in range(5)]
    gold = {qas_id: (text,) if text else () for qas_id, text in zip(ids, right, strict=True)}
    predictions, null_odds = dict(zip(ids, predicted, strict=True)), dict(zip(ids, odds, strict=True))
    best = scores_v2(gold, predictions, null_odds)["best_exact"]
    for threshold in (-4.0, *odds):
        kept = [qas_id for qas_id in ids if null_odds[qas_id] <= threshold]
        exact = sum(scores_v2({qas_id: gold[qas_id]}, predictions)["exact"] for qas_id in kept)
        exact += 100 * sum(not gold[qas_id] for qas_id in ids if qas_id not in kept)
        # The official script counts "the" as right for an unanswerable question, but not for the best score.
        if "the" not in predicted:
            assert exact / len(ids) <= best + 1e-9


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_predictions, "[]"),
        (read_predictions, '{"q": 1}'),
        (read_predictions, '{"q":\n1'),
        (read_null_odds, '"a"'),
        (read_null_odds, '{"q": "a"}'),
        (read_null_odds, '{"q": NaN}'),
    ],
)
def test_malformed_files_are_refused(tmp_path, read, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with raises(InputError, path):
        read(str(path))


def test_read_predictions_and_null_odds(tmp_path):
    path = tmp_path / "good.json"
    path.write_text(json.dumps({"q": "Ann"}))
    assert read_predictions(str(path)) == {"q": "Ann"}
    path.write_text(json.dumps({"q": -1, "p": 0.5}))
    assert read_null_odds(str(path)) == {"q": -1, "p": 0.5}


def test_known_scores_of_a_strong_model(shared):
    folder = shared / "data/squad"
    gold = read_gold_answers(QuestionSource(str(folder / "dev-v1.1.json")))
    scores = scores_v1(gold, read_predictions(str(folder / "predictions-of-a-strong-model.json")))
    assert round(scores["exact_match"], 4) == 86.4295
    assert round(scores["f1"], 4) == 92.5958
    assert (scores["total"], scores["missing"]) == (5173, 0)


def test_gold_answers_have_full_scores(shared):
    gold = read_gold_answers(QuestionSource(str(shared / "data/squad/sample-v2.0.json")))
    scores = scores_v2(gold, {qas_id: answers[0] if answers else "" for qas_id, answers in gold.items()})
    assert (scores["exact"], scores["f1"], scores["HasAns_total"], scores["NoAns_total"]) == (100.0, 100.0, 581, 579)


@pytest.mark.parametrize("version_2", [False, True])
def test_bootstrap_is_the_one_of_scipy(version_2):
    gold = {str(number): [] if version_2 and number % 3 == 0 else ["red house"] for number in range(60)}
    predictions = {str(number): ("red house", "red", "")[number // 2 % 3] for number in range(59)}  # one is missing
    intervals = bootstrap_scores(version_2, gold, predictions, 400, 0)
    whole = (scores_v2 if version_2 else scores_v1)(gold, predictions)
    expected_names = {name for name, value in whole.items() if isinstance(value, float)}
    assert intervals.keys() == expected_names
    f1_scores = np.array([_f1_of(answers, predictions.get(name)) for name, answers in gold.items()])
    expected = scipy.stats.bootstrap((f1_scores,), np.mean, method="percentile", rng=np.random.default_rng(1))
    assert intervals["f1"][:2] == pytest.approx(tuple(expected.confidence_interval), abs=2.5)
    assert all(interval.low <= whole[name] <= interval.high for name, interval in intervals.items())


def _f1_of(answers, predicted):
    if predicted is None:
        return 0.0
    return 100.0 * ({"red house": 1, "red": 2 / 3, "": 0}[predicted] if answers else predicted == "")
