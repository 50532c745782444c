"""Numbers of the pages, on rows small enough to check by hand."""

import numpy as np
import pytest

from bert_cli.report.classification import reliability, roc_curve
from bert_cli.report.headline import best_step, main_metric
from bert_cli.report.parts import clock, memory, number
from bert_cli.report.squad import threshold_curve


def test_calibration():
    confidence, is_right = np.array([0.55, 0.59, 0.95, 1.0]), np.array([True, False, True, True])
    means, rights, counts, error = reliability(confidence, is_right)
    assert means == pytest.approx([0.57, 0.975])
    assert rights == [0.5, 1.0]
    assert counts == [2, 2]
    assert error == pytest.approx((0.07 + 0.025) / 2)


def test_roc():
    """Two of the best three have the label; equal probabilities are one step."""
    has, probability = np.array([True, False, True, True, False]), np.array([0.9, 0.8, 0.7, 0.2, 0.2])
    x, y = roc_curve(has, probability)
    assert x.tolist() == pytest.approx([0, 0, 1 / 2, 1 / 2, 1])
    assert y.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 1])


def test_threshold_curve():
    rows = [
        {"null_odds": 2.0, "is_answerable": False, "best_exact": 0.0, "best_f1": 0.0},
        {"null_odds": -3.0, "is_answerable": True, "best_exact": 1.0, "best_f1": 1.0},
        {"null_odds": -1.0, "is_answerable": True, "best_exact": 0.0, "best_f1": 0.5},
        {"null_odds": None, "is_answerable": True, "best_exact": 1.0, "best_f1": 1.0},
    ]
    odds, exact, f1 = threshold_curve(rows)
    assert odds.tolist() == [-3.0, -1.0, 2.0]
    # Up to −3 the first question is answered and the one without an answer is not; at 2 that one is too.
    assert exact.tolist() == pytest.approx([200 / 3, 200 / 3, 100 / 3])
    assert f1.tolist() == pytest.approx([200 / 3, 250 / 3, 50.0])


@pytest.mark.parametrize(
    ("names", "manifest", "metric"),
    [
        (("eval_accuracy", "eval_mcc", "eval_loss"), {"task_name": "cola"}, "eval_mcc"),
        (("eval_accuracy", "eval_mcc", "eval_loss"), {}, "eval_accuracy"),
        (("eval_accuracy", "eval_f1"), {"command": "bert-tag"}, "eval_f1"),
        (("best_f1", "f1", "exact"), {"command": "bert-squad"}, "f1"),
        (("eval_accuracy", "eval_mcc"), {"metric_for_best": "eval_mcc"}, "eval_mcc"),
        ((), {"task_name": "cola"}, ""),
    ],
)
def test_the_number_a_run_is_told_by(names, manifest, metric):
    assert main_metric(dict.fromkeys(names, 0.5), manifest) == metric


def test_the_best_step():
    evaluations = [
        (10, {"eval_mcc": 0.5, "eval_loss": 0.3}),
        (20, {"eval_mcc": 0.7, "eval_loss": 0.3}),
        (30, {"eval_mcc": 0.7}),
    ]
    assert best_step(evaluations, "eval_mcc") == (20, 0.7)
    assert best_step(evaluations, "eval_loss") == (10, 0.3)
    assert best_step(evaluations, "eval_f1") is None


def test_numbers_for_people():
    assert [number(value) for value in (0.5, 12_345, 1234.5, 250.04, 1e-5, 0.0, None, "a")] == [
        "0.5000", "12,345", "1,234", "250.0", "1.00e-05", "0.0000", "", "a",
    ]  # fmt: skip
    assert [clock(seconds) for seconds in (5.25, 75, 7_500)] == ["5.2 s", "1 min 15 s", "2 h 05 min"]
    assert memory(1_500_000_000) == "1.50 GB"
