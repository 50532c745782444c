"""Label distributions: --soft_labels in files, and in Python."""

import json

import numpy as np
import pandas as pd
import pytest

from bert_cli import Classifier
from bert_cli.base.errors import InputError
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import assert_same_tensors, words
from tests.rows import write_rows
from tests.snapshots import check_message, raises

TEXTS = [text for text, _ in SENTENCES[:8]]
SHARES = np.linspace(0.05, 0.95, 8).round(3)
ROWS = np.stack([1 - SHARES, SHARES], axis=1)


@pytest.fixture
def options(model):
    return {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 16,
        "train_batch_size": 4,
        "num_train_epochs": 1.0,
        "precision": "float32",
    }


SOFT = {"problem_type": "single_label", "soft_labels": True}


def test_columns_lists_and_python_are_equal(classify, options, tmp_path, run_folder):
    table, lines = tmp_path / "a.csv", tmp_path / "b.jsonl"
    frame = pd.DataFrame(ROWS, columns=["animal", "person"])
    frame.assign(text=TEXTS).to_csv(table, index=False)
    write_rows(lines, [{"text": text, "label": row.tolist()} for text, row in zip(TEXTS, ROWS, strict=True)])
    more = {"a": {"train_file": table, "dev_file": table, "label_column": "animal,person"}, "b": {"train_file": lines}}
    for name, flags in more.items():
        evaluates = ["--do_eval"] if name == "a" else ["--noreport"]
        done = classify(*words(options | SOFT | flags | {"output_dir": tmp_path / name}), "--do_train", *evaluates)
        assert done.code == 0, done.err
        check_message(done.err, "distributions over 2 labels")
    fitted = Classifier.fit(
        TEXTS,
        frame,
        dev_texts=TEXTS,
        dev_labels=frame[["person", "animal"]],
        output_dir=tmp_path / "c",
        **options,
        **SOFT,
    )
    assert fitted.labels == ("animal", "person")
    tensors = run_folder(tmp_path / "a").tensors(2)
    for name in "bc":
        assert_same_tensors(run_folder(tmp_path / name).tensors(2), tensors)
    assert Classifier.load(tmp_path / "b").labels == ("0", "1")
    report = json.loads((tmp_path / "a" / "run_report.json").read_text("utf-8"))
    assert fitted.report["eval"] == report["eval"]
    # The cross-entropy, and the accuracy for the most probable label, by NumPy.
    probabilities = np.asarray(fitted.predict(TEXTS).probabilities, np.float64)
    expected = -(ROWS * np.log(probabilities)).sum(axis=1).mean()
    assert report["eval"]["eval_cross_entropy"] == pytest.approx(expected, rel=1e-5)
    is_right = probabilities.argmax(axis=1) == ROWS.argmax(axis=1)
    assert report["eval"]["eval_accuracy"] == pytest.approx(is_right.mean())
    # A later evaluation reads the columns by the remembered flags.
    done = classify("--do_eval", f"--dev_file={table}", f"--output_dir={tmp_path / 'a'}", "--precision=float32")
    assert done.code == 0, done.err
    again = json.loads((tmp_path / "a" / "run_report.json").read_text("utf-8"))["eval"]
    assert again["eval_cross_entropy"] == report["eval"]["eval_cross_entropy"]
    assert fitted.evaluate(TEXTS, frame) == fitted.evaluate(TEXTS, ROWS.tolist())
    assert fitted.evaluate(TEXTS, ROWS)["eval_cross_entropy"] == pytest.approx(expected, rel=1e-5)
    assert "eval_cross_entropy" not in fitted.evaluate(TEXTS, frame.idxmax(axis=1))
    # Other probabilities are another training.
    manifests = [json.loads((tmp_path / name / "run.json").read_text("utf-8")) for name in "abc"]
    assert len({manifest["label_distributions"] for manifest in manifests}) == 1


def test_certain_distributions_are_labels(options, tmp_path, run_folder):
    certain = np.eye(2)[ROWS.argmax(axis=1)]
    names = [str(label) for label in ROWS.argmax(axis=1)]
    both = {"label_smoothing": 0.1, "class_weights": {"0": 0.5, "1": 2.0}, "report": False}
    Classifier.fit(TEXTS, certain, output_dir=tmp_path / "a", **options, **SOFT, **both)
    Classifier.fit(TEXTS, names, output_dir=tmp_path / "b", **options, **both)
    tensors = run_folder(tmp_path / "b").tensors(2)
    for name, tensor in run_folder(tmp_path / "a").tensors(2).items():
        np.testing.assert_allclose(tensor, tensors[name], atol=2e-6, err_msg=name)


def test_with_a_teacher_weights_and_the_best_cross_entropy(classify, options, tmp_path):
    hard = [("text", "label"), *zip(TEXTS, ["animal"] * 4 + ["person"] * 4, strict=True)]
    teacher = {"train_file": write_rows(tmp_path / "t.tsv", hard), "output_dir": tmp_path / "t"}
    assert classify(*words(options | teacher), "--do_train", "--noreport").code == 0
    frame = pd.DataFrame(ROWS, columns=["animal", "person"]).assign(text=TEXTS, votes=range(8), author=list("aabbccdd"))
    frame.to_csv(tmp_path / "a.csv", index=False)
    flags = {
        "train_file": tmp_path / "a.csv", "label_column": "animal,person", "weight_column": "votes",
        "group_column": "author", "dev_split": 0.5, "distill_from": tmp_path / "t", "eval_every": "epoch",
        "unlabeled_file": write_rows(tmp_path / "more.txt", ["one more text", "and another"]),
        "metric_for_best": "cross_entropy", "output_dir": tmp_path / "out", "early_stopping_patience": 1,
    }  # fmt: skip
    done = classify(*words(options | SOFT | flags), "--do_train", "--do_eval")
    assert done.code == 0, done.err
    best = json.loads((tmp_path / "out" / "best.json").read_text("utf-8"))
    assert best["metric"] == "eval_cross_entropy"


def test_folds_and_a_frozen_encoder(options):
    result = Classifier.fit(TEXTS, ROWS, cross_validation=2, freeze_encoder=True, report=False, **options, **SOFT)
    assert result.out_of_fold["given"].tolist() == [str(label) for label in ROWS.argmax(axis=1)]
    assert 0 < result.mean["eval_cross_entropy"] < 2


def test_tables_in_memory(options):
    short = {**options, **SOFT, "report": False}
    columns = pd.DataFrame(ROWS, columns=["a", "b"]).assign(text=TEXTS)
    of_columns = Classifier.train(columns, label_column="a,b", **short)
    of_lists = Classifier.train(list(zip(TEXTS, map(list, ROWS), strict=True)), **short)
    of_dicts = Classifier.train(
        [{"text": text, "label": {"a": row[0], "b": row[1]}} for text, row in zip(TEXTS, ROWS, strict=True)], **short
    )
    votes = (ROWS * 1000).round().astype(int)
    of_votes = Classifier.fit(TEXTS, [*votes[:-1], votes[-1]], normalize_soft_labels=True, **short)
    assert [model.labels for model in (of_columns, of_lists, of_dicts, of_votes)] == [
        ("a", "b"),
        ("0", "1"),
        ("a", "b"),
        ("0", "1"),
    ]
    expected = of_columns.predict(TEXTS).probabilities
    for model in (of_lists, of_dicts, of_votes):
        np.testing.assert_allclose(model.predict(TEXTS).probabilities, expected, atol=1e-5)
    with raises(InputError, "labels[0]: is missing"):
        Classifier.fit(TEXTS, [None, *ROWS[1:]], **short)
    assert (
        len(Classifier.fit(TEXTS, [None, *ROWS[1:]], skip_unlabeled=True, **short).data_facts["train"]["left_out"]) == 1
    )


def test_refused_distributions(refused, tmp_path):
    path = write_rows(tmp_path / "a.csv", ["text,a,b", f"{TEXTS[0]},0.5,0.5", f"{TEXTS[1]},3,1"])
    flags = ["--do_train", f"--train_file={path}", "--label_column=a,b", "--problem_type=single_label"]
    refused([*flags, "--soft_labels"], f"{path}:3: the probabilities 3, 1 sum to 4")
    refused(flags, f"{path}:2: column a is '0.5', 0 or 1 is needed")
    lines = write_rows(tmp_path / "a.jsonl", [{"text": text, "label": [0.2, 0.8]} for text in TEXTS])
    refused(["--do_train", f"--train_file={lines}"], f"{lines}:1: holds numbers other than 0 and 1")


def test_refused_distributions_in_python():
    for labels, message in (
        (ROWS * 2, "texts[0]: the probabilities 1.9, 0.1 sum to 2"),
        (["a"] * 8, "labels[0]: a row with a probability per label is needed"),
        (ROWS[:, :1], "labels[0]: a row with a probability per label is needed"),
        (ROWS[:-1], "texts has 8 entries and its labels 7"),
    ):
        with raises(InputError, message):
            Classifier.fit(TEXTS, labels, soft_labels=True)
    with raises(InputError, "labels[0]: holds numbers other than 0 and 1"):
        Classifier.fit(TEXTS, ROWS)
