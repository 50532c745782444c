"""Softmax outputs with one correct label, checked by hand."""

import math

import numpy as np

from bert_cli.problem_types.exclusive import ExclusiveCalibrator, ExclusiveColumns, ExclusiveDecoder, log_softmax
from bert_cli.problem_types.exclusive_metrics import ExclusiveMetrics
from bert_cli.problem_types.parts import LabelSet

DECODER = ExclusiveDecoder()
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
    kept = ExclusiveCalibrator(DECODER, ExclusiveMetrics()).keep_decisions(PROBABILITIES, after)
    assert kept.argmax(axis=1).tolist() == [0, 0, 1]
    np.testing.assert_allclose(kept, 0.5, atol=1e-7)


def test_columns():
    columns = ExclusiveColumns(DECODER).decision_columns(PREDICTIONS, LABELS)
    assert columns["label"].records() == ["0", "0", "1"]
    assert list(ExclusiveColumns(DECODER).eval_columns(np.array([0, 1, 0]), PREDICTIONS)) == ["label", "probabilities"]
