"""calibration.json, and predictions with temperatures, per problem type."""

import json

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.metrics.multi_label import tune_thresholds
from bert_cli.problem_types.calibration import Abstention, Calibration, find_calibration, write_calibration
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.parts import LabelSet
from tests.snapshots import raises

LABELS = LabelSet(("no", "yes"))
SEVERAL = LabelSet(("x", "y"), np.array([0.5, 0.5]))


def predictions_from(problem_type, logits, label_ids):
    logits = np.array(logits, np.float32)
    return problem_type.decoder.postprocess(logits, label_ids) | {"logits": logits}


def test_files(tmp_path):
    single = Calibration((1.5,), 100, 0.02, Abstention(0.125, 0.5))
    write_calibration(tmp_path, single, ())
    assert json.loads((tmp_path / "calibration.json").read_text("utf-8")) == {
        "temperature": 1.5, "rows": 100,
        "abstain": {"error": 0.02, "confidence": 0.95, "uncertainty": 0.125, "answered": 0.5},
    }  # fmt: skip
    assert find_calibration([tmp_path / "none", tmp_path], ()) == single
    assert find_calibration([tmp_path / "none"], ()) is None
    per_label = Calibration((1.5, 2.0), 100)
    write_calibration(tmp_path, per_label, ("x", "y"))
    assert find_calibration([tmp_path], ("y", "x")) == Calibration((2.0, 1.5), 100)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"temperature": 0}',
        '{"temperature": true}',
        '{"temperature": {"x": 1}}',
        '{"temperature": 1, "abstain": {"error": 2}}',
        '{"temperature": 1, "abstain": []}',
    ],
)
def test_damaged_files(tmp_path, text):
    (tmp_path / "calibration.json").write_text(text, "utf-8")
    with raises(InputError):
        find_calibration([tmp_path], ())


def test_files_of_other_labels(tmp_path):
    write_calibration(tmp_path, Calibration((1.5,), 100), ())
    with raises(InputError):
        find_calibration([tmp_path], ("x", "y"))


def test_single_label():
    label_ids = np.array([0, 1])
    predictions = predictions_from(SINGLE_LABEL, np.log([[9.0, 1.0], [1.0, 4.0]]), label_ids)
    calibrated = SINGLE_LABEL.calibrator.calibrate(predictions, label_ids, Calibration((2.0,), 2))
    np.testing.assert_allclose(calibrated["probabilities"], [[0.75, 0.25], [1 / 3, 2 / 3]], rtol=1e-6)
    np.testing.assert_allclose(calibrated["losses"], -np.log([0.75, 2 / 3]), rtol=1e-6)
    assert calibrated["probabilities"].dtype == np.float32
    np.testing.assert_allclose(SINGLE_LABEL.decoder.uncertainty(calibrated, LABELS), [0.25, 1 / 3], rtol=1e-6)
    assert SINGLE_LABEL.metrics.is_wrong(np.array([1, 1]), calibrated, LABELS).tolist() == [True, False]
    # The rows are in different bins: |0.75 − 1| and |2/3 − 1|.
    assert SINGLE_LABEL.metrics.calibration_error(label_ids, calibrated) == pytest.approx((0.25 + 1 / 3) / 2)


def test_float32_rounding_changes_no_label():
    """Neighboring logits become the same probability if they are divided by a large temperature."""
    ones = np.ones(1000, np.float32)
    logits = np.stack([ones, np.nextafter(ones, 2), ones - 1], axis=1)
    for problem_type in (SINGLE_LABEL, MULTIPLE_CHOICE):
        predictions = predictions_from(problem_type, logits, np.zeros(1000, int))
        assert (predictions["probabilities"].argmax(axis=1) == 1).all()
        for temperature in (0.3, 1.7, 30.0):
            calibrated = problem_type.calibrator.calibrate(
                predictions, np.zeros(1000, int), Calibration((temperature,), 1)
            )
            assert (calibrated["probabilities"].argmax(axis=1) == 1).all()


def test_fitted_temperatures_keep_labels_and_lower_the_loss():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 6, (2000, 3)).astype(np.float32)
    chances = np.exp(logits / 3) / np.exp(logits / 3).sum(axis=1, keepdims=True)
    label_ids = (chances.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    predictions = predictions_from(SINGLE_LABEL, logits, label_ids)
    [temperature] = SINGLE_LABEL.calibrator.fit_temperatures(logits, label_ids)
    assert temperature == pytest.approx(3, rel=0.1)
    calibrated = SINGLE_LABEL.calibrator.calibrate(predictions, label_ids, Calibration((temperature,), 2000))
    assert calibrated["losses"].mean() < predictions["losses"].mean()
    assert (
        SINGLE_LABEL.metrics.calibration_error(label_ids, calibrated)
        < SINGLE_LABEL.metrics.calibration_error(label_ids, predictions) / 4
    )
    np.testing.assert_array_equal(
        calibrated["probabilities"].argmax(axis=1), predictions["probabilities"].argmax(axis=1)
    )


def test_multi_label():
    """Each label has its own temperature; decisions at 0.5 and at tuned thresholds do not change."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 4, (3000, 2)).astype(np.float32)
    label_ids = (rng.random((3000, 2)) < 1 / (1 + np.exp(-logits / [1.0, 4.0]))).astype(np.float32)
    logits[0] = 1e-9, -5e-8
    temperatures = MULTI_LABEL.calibrator.fit_temperatures(logits, label_ids)
    assert temperatures == pytest.approx((1, 4), rel=0.1)
    predictions = predictions_from(MULTI_LABEL, logits, label_ids)
    calibrated = MULTI_LABEL.calibrator.calibrate(predictions, label_ids, Calibration(temperatures, 3000))
    assert MULTI_LABEL.decoder.decisions(calibrated, SEVERAL) == MULTI_LABEL.decoder.decisions(predictions, SEVERAL)
    tuned = [
        SEVERAL._replace(thresholds=tune_thresholds(label_ids, outputs["probabilities"]))
        for outputs in (predictions, calibrated)
    ]
    assert MULTI_LABEL.decoder.decisions(calibrated, tuned[1]) == MULTI_LABEL.decoder.decisions(predictions, tuned[0])
    error = MULTI_LABEL.metrics.calibration_error
    assert error(label_ids, calibrated) < error(label_ids, predictions) / 2


def test_multi_label_uncertainty_covers_all_decisions():
    predictions = {"probabilities": np.array([[0.9, 0.2], [0.5, 0.5]], np.float32)}
    np.testing.assert_allclose(MULTI_LABEL.decoder.uncertainty(predictions, SEVERAL), [1 - 0.9 * 0.8, 0.75], rtol=1e-6)
    assert MULTI_LABEL.metrics.is_wrong(np.array([[1, 0], [1, 0]]), predictions, SEVERAL).tolist() == [False, True]


def test_abstain_is_a_column_and_a_key():
    predictions = {"probabilities": np.array([[0.9, 0.1], [0.6, 0.4]], np.float32)}
    assert "abstain" not in SINGLE_LABEL.columns.prediction_columns(predictions, LABELS)
    labels = LABELS._replace(abstain_from=0.25)
    assert SINGLE_LABEL.columns.prediction_columns(predictions, labels)["abstain"].values.tolist() == [False, True]
    assert [SINGLE_LABEL.text_answers.record(predictions, row, labels)["abstain"] for row in (0, 1)] == [False, True]
    # With 0, no prediction is certain enough.
    assert SINGLE_LABEL.columns.prediction_columns(predictions, LABELS._replace(abstain_from=0.0))[
        "abstain"
    ].values.all()
