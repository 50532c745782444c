"""Metrics of outputs with one correct label, checked by hand."""

import math

import numpy as np
import pytest

from bert_cli.problem_types.exclusive_metrics import ExclusiveMetrics, SingleLabelMetrics
from bert_cli.problem_types.parts import LabelSet

METRICS = ExclusiveMetrics()
PROBABILITIES = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]], np.float32)
PREDICTIONS = {"probabilities": PROBABILITIES, "losses": np.zeros(3, np.float32)}
LABELS = LabelSet(("no", "yes"))


def test_equal_predictions_are_a_collapse():
    assert METRICS.collapse(PREDICTIONS, LABELS) == ""
    assert METRICS.collapse({"probabilities": PROBABILITIES[:2]}, LABELS) == "every row gets the label no"
    assert METRICS.collapse({"probabilities": PROBABILITIES[2:]}, LabelSet()) == "every row gets the label 1"


def test_baselines():
    assert METRICS.constant_prediction(np.array([1, 2, 1]), 2, 3).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert METRICS.guess_loss(np.array([0]), 4) == math.log(4)


def test_mistakes():
    assert METRICS.is_wrong(np.array([0, 1, 0]), PREDICTIONS, LABELS).tolist() == [False, True, True]
    row = {"probabilities": [0.25, 0.75], "label": 0}
    assert METRICS.row_error(row, ()) == 0.75
    assert METRICS.row_error(row | {"label": 1}, ()) == 0


def test_calibration_error_by_hand():
    # Both rows are predicted with 0.75, and one of them is right.
    pair = {"probabilities": np.array([[0.75, 0.25], [0.75, 0.25]])}
    assert METRICS.calibration_error(np.array([0, 1]), pair) == pytest.approx(0.25)


@pytest.mark.parametrize(("positive", "f1"), [("", 0), ("yes", 0), ("no", 1 / 2)])
def test_the_f1_is_of_the_positive_label(positive, f1):
    """Two rows are predicted as no, and one of them is right. The other prediction is wrong."""
    scores = SingleLabelMetrics().evaluate(np.array([0, 1, 0]), PREDICTIONS, LABELS._replace(positive=positive), 8)
    assert scores.metrics["eval_f1"] == pytest.approx(f1)


def test_the_log_has_the_reason_for_a_missing_score():
    scores = SingleLabelMetrics().evaluate(np.array([0, 0, 0]), PREDICTIONS, LABELS, 8)
    assert scores.lines[-2:] == [
        "left out, as all rows of the evaluated data have the label no: eval_mcc, eval_roc_auc, eval_average_precision, "
        "eval_kappa",
        "left out, as no row of the evaluated data has the label yes: eval_f1",
    ]
