"""An evaluation of bert-classify beside the majority class and TF-IDF: in the log, in run_report.json, and from Python."""

import json

import numpy as np
import pytest

from bert_cli import Classifier
from bert_cli.runs.tasks.classification import baselines
from tests.commands.conftest import SENTENCES, write_table
from tests.commands.helpers import RunFolder, words

TEXTS = [text for text, _ in SENTENCES]


def warnings_of(done):
    """The lines of warning, but for the one that these small models start from random weights."""
    return [line for line in done.lines if line.startswith("warning:") and "RANDOM" not in line]


def test_single_label(trained):
    """11 dev rows, of which 6 are not of people; the constant is the first of equally frequent labels."""
    found = RunFolder(trained).report()["baselines"]
    assert list(found) == ["majority", "tfidf"]
    assert [list(values) for values in found.values()] == [["accuracy", "mcc", "f1"]] * 2
    assert found["majority"]["mcc"] == 0
    assert found["tfidf"]["accuracy"] > found["majority"]["accuracy"]


def test_a_later_evaluation_without_the_training_rows_has_none(trained, classify):
    assert RunFolder(trained).report()["baselines"]
    done = classify("--do_eval", f"--output_dir={trained}")
    assert done.code == 0
    assert RunFolder(trained).report()["baselines"] == {}
    assert "warning" not in done.err


def test_log_and_warning_of_a_model_that_learns_nothing(classify, flags, tmp_path):
    done = classify(*flags, "--do_train", "--do_eval", "--learning_rate=0", f"--output_dir={tmp_path / 'out'}")
    assert done.code == 0
    assert "Matthews' correlation: the model " in done.err
    assert ", the majority class 0.0000, TF-IDF with logistic regression " in done.err
    warnings = [line for line in warnings_of(done) if line.startswith("warning: every row gets the label ")]
    assert len(warnings) == 1
    assert "the model is not better than the majority class; try another --learning_rate" in warnings[0]


def test_no_warning_where_the_model_learned(classify, flags, tmp_path):
    done = classify(*flags, "--do_train", "--do_eval", f"--output_dir={tmp_path / 'out'}")
    assert done.code == 0
    assert warnings_of(done) == []


def write_rows(path, header, rows):
    write_table(path, [header, *rows])
    return path


@pytest.mark.parametrize("threshold", ["0.5", "tuned"])
def test_multi_label_that_predicts_nothing(threshold, classify, model_flags, tmp_path):
    """Each label is rare, so an untrained bias of the logits below 0 keeps all of them away."""
    rows = [[text, str(int(number % 6 == 0)), str(int(number % 6 == 1))] for number, text in enumerate(TEXTS)]
    table = write_rows(tmp_path / "rows.tsv", ["text", "one", "two"], rows)
    given = {"train_file": table, "dev_file": table, "output_dir": tmp_path / "out", "label_column": "one,two"}
    given |= {"learning_rate": 0.001, "num_train_epochs": 4, "threshold": threshold}
    done = classify(*model_flags, *words(given), "--do_train", "--do_eval")
    assert done.code == 0, done.err
    found = RunFolder(tmp_path / "out").report()["baselines"]
    assert found["majority"]["micro_f1"] == 0
    assert found["tfidf"].keys() >= {"micro_f1", "macro_f1", "subset_accuracy", "roc_auc"}
    said = [line for line in done.lines if line.startswith("warning: no row gets a label")]
    assert ("--threshold=tuned" in said[0]) if threshold == "0.5" else not said


def test_numbers(classify, model_flags, tmp_path):
    rows = [[text, str(3.5 if of_people else 1)] for text, of_people in SENTENCES]
    table = write_rows(tmp_path / "rows.tsv", ["text", "stars"], rows)
    given = {"train_file": table, "dev_file": table, "output_dir": tmp_path / "out", "label_column": "stars"}
    done = classify(*model_flags, *words(given), "--problem_type=regression", "--do_train", "--do_eval")
    assert done.code == 0, done.err
    found = RunFolder(tmp_path / "out").report()["baselines"]
    assert list(found) == ["mean", "ridge"]
    assert found["mean"]["rmse"] == pytest.approx(1.25)  # half of the distance of the two values
    assert "pearson" not in found["mean"]  # a constant has no correlation
    assert found["ridge"]["pearson"] > 0.9
    assert "Pearson's correlation: the model " in done.err
    assert ", TF-IDF with ridge regression " in done.err
    # The small network is close to the mean after these few steps.
    assert ["every row gets nearly the same value" in line for line in warnings_of(done)] == [True]


def test_choice_has_the_most_frequent_ending_alone(classify, model_flags, tmp_path):
    rows = [[text, "a dog", "a cat", str(int(number % 3 == 0))] for number, text in enumerate(TEXTS)]
    table = write_rows(tmp_path / "rows.tsv", ["text", "first", "second", "answer"], rows)
    given = {"train_file": table, "dev_file": table, "output_dir": tmp_path / "out", "label_column": "answer"}
    given |= {"choice_columns": "first,second", "num_train_epochs": 1}
    done = classify(*model_flags, *words(given), "--do_train", "--do_eval")
    assert done.code == 0, done.err
    assert RunFolder(tmp_path / "out").report()["baselines"] == {"majority": {"accuracy": pytest.approx(2 / 3)}}


def test_report_from_python(model, tmp_path):
    """A sample of the training rows gives the same numbers again; texts without a word have no TF-IDF."""
    options = {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 32,
        "train_batch_size": 8,
        "num_train_epochs": 1,
        "report": False,
    }
    labels = ["person" if of_people else "animal" for _, of_people in SENTENCES]
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "_MAX_CHARACTERS", 300)
        for folder in ("one", "two"):
            made = Classifier.fit(
                TEXTS, labels, dev_texts=TEXTS, dev_labels=labels, output_dir=tmp_path / folder, **options
            )
            found.append(made.report["baselines"])
    assert found[0] == found[1]
    assert found[0]["majority"]["accuracy"] == np.float32(0.5)
    assert 0.5 < found[0]["tfidf"]["accuracy"] < 1
    assert json.loads((tmp_path / "one" / "run_report.json").read_text())["baselines"] == found[0]
