"""Softmax outputs with one correct label, checked by hand."""

import math

import numpy as np
import pytest

from bert_cli.problem_types.exclusive import ExclusiveColumns, ExclusiveDecoder, ExclusiveMetrics, log_softmax
from bert_cli.problem_types.parts import LabelSet

DECODER, METRICS = ExclusiveDecoder(), ExclusiveMetrics()
PROBABILITIES = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]], np.float32)
PREDICTIONS = {"probabilities": PROBABILITIES, "losses": np.zeros(3, np.float32)}
LABELS = LabelSet(("no", "yes"))


def test_large_logits_do_not_overflow():
    logs = log_softmax(np.array([[1000.0, 1000.0], [0.0, math.log(3)]]))
    np.testing.assert_allclose(logs, [[-math.log(2)] * 2, [-math.log(4), math.log(3 / 4)]])


def test_losses_of_impossible_labels_are_finite():
    outputs = DECODER.postprocess(np.array([[200.0, 0.0]], np.float32), np.array([1]))
    assert outputs["probabilities"].tolist() == [[1.0, 0.0]]
    assert outputs["losses"].tolist() == [200.0]


def test_decisions_and_their_uncertainty():
    assert DECODER.decisions(PREDICTIONS, LABELS) == [0, 0, 1]
    assert DECODER.uncertainty(PREDICTIONS, LABELS).tolist() == [0.25, 0.5, 0.125]


def test_calibration_keeps_decisions():
    after = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], np.float32)
    kept = DECODER.keep_decisions(PROBABILITIES, after)
    assert kept.argmax(axis=1).tolist() == [0, 0, 1]
    np.testing.assert_allclose(kept, 0.5, atol=1e-7)


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
    assert (METRICS.row_error(row, ()), METRICS.row_surprise(row)) == (0.75, 0.75)
    assert METRICS.row_error(row | {"label": 1}, ()) == 0


def test_calibration_error_by_hand():
    # Both rows are predicted with 0.75, and one of them is right.
    pair = {"probabilities": np.array([[0.75, 0.25], [0.75, 0.25]])}
    assert METRICS.calibration_error(np.array([0, 1]), pair) == pytest.approx(0.25)


def test_columns():
    columns = ExclusiveColumns(DECODER).decision_columns(PREDICTIONS, LABELS)
    assert columns["label"].json_values() == ["0", "0", "1"]
    assert list(ExclusiveColumns(DECODER).eval_columns(np.array([0, 1, 0]), PREDICTIONS)) == ["label", "probabilities"]
