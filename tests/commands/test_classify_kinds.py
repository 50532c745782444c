"""bert-classify on multi-label data, numbers and both halves of mnli, and GLUE's file formats."""

import contextlib
import csv
import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest

from bert_cli import Classifier, convert_checkpoint
from bert_cli.base.errors import InputError
from bert_cli.run_classifier import main
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import RunFolder, words
from tests.rows import write_rows

NAMES = ("people", "animals", "red")
PHASES = ("--do_train", "--do_eval", "--do_predict")


def write_marks(path):
    """Write three columns with 0 and 1; the last one depends on a word."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "comment_text", *NAMES])
        for number, (text, of_people) in enumerate(SENTENCES):
            writer.writerow(
                [f"c{number}", text, int(of_people), int(not of_people), int("red" in text or text[0] == "a")]
            )
    return path


def write_sts_b(folder):
    """Write GLUE's format: similarity of two texts, 0 to 5."""
    names = ["index", *(f"column{n}" for n in range(6)), "sentence1", "sentence2", "score"]
    rows = [
        [str(n), *["-"] * 6, text, SENTENCES[n - n % 2][0], f"{5 - 3.5 * (n % 2):.3f}"]
        for n, (text, _) in enumerate(SENTENCES)
    ]
    write_rows(folder / "train.tsv", [names, *rows])
    write_rows(folder / "dev.tsv", [names, *rows[:9]])
    write_rows(folder / "test.tsv", [names[:9], *(row[:9] for row in rows[:7])])
    return folder


@pytest.fixture
def marks(tmp_path):
    return write_marks(tmp_path / "marks.csv")


@pytest.fixture(scope="module")
def marked_once(model_flags, tmp_path_factory):
    """An output_dir of a run on three labels with tuned thresholds, and its log; do not change it."""
    folder, log = tmp_path_factory.mktemp("marked"), io.StringIO()
    marks = write_marks(folder / "marks.csv")
    flags = {"train_file": marks, "dev_file": marks, "test_file": marks, "threshold": "tuned"}
    flags |= {"output_dir": folder / "out", "label_column": ",".join(NAMES)}
    with contextlib.redirect_stderr(log):
        assert main([*model_flags, *words(flags), *PHASES]) == 0
    return folder / "out", log.getvalue()


@pytest.fixture
def marked(marked_once, tmp_path):
    """A copy of the output_dir for one test."""
    return RunFolder(shutil.copytree(marked_once[0], tmp_path / "out"))


def test_several_labels(marked, marked_once, classify, marks):
    out, log = marked, marked_once[1]
    thresholds = json.loads((out.path / "thresholds.json").read_text("utf-8"))
    assert tuple(thresholds) == NAMES
    results = out.eval_results()
    assert results["eval_examples"] == 24
    assert {"eval_micro_f1", "eval_macro_f1", "eval_subset_accuracy", "eval_roc_auc"} <= results.keys()
    assert "eval_accuracy" not in results
    assert "label: people, red (ids = 1 0 1)" in log or "label: people (ids = 1 0 0)" in log

    table = out.predictions()
    columns = [f"prob_{name}" for name in NAMES]
    assert list(table.columns) == ["id", "labels", *columns, "text"]
    assert list(table["id"]) == [f"c{number}" for number in range(24)]
    np.testing.assert_allclose(table[columns], out.probabilities(), rtol=1e-6)
    is_over = table[columns].to_numpy() >= [thresholds[name] for name in NAMES]
    assert list(table["labels"]) == [
        ",".join(name for name, over in zip(NAMES, row, strict=True) if over) for row in is_over
    ]
    manifest = json.loads((out.path / "run.json").read_text("utf-8"))
    assert manifest["problem_type"] == "multi_label"
    assert "thresholds.json" in manifest["files"]

    # The directory alone: problem type, columns and thresholds are remembered.
    before = (out.path / "predictions.tsv").read_text("utf-8")
    done = classify("--do_predict", f"--test_file={marks}", f"--output_dir={out.path}", "--precision=float32")
    assert done.code == 0, done.err
    assert (out.path / "predictions.tsv").read_text("utf-8") == before
    flags = ("--output_format=jsonl", "--precision=float32")  # some rows equal the tuned thresholds
    done = classify("--do_predict", f"--predict_file={marks}", f"--output_dir={out.path}", *flags)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (out.path / "predictions.jsonl").read_text("utf-8").splitlines()]
    assert [row["labels"] for row in rows] == [text.split(",") if text else [] for text in table["labels"]]
    assert "predictions.jsonl" in out.report()["files"]


def test_one_column_of_0_and_1_is_one_label(marks, model_flags, classify, tmp_path, run_folder):
    flags = {"train_file": marks, "dev_file": marks, "test_file": marks, "output_dir": tmp_path / "out"}
    flags |= {"label_column": NAMES[0], "problem_type": "multi_label", "num_train_epochs": 1}
    done = classify(*model_flags, *words(flags), *PHASES)
    assert done.code == 0, done.err
    out = run_folder(tmp_path / "out")
    assert (out.path / "labels.txt").read_text("utf-8") == f"{NAMES[0]}\n"
    assert list(out.predictions().columns) == ["id", "labels", f"prob_{NAMES[0]}", "text"]
    assert {"eval_roc_auc", "eval_roc_auc_micro"} <= out.eval_results().keys()
    outcome = classify("--do_predict", f"--predict_file={marks}", f"--output_dir={out.path}", "--engine=onnxruntime")
    assert outcome.code == 0, outcome.err


def test_a_fixed_threshold(marked, classify, marks):
    out = marked
    flags = (f"--test_file={marks}", f"--output_dir={out.path}", "--threshold=0", "--engine=onnxruntime")
    done = classify("--do_predict", *flags)
    assert done.code == 0, done.err
    assert set(out.predictions()["labels"]) == {",".join(NAMES)}


@pytest.mark.slow
def test_several_labels_from_python(marked):
    out = marked
    classifier = Classifier.load(out.path, precision="float32")
    assert (classifier.problem_type, classifier.labels) == ("multi_label", NAMES)
    predictions = classifier.predict([text for text, _ in SENTENCES])
    np.testing.assert_allclose(predictions.probabilities, out.probabilities(), atol=1e-5)
    # Labels above the thresholds in thresholds.json, which differ per label.
    assert [",".join(labels) for labels in predictions.best] == list(out.predictions()["labels"])
    texts = [text for text, _ in SENTENCES[:3]]
    assert Classifier.load(out.path, precision="float32", threshold=0.0).predict(texts).best == [NAMES] * 3
    assert Classifier.load(out.path, precision="float32", threshold=1).predict(texts).best == [()] * 3
    with pytest.raises(InputError, match=r"^threshold=2: a number from 0 to 1"):
        Classifier.load(out.path, threshold="2")

    # In a Hugging Face directory the problem type is kept; thresholds are not part of its format.
    assert convert_checkpoint.main([f"--from={out.path}", f"--to={out.path.parent / 'hf'}"]) == 0
    config = json.loads((out.path.parent / "hf" / "config.json").read_text("utf-8"))
    assert config["problem_type"] == "multi_label_classification"
    converted = Classifier.load(out.path.parent / "hf", precision="float32", max_seq_length=32)
    assert (converted.problem_type, converted.labels) == ("multi_label", NAMES)
    np.testing.assert_allclose(converted.predict(texts).probabilities, predictions.probabilities[:3], atol=2e-3)


def test_numbers(classify, model_flags, tmp_path):
    data, out = write_sts_b(tmp_path / "data"), RunFolder(tmp_path / "out")
    flags = {"task_name": "sts-b", "data_dir": data, "output_dir": out.path, "output_format": "csv"}
    flags["num_train_epochs"] = 1
    done = classify(*model_flags, *words(flags), *PHASES, "--glue_submission")
    assert done.code == 0, done.err
    results = out.eval_results()
    assert results["eval_examples"] == 9
    assert {"eval_pearson", "eval_spearman", "eval_rmse", "eval_mae"} <= results.keys()
    assert results["eval_rmse"] ** 2 == pytest.approx(results["eval_loss"], rel=1e-5)
    assert "sts-b is measured by eval_pearson = " in done.err
    assert list(out.report()["baselines"]) == ["mean", "ridge"]
    assert "Pearson's correlation: the model " in done.err
    assert ", TF-IDF with ridge regression " in done.err
    assert not (out.path / "labels.txt").exists()

    table = pd.read_csv(out.path / "predictions.csv", dtype={"id": str})
    assert list(table.columns) == ["id", "value", "text", "text_b"]
    np.testing.assert_allclose(table[["value"]], out.probabilities(), rtol=1e-6)
    submitted = pd.read_csv(out.path / "STS-B.tsv", sep="\t")
    assert list(submitted["index"]) == list(range(7))
    np.testing.assert_allclose(submitted["prediction"], table["value"].clip(0, 5), atol=6e-4)

    assert json.loads((out.path / "run.json").read_text("utf-8"))["problem_type"] == "regression"
    done = classify("--do_predict", f"--output_dir={out.path}", "--engine=onnxruntime")
    assert done.code == 0, done.err
    assert list(out.predictions().columns) == ["id", "value", "text", "text_b"]
    classifier = Classifier.load(out.path, precision="float32")
    predictions = classifier.predict([(text, SENTENCES[n - n % 2][0]) for n, (text, _) in enumerate(SENTENCES[:7])])
    np.testing.assert_allclose(predictions.values, table["value"], atol=1e-5)
    assert predictions.best == []
    assert convert_checkpoint.main([f"--from={out.path}", f"--to={tmp_path / 'hf'}"]) == 0
    config = json.loads((tmp_path / "hf" / "config.json").read_text("utf-8"))
    assert config["problem_type"] == "regression"
    assert config["id2label"] == {"0": "LABEL_0"}
    with pytest.raises(InputError, match="predicts a number"):
        Classifier.load(out.path, labels=["a", "b"])


@pytest.mark.slow
def test_numbers_in_a_user_file(classify, model_flags, tmp_path):
    rows = [[text, f"{len(text) / 10}"] for text, _ in SENTENCES]
    write_rows(tmp_path / "own.tsv", [["text", "score"], *rows])
    out = RunFolder(tmp_path / "out")
    flags = {
        "train_file": tmp_path / "own.tsv",
        "dev_split": 0.25,
        "problem_type": "regression",
        "output_dir": out.path,
    }
    done = classify(*model_flags, *words(flags), "--do_train", "--do_eval", "--num_train_epochs=1")
    assert done.code == 0, done.err
    assert out.eval_results()["eval_examples"] == 6
    done = classify("--do_predict", f"--predict_file={tmp_path / 'own.tsv'}", f"--output_dir={out.path}")
    assert done.code == 0, done.err
    assert list(out.predictions().columns) == ["id", "value", "text"]


@pytest.mark.slow
def test_both_halves_of_mnli(classify, flags, mnli, tmp_path):
    for split in ("dev", "test"):
        lines = (mnli / f"{split}_matched.tsv").read_text("utf-8").splitlines(keepends=True)
        (mnli / f"{split}_mismatched.tsv").write_text("".join(lines[:5]), encoding="utf-8")
    out = RunFolder(tmp_path / "out")
    values = {"task_name": "mnli", "data_dir": mnli, "output_dir": out.path, "num_train_epochs": 1}
    done = classify(*flags, *words(values), *PHASES, "--glue_submission")
    assert done.code == 0, done.err
    results = out.eval_results()
    assert (results["eval_examples"], results["eval_examples_mismatched"]) == (7, 4)
    assert {"eval_accuracy", "eval_accuracy_mismatched"} <= results.keys()
    counts = {
        name: len((out.path / name).read_text("utf-8").splitlines())
        for name in ("test_results.tsv", "test_results_mismatched.tsv", "predictions_mismatched.tsv", "MNLI-m.tsv")
    }
    assert counts == {
        "test_results.tsv": 8,
        "test_results_mismatched.tsv": 4,
        "predictions_mismatched.tsv": 5,
        "MNLI-m.tsv": 9,
    }
    submitted = pd.read_csv(out.path / "MNLI-mm.tsv", sep="\t")
    assert list(submitted["prediction"]) == list(out.predictions()["label"][:4])


@pytest.mark.parametrize(
    ("task_flags", "fragments"),
    [
        (
            [
                "--do_train",
                "--train_file={marks}",
                "--label_column=people",
                "--problem_type=regression",
                "--threshold=0.3",
            ],
            ["--threshold=0.3", "regression", "leave it out"],
        ),
        (["--do_train", "--train_file={marks}", "--threshold=2"], ["--threshold=2: a number from 0 to 1", "tuned"]),
        (
            ["--do_train", "--do_predict", "--train_file={marks}", "--test_file={marks}", "--threshold=tuned"]
            + ["--label_column=people,animals"],
            ["no thresholds.json", "add --do_eval"],
        ),
        (["--do_train", "--task_name=cola", "--problem_type=regression"], ["--task_name=cola"]),
        (["--do_train", "--train_file={marks}", "--label_column=red", "--glue_submission"], ["--glue_submission"]),
        (["--do_train", "--task_name=xnli", "--glue_submission"], ["--glue_submission"]),
    ],
)
def test_refused(refused, model_flags, marks, task_flags, fragments):
    refused([*model_flags[:3], *(flag.format(marks=marks) for flag in task_flags)], *fragments)
