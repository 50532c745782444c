"""Thresholds and calibrations, with values checked by hand."""

import json

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.problem_types.calibration import Abstention, Calibration
from bert_cli.problem_types.registry import MULTI_LABEL, MULTIPLE_CHOICE, REGRESSION, SINGLE_LABEL
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks.classification.decoder import format_calibration, make_fitting_decoder
from bert_cli.settings.groups import TUNED, Inference
from tests.snapshots import check_message, raises

LABELS = ("x", "y")
PROBABILITIES = {"probabilities": np.array([[0.9, 0.2], [0.4, 0.1], [0.1, 0.6]], np.float32)}
LABEL_IDS = np.array([[1, 1], [1, 0], [0, 1]], np.float32)


def test_a_fixed_threshold_is_the_threshold_of_each_label():
    decoder = make_fitting_decoder(MULTI_LABEL, LABELS, Inference(threshold="0.3"), False, [])
    assert decoder.labels.thresholds.tolist() == [0.3, 0.3]
    assert decoder.with_tuned_thresholds(LABEL_IDS, PROBABILITIES) is decoder


@pytest.mark.parametrize("threshold", ["0.3", "tuned"])
def test_three_labels_and_numbers_have_no_threshold(threshold):
    for problem_type, labels in ((SINGLE_LABEL, ("x", "y", "z")), (REGRESSION, ())):
        for should_tune in (True, False):
            with raises(InputError, f"--threshold={threshold}: "):
                make_fitting_decoder(problem_type, labels, Inference(threshold=threshold), should_tune, [])


def test_the_positive_one_of_two_labels_has_a_threshold():
    assert make_fitting_decoder(SINGLE_LABEL, LABELS, Inference(), False, []).labels.thresholds is None
    outputs = {"probabilities": np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]], np.float32)}
    for positive, threshold, expected in (
        (None, "0.25", ["y", "y", "y"]),
        ("y", "0.7", ["x", "x", "y"]),
        ("x", "0.25", ["x", "x", "x"]),
        ("x", "0.7", ["x", "y", "y"]),
        ("x", "1", ["y", "y", "y"]),
    ):
        decoder = make_fitting_decoder(SINGLE_LABEL, LABELS, Inference(threshold=threshold), False, [], positive)
        assert SINGLE_LABEL.decoder.decisions(outputs, decoder.labels) == expected
        is_wrong = SINGLE_LABEL.metrics.is_wrong(np.array([0, 0, 0]), outputs, decoder.labels)
        assert is_wrong.tolist() == [name == "y" for name in expected]
        # The probability of the label that is not predicted.
        others = ["xy".index("y" if name == "x" else "x") for name in expected]
        other = outputs["probabilities"][range(3), others].tolist()
        assert SINGLE_LABEL.decoder.uncertainty(outputs, decoder.labels).tolist() == other


def test_a_threshold_of_two_labels_is_tuned_and_stored(tmp_path):
    outputs = {"probabilities": np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]], np.float32)}
    label_ids = np.array([0, 1, 1, 1])
    decoder = make_fitting_decoder(SINGLE_LABEL, LABELS, Inference(threshold="tuned"), True, [])
    tuned = decoder.fit(label_ids, outputs | {"logits": np.log(outputs["probabilities"])})
    assert SINGLE_LABEL.decoder.decisions(outputs, tuned.labels) == ["x", "y", "y", "y"]
    tuned.write(RunDirectory(str(tmp_path)))
    assert json.loads((tmp_path / "thresholds.json").read_text("utf-8")) == {"y": pytest.approx(0.15)}
    stored = make_fitting_decoder(SINGLE_LABEL, LABELS, Inference(threshold="tuned"), False, [str(tmp_path)], "x")
    # The stored threshold is of y, whatever label the F1 is of.
    assert SINGLE_LABEL.decoder.decisions(outputs, stored.labels) == ["x", "y", "y", "y"]
    for content in ('{"x": 0.5, "y": 0.5}', '{"z": 0.5}', "{}"):
        (tmp_path / "thresholds.json").write_text(content, "utf-8")
        with pytest.raises(InputError, match="a threshold for one of x, y"):
            make_fitting_decoder(SINGLE_LABEL, LABELS, Inference(threshold="tuned"), False, [str(tmp_path)])


def test_the_positive_label_is_the_last_of_two():
    decoder = make_fitting_decoder(SINGLE_LABEL, ("real", "fake"), Inference(), False, [])
    names = [decoder.with_positive_label(name) for name in (None, "real", "fake")]
    assert [SINGLE_LABEL.metrics.positive_label(named.labels) for named in names] == ["fake", "real", "fake"]
    with raises(InputError, "--positive_label=Fake: "):
        decoder.with_positive_label("Fake")


@pytest.mark.parametrize(
    ("problem_type", "labels"),
    [
        (SINGLE_LABEL, ("a", "b", "c")),
        (MULTI_LABEL, ("a", "b")),
        (REGRESSION, ()),
        (MULTIPLE_CHOICE, ()),
    ],
)
def test_other_outputs_have_no_positive_label(problem_type, labels):
    decoder = make_fitting_decoder(problem_type, labels, Inference(), False, [])
    assert problem_type.metrics.positive_label(decoder.labels) == ""
    with raises(InputError, "--positive_label=a: "):
        decoder.with_positive_label("a")


def test_tuned_thresholds_are_written_and_read(tmp_path):
    flags = Inference(threshold=TUNED)
    with raises(InputError, "--threshold=tuned: "):
        make_fitting_decoder(MULTI_LABEL, LABELS, flags, False, [str(tmp_path)])
    decoder = make_fitting_decoder(MULTI_LABEL, LABELS, flags, True, []).with_tuned_thresholds(LABEL_IDS, PROBABILITIES)
    decisions = MULTI_LABEL.decoder.decisions(PROBABILITIES, decoder.labels)
    assert decisions == [("x", "y"), ("x",), ("y",)]
    decoder.write(RunDirectory(str(tmp_path)))
    assert list(json.loads((tmp_path / "thresholds.json").read_text())) == ["x", "y"]
    stored = make_fitting_decoder(MULTI_LABEL, LABELS, flags, False, [str(tmp_path)])
    assert MULTI_LABEL.decoder.decisions(PROBABILITIES, stored.labels) == decisions


def test_a_calibration_divides_the_logits():
    logits = np.log(np.array([[9, 1], [1, 4]], np.float32))
    label_ids = np.array([0, 1])
    raw = SINGLE_LABEL.decoder.postprocess(logits, label_ids) | {"logits": logits}
    decoder = make_fitting_decoder(SINGLE_LABEL, LABELS, Inference(), False, [])
    assert decoder.calibrate(raw, label_ids) is raw
    calibrated = decoder.with_calibration(Calibration((2.0,), 2, 0.02, Abstention(0.3, 0.5)))
    assert calibrated.labels.abstain_from == 0.3
    np.testing.assert_allclose(calibrated.calibrate(raw, label_ids)["probabilities"][0], [0.75, 0.25], rtol=1e-6)
    scores = calibrated.score(label_ids, raw, calibrated.calibrate(raw, label_ids), 8)
    assert scores.metrics["eval_ece_uncalibrated"] == pytest.approx((0.1 + 0.2) / 2)
    assert scores.metrics["eval_ece"] == pytest.approx((0.25 + 1 / 3) / 2)
    assert calibrated.with_calibration(None).labels.abstain_from is None


def test_lines_about_a_calibration():
    assert format_calibration(Calibration((1.5, 2.0), 1000), LABELS, 0.1, 0.05) == [
        "temperature of x 1.5, fitted on 1,000 rows",
        "temperature of y 2, fitted on 1,000 rows",
        "expected calibration error 0.1000 before the calibration, 0.0500 after it",
    ]
    [*_, line] = format_calibration(Calibration((1.5,), 1000, 0.02, Abstention(0.25, 0.8)), (), 0.1, 0.05)
    check_message(line)
