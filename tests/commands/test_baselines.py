"""Baselines in bert-classify's evaluation, in the log, in run_report.json and from Python."""

import json

import numpy as np
import pytest
import sklearn.metrics

from bert_cli import Classifier
from bert_cli.runs.tasks.classification import results
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import RunFolder, words
from tests.rows import write_rows
from tests.snapshots import check_message

TEXTS = [text for text, _ in SENTENCES]


def warnings_of(done):
    """Return the warnings without the one about random weights, which these small models cause."""
    return [line for line in done.lines if line.startswith("warning:") and "RANDOM" not in line]


def test_single_label(trained):
    """6 of 11 dev rows are not about people; if labels are equally frequent, the first is constant."""
    baselines = RunFolder(trained).report()["baselines"]
    assert list(baselines) == ["majority", "tfidf"]
    names = ["accuracy", "mcc", "f1", "macro_f1", "weighted_f1", "roc_auc", "average_precision", "balanced_accuracy"]
    names += ["kappa", "brier"]
    assert [list(values) for values in baselines.values()] == [names] * 2
    assert baselines["majority"]["mcc"] == 0
    assert baselines["tfidf"]["accuracy"] > baselines["majority"]["accuracy"]


def test_evaluation_without_training_rows_has_no_baselines(trained, classify):
    assert RunFolder(trained).report()["baselines"]
    done = classify("--do_eval", "--noreport", f"--output_dir={trained}")
    assert done.code == 0
    assert RunFolder(trained).report()["baselines"] == {}
    assert "warning" not in done.err


def test_the_f1_is_of_the_positive_label(classify, trained):
    """Each label has its F1, in the log, in eval_results.txt, in the report and from Python."""
    for label in ("1", "0"):
        flags = [] if label == "1" else [f"--positive_label={label}"]
        done = classify("--do_eval", f"--output_dir={trained}", *flags)
        assert done.code == 0, done.err
        run = RunFolder(trained)
        results, report = run.eval_results(), run.report()
        expected = pytest.approx(report["eval"]["classes"][label]["f1"], abs=1e-6)
        assert results["eval_f1"] == results[f"eval_f1_of_{label}"] == expected
        assert report["positive_label"] == label
        check_message(done.err, "eval_f1 is of the label")
        assert f"eval_f1_of_{label}" in (trained / "report.html").read_text("utf-8")
        assert results["eval_macro_f1"] == pytest.approx(
            np.mean([scores["f1"] for scores in report["eval"]["classes"].values()]), abs=1e-6
        )
    classifier = Classifier.load(str(trained))
    labels = ["1", "0", "1", "1", "1", "0"]
    predicted = classifier.predict(TEXTS[:6]).best
    for label in (1, "0", None):
        expected = sklearn.metrics.f1_score(labels, predicted, pos_label=str(label or 1))
        metrics = classifier.evaluate(TEXTS[:6], labels, positive_label=label)
        assert metrics["eval_f1"] == pytest.approx(expected, abs=1e-6)
    done = classify("--do_eval", f"--output_dir={trained}", "--positive_label=one")
    assert (done.code, "--positive_label=one: is not among the labels 0, 1" in done.err) == (1, True)


def test_log_and_warning_of_a_model_that_learns_nothing(classify, flags, tmp_path):
    done = classify(
        *flags,
        "--do_train",
        "--do_eval",
        "--learning_rate=0",
        "--num_train_epochs=0.4",
        f"--output_dir={tmp_path / 'out'}",
    )
    assert done.code == 0
    assert "Matthews' correlation: the model " in done.err
    assert ", the majority class 0.0000, TF-IDF with logistic regression " in done.err
    warnings = [line for line in warnings_of(done) if line.startswith("warning: every row gets the label ")]
    assert len(warnings) == 1
    assert "the model is not better than the majority class; try another --learning_rate" in warnings[0]


def test_no_warning_if_the_model_learned(classify, trained, trained_flags):
    done = classify(*trained_flags, f"--output_dir={trained}", "--nodo_predict")
    assert done.code == 0
    assert ", TF-IDF with logistic regression " in done.err
    assert warnings_of(done) == []


@pytest.mark.slow  # two trainings
def test_multi_label_model_without_predictions(classify, model_flags, tmp_path):
    """Each label is rare, so a bias below 0 in the untrained logits prevents all predictions.

    A second evaluation of the finished run tunes the thresholds.
    """
    rows = [[text, str(int(number % 6 == 0)), str(int(number % 6 == 1))] for number, text in enumerate(TEXTS)]
    table = write_rows(tmp_path / "rows.tsv", [["text", "one", "two"], *rows])
    flags = {"train_file": table, "dev_file": table, "output_dir": tmp_path / "out", "label_column": "one,two"}
    flags |= {"learning_rate": 0.001, "num_train_epochs": 4}
    for threshold in ("0.5", "tuned"):
        done = classify(*model_flags, *words(flags), "--do_train", "--do_eval", f"--threshold={threshold}")
        assert done.code == 0, done.err
        baselines = RunFolder(tmp_path / "out").report()["baselines"]
        assert baselines["majority"]["micro_f1"] == 0
        assert baselines["tfidf"].keys() >= {"micro_f1", "macro_f1", "subset_accuracy", "roc_auc"}
        warning_lines = [line for line in done.lines if line.startswith("warning: no row gets a label")]
        assert ("--threshold=tuned" in warning_lines[0]) if threshold == "0.5" else not warning_lines


@pytest.mark.slow  # test_classify_kinds.py trains and evaluates with numbers
def test_numbers(classify, model_flags, tmp_path):
    rows = [[text, str(3.5 if of_people else 1)] for text, of_people in SENTENCES]
    table = write_rows(tmp_path / "rows.tsv", [["text", "stars"], *rows])
    flags = {"train_file": table, "dev_file": table, "output_dir": tmp_path / "out", "label_column": "stars"}
    done = classify(*model_flags, *words(flags), "--problem_type=regression", "--do_train", "--do_eval")
    assert done.code == 0, done.err
    baselines = RunFolder(tmp_path / "out").report()["baselines"]
    assert list(baselines) == ["mean", "ridge"]
    assert baselines["mean"]["rmse"] == pytest.approx(1.25)  # half the distance between the two values
    assert "pearson" not in baselines["mean"]  # a constant has no correlation
    assert baselines["ridge"]["pearson"] > 0.9
    assert "Pearson's correlation: the model " in done.err
    assert ", TF-IDF with ridge regression " in done.err
    # After these few steps the small network still predicts about the mean.
    assert ["every row gets nearly the same value" in line for line in warnings_of(done)] == [True]


@pytest.mark.slow  # test_classify_choice.py checks the baselines of a user's file
def test_choice_has_only_the_most_frequent_index(classify, model_flags, tmp_path):
    rows = [[text, "a dog", "a cat", str(int(number % 3 == 0))] for number, text in enumerate(TEXTS)]
    table = write_rows(tmp_path / "rows.tsv", [["text", "first", "second", "answer"], *rows])
    flags = {"train_file": table, "dev_file": table, "output_dir": tmp_path / "out", "label_column": "answer"}
    flags |= {"choice_columns": "first,second", "num_train_epochs": 1}
    done = classify(*model_flags, *words(flags), "--do_train", "--do_eval")
    assert done.code == 0, done.err
    assert RunFolder(tmp_path / "out").report()["baselines"] == {"majority": {"accuracy": pytest.approx(2 / 3)}}


def test_sample_of_the_training_rows(trained, trained_flags, classify, monkeypatch):
    """Each evaluation draws the same rows."""
    monkeypatch.setattr(results, "_MAX_CHARACTERS", 300)
    reports = []
    for _ in range(2):
        assert classify(*trained_flags, "--nodo_predict", f"--output_dir={trained}").code == 0
        reports.append(RunFolder(trained).report()["baselines"])
        (trained / "run_report.json").unlink()
    assert reports[0] == reports[1]
    assert reports[0]["majority"]["accuracy"] == np.float32(6 / 11)
    assert 0.5 < reports[0]["tfidf"]["accuracy"] < 1


@pytest.mark.slow  # test_sample_of_the_training_rows uses the command
def test_report_from_python(model, tmp_path):
    """A sample of the training rows is the same in each evaluation."""
    options = {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 32,
        "train_batch_size": 8,
        "num_train_epochs": 1,
        "report": False,
    }
    labels = ["person" if of_people else "animal" for _, of_people in SENTENCES]
    reports = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "_MAX_CHARACTERS", 300)
        for _ in range(2):  # the second call evaluates the finished run
            made = Classifier.fit(TEXTS, labels, TEXTS, labels, output_dir=tmp_path / "out", **options)
            reports.append(made.report["baselines"])
            report_path = tmp_path / "out" / "run_report.json"
            assert json.loads(report_path.read_text())["baselines"] == reports[-1]
            report_path.unlink()
    assert reports[0] == reports[1]
    assert reports[0]["majority"]["accuracy"] == np.float32(0.5)
    assert 0.5 < reports[0]["tfidf"]["accuracy"] < 1
