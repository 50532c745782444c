"""bert-classify --calibrate and --abstain_error, and the commands that apply their results."""

import json
import pathlib
import pickle
import shutil

import numpy as np
import pandas as pd
import pytest

from bert_cli import Classifier, convert_checkpoint, export_model
from bert_cli.base.errors import InputError
from tests.commands.helpers import RunFolder, as_problem, words
from tests.rows import write_rows
from tests.snapshots import check_message, raises

TEXTS = ["the old farmer buys bread .", "a dog chases a cat .", "small horse , small dog ?"]
CALIBRATE = ("--do_eval", "--calibrate", "--noreport")


def divided(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Return the softmax of the same logits divided by a temperature."""
    powers = np.asarray(probabilities, np.float64) ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.fixture
def data_dir(trained_flags) -> str:
    return next(flag for flag in trained_flags if flag.startswith("--data_dir="))


@pytest.fixture
def calibrated(trained, classify, data_dir):
    """A finished run that was calibrated afterwards, and its evaluation before."""
    before = RunFolder(trained).eval_results()
    done = classify(*CALIBRATE, "--abstain_error=40%", data_dir, f"--output_dir={trained}", "--precision=float32")
    assert done.code == 0, done.err
    return RunFolder(trained), before, done


def test_a_finished_run(calibrated, trained_once, classify, data_dir):
    out, before, done = calibrated
    kept = json.loads((out.path / "calibration.json").read_text("utf-8"))
    assert kept["rows"] == 11
    assert kept["abstain"]["error"] == 0.4
    assert "calibration.json" in out.report()["files"]
    assert out.report()["calibration"] == kept
    results = out.eval_results()
    assert results["eval_accuracy"] == before["eval_accuracy"]
    assert results["eval_loss"] < before["eval_loss"]
    assert {"eval_ece", "eval_ece_uncalibrated"} <= results.keys()
    assert f"temperature {kept['temperature']:.4g}, fitted on 11 rows" in done.err
    check_message(done.err, "0.4 wrong")

    # Every later prediction is calibrated; the labels stay the same.
    plain = RunFolder(trained_once[0])
    flags = (data_dir, f"--output_dir={out.path}", "--precision=float32")
    done = classify("--do_predict", "--engine=onnxruntime", *flags)
    assert done.code == 0, done.err
    expected = divided(plain.probabilities(), kept["temperature"])
    np.testing.assert_allclose(out.probabilities(), expected, atol=1e-5)
    table = out.predictions()
    assert list(table["label"]) == list(plain.predictions()["label"])
    assert list(table["abstain"]) == [
        "yes" if is_uncertain else "no" for is_uncertain in expected.min(axis=1) >= kept["abstain"]["uncertainty"]
    ]
    # Sorted by certainty, least certain first.
    ranked = pd.read_csv(out.path / "to_label.tsv", sep="\t")
    assert list(ranked.columns) == ["id", "predicted", "probability", "text"]
    assert list(ranked["id"]) == [table["id"][row] for row in np.argsort(expected.max(axis=1), kind="stable")]
    np.testing.assert_allclose(ranked["probability"], np.sort(expected.max(axis=1)), atol=1e-5)

    # Calibrating again gives the same file, since it is fitted to the logits.
    done = classify(*CALIBRATE, *flags)
    assert done.code == 0, done.err
    second_calibration = json.loads((out.path / "calibration.json").read_text("utf-8"))
    assert second_calibration == {"temperature": kept["temperature"], "rows": 11}


def test_every_engine_and_export_applies_the_calibration(calibrated, trained_once, tmp_path, classify):
    out, path = calibrated[0], str(calibrated[0].path)
    kept = json.loads((out.path / "calibration.json").read_text("utf-8"))
    plain = Classifier.load(str(trained_once[0]), precision="float32").predict(TEXTS).probabilities
    expected = divided(plain, kept["temperature"])
    for engine, precision in (("tensorflow", "float32"), ("onnxruntime", "float32"), ("onnxruntime", "int8")):
        model = Classifier.load(path, engine=engine, precision=precision)
        tolerance = 1e-5 if precision == "float32" else 0.05
        np.testing.assert_allclose(model.predict(TEXTS).probabilities, expected, atol=tolerance)
        assert all(isinstance(record["abstain"], bool) for record in model.records(TEXTS))
    done = classify("--text", TEXTS[0], f"--output_dir={path}", "--precision=float32")
    answer = json.loads(done.out)
    np.testing.assert_allclose(list(answer["probabilities"].values()), expected[0], atol=1e-5)
    assert answer["abstain"] == bool(expected[0].min() >= kept["abstain"]["uncertainty"])

    assert convert_checkpoint.main([f"--from={path}", f"--to={tmp_path / 'hf'}"]) == 0
    converted = Classifier.load(str(tmp_path / "hf"), precision="float32", max_seq_length=32)
    np.testing.assert_allclose(converted.predict(TEXTS).probabilities, expected, atol=2e-3)


def test_python_calibrates_as_the_command(calibrated, trained_once, data_dir, tmp_path):
    kept = json.loads((calibrated[0].path / "calibration.json").read_text("utf-8"))
    model = Classifier.load(trained_once[0], precision="float32")
    plain = model.predict(TEXTS).probabilities
    assert model.calibrate(f"{data_dir.partition('=')[2]}/dev.tsv", abstain_error="40%") is model
    expected = model.predict(TEXTS).probabilities
    np.testing.assert_allclose(expected, divided(plain, kept["temperature"]), atol=1e-5)
    model.save(tmp_path / "copy")
    assert json.loads((tmp_path / "copy" / "calibration.json").read_text("utf-8")) == kept
    model.to_hugging_face(tmp_path / "converted")
    assert json.loads((tmp_path / "converted" / "calibration.json").read_text("utf-8")) == kept
    for copy in (Classifier.load(tmp_path / "copy", precision="float32"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(copy.predict(TEXTS).probabilities, expected, atol=1e-6)
        assert [record["abstain"] for record in copy.records(TEXTS)] == [
            record["abstain"] for record in model.records(TEXTS)
        ]
    # The run itself is not changed; a second calibration replaces the first one.
    assert not (pathlib.Path(trained_once[0]) / "calibration.json").exists()
    again = model.calibrate(TEXTS, ["1", "0", "1"]).predict(TEXTS).probabilities
    assert np.abs(again - expected).max() > 1e-4
    assert "abstain" not in model.records(TEXTS)[0]


def test_thresholds_are_tuned_again_after_a_calibration_in_python(trained_once, tmp_path):
    several = as_problem(trained_once[0], tmp_path / "several", "multi_label")
    (several / "thresholds.json").write_text('{"0": 0.9, "1": 0.9}', "utf-8")
    labels = [["0"], ["0", "1"], ["1"]]
    with raises(InputError, "thresholds.json: was tuned"):
        Classifier.load(several).calibrate(TEXTS, labels)
    model = Classifier.load(several, threshold="tuned")
    model.calibrate(TEXTS, labels).save(tmp_path / "copy")
    thresholds = json.loads((tmp_path / "copy" / "thresholds.json").read_text("utf-8"))
    assert thresholds != {"0": 0.9, "1": 0.9}
    copy = Classifier.load(tmp_path / "copy", threshold="tuned")
    assert copy.predict(TEXTS).labels == model.predict(TEXTS).labels
    with raises(InputError, "abstain_error and threshold"):
        model.calibrate(TEXTS, labels, abstain_error="2%")


def test_calibrations_that_python_refuses(trained_once, tmp_path):
    number = as_problem(trained_once[0], tmp_path / "number", "regression")
    with raises(InputError):
        Classifier.load(number).calibrate(TEXTS, [1.0, 2.0, 3.0])
    model = Classifier.load(trained_once[0])
    for arguments in (
        {"labels": ["0", "1", "2"]},
        {"labels": [0.0, 1.0, 2.0]},
        {"labels": ["0", "1"]},
        {},
        {"labels": ["0", "1", "1"], "abstain_error": 2},
        {"labels": ["0", "1", "1"], "abstain_error": "few"},
        {"labels": ["0", "1", "1"], "batch_size": 0},
    ):
        with raises(InputError):
            model.calibrate(TEXTS, **arguments)
    assert "abstain" not in model.records(TEXTS)[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*onnx.*:DeprecationWarning")
@pytest.mark.parametrize("problem_type", ["single_label", "multi_label"])
def test_exported_models(calibrated, tmp_path, problem_type):
    import onnxruntime
    import tensorflow as tf

    folder = calibrated[0].path
    if problem_type == "multi_label":
        folder = as_problem(folder, tmp_path / "multi", problem_type)
        (folder / "calibration.json").write_text('{"temperature": {"0": 3.0, "1": 0.5}, "rows": 9}', "utf-8")
    expected = Classifier.load(str(folder), precision="float32").predict(TEXTS)
    flags = words({"init_checkpoint": folder, "export_dir": tmp_path / "serving"})
    assert export_model.main(flags) == 0
    serving = tf.saved_model.load(str(tmp_path / "serving")).signatures["serving_default"]
    made = serving(text=tf.constant(TEXTS))
    np.testing.assert_allclose(made["probabilities"].numpy(), expected.probabilities, atol=2e-3)
    if problem_type == "single_label":
        assert [label.decode() for label in made["label"].numpy()] == expected.best
    flags = words({"init_checkpoint": folder, "export_dir": tmp_path / "onnx", "format": "onnx"})
    assert export_model.main(flags) == 0
    tokens = {name: np.array([[2, 9, 20, 3]], np.int32) for name in ("input_word_ids", "input_mask", "input_type_ids")}
    tokens["input_mask"][:] = 1
    tokens["input_type_ids"][:] = 0
    [probabilities] = onnxruntime.InferenceSession(str(tmp_path / "onnx" / "model.onnx")).run(["probabilities"], tokens)
    by_tokens = tf.saved_model.load(str(tmp_path / "serving")).signatures["token_ids"]
    made = by_tokens(**{name: tf.constant(value) for name, value in tokens.items()})
    np.testing.assert_allclose(probabilities, made["probabilities"].numpy(), atol=1e-5)


def test_further_training_drops_the_calibration(trained, trained_flags, classify):
    """A run calibrates before it predicts; another epoch changes the weights."""
    out = RunFolder(trained)
    flags = [*trained_flags, f"--output_dir={trained}"]
    done = classify(*flags, "--calibrate", "--abstain_error=0.01")
    assert done.code == 0, done.err
    assert {"calibration.json", "to_label.tsv"} <= set(json.loads((out.path / "run.json").read_text("utf-8"))["files"])
    assert "warning: all texts are left for people" in done.err
    assert set(out.predictions()["abstain"]) == {"yes"}
    first = (out.path / "test_results.tsv").read_text("utf-8")
    # Nothing is left to train, so the stored calibration is used.
    assert classify(*flags).code == 0
    assert (out.path / "test_results.tsv").read_text("utf-8") == first
    done = classify(*flags, "--num_train_epochs=6")
    assert done.code == 0, done.err
    assert not (out.path / "calibration.json").exists()
    assert "abstain" not in out.predictions()
    assert "eval_ece" not in out.eval_results()


def test_cross_validation(flags, classify, tmp_path):
    out = tmp_path / "out"
    done = classify(
        *flags, "--num_train_epochs=1", "--do_train", "--cross_validation=2", "--calibrate", f"--output_dir={out}"
    )
    assert done.code == 0, done.err
    kept = json.loads((out / "calibration.json").read_text("utf-8"))
    assert kept["rows"] == 24
    assert not (out / "fold-1" / "calibration.json").exists()
    assert "calibration.json" in json.loads((out / "run.json").read_text("utf-8"))["files"]
    assert f"temperature {kept['temperature']:.4g}, fitted on 24 rows" in done.err


@pytest.mark.slow
def test_several_runs(flags, classify, tmp_path):
    """Each seed has its temperature; the directory predicts with the best seed's."""
    out = tmp_path / "out"
    phases = ("--do_train", "--do_eval", "--do_predict", "--num_runs=2", "--calibrate")
    done = classify(*flags, "--num_train_epochs=1", *phases, f"--output_dir={out}")
    assert done.code == 0, done.err
    assert all((out / f"run-{number}" / "calibration.json").exists() for number in (1, 2))
    assert {"eval_ece", "eval_ece_uncalibrated"} <= RunFolder(out).eval_results().keys()
    assert (out / "to_label.tsv").exists()


def test_refused(trained, classify, data_dir, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(trained, elsewhere)
    number = as_problem(trained, tmp_path / "number", "regression")
    several = as_problem(trained, tmp_path / "several", "multi_label")
    table = write_rows(tmp_path / "table.tsv", [("text", "label"), *((text, n % 2) for n, text in enumerate(TEXTS))])
    dev_flags = (f"--dev_file={table}", "--text_column=text", "--label_column=label")
    for refused_flags, *fragments in (
        ([*CALIBRATE, "--abstain_error=200%", f"--output_dir={trained}"], "--abstain_error=200%: a share"),
        ([*CALIBRATE, "--abstain_error=few", f"--output_dir={trained}"], "--abstain_error=few: a share"),
        (
            [*CALIBRATE, data_dir, f"--init_checkpoint={elsewhere}", f"--output_dir={tmp_path / 'new'}"],
            f"--calibrate: writes into the directory of the model; give --output_dir={elsewhere}",
        ),
        (
            [*CALIBRATE, *dev_flags, f"--output_dir={number}"],
            "--calibrate: is about probabilities, and a number is predicted",
        ),
        (
            [*CALIBRATE, "--abstain_error=2%", "--threshold=tuned", *dev_flags, f"--output_dir={several}"],
            "--abstain_error and --threshold=tuned cannot be combined",
        ),
    ):
        classify(*refused_flags).assert_refused(*fragments)
    assert not (trained / "calibration.json").exists()
