"""Weights of rows: --weight_column in files, and sample_weight in Python."""

import csv
import json

import pytest

from bert_cli import Classifier
from bert_cli.base.errors import InputError
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import assert_same_tensors, words
from tests.rows import write_rows
from tests.snapshots import check_message, raises

TEXTS = [text for text, _ in SENTENCES[:8]]
LABELS = {
    "single_label": ["person" if of_people else "animal" for _, of_people in SENTENCES[:8]],
    "regression": [str(number / 8) for number in range(8)],
    "multi_label": [["a"], ["a", "b"], [], ["b"], ["a"], ["b"], [], ["a", "b"]],
}
WEIGHTS = [2, 0.5, 0, 1, 3, 1, 1.25, 0]


@pytest.fixture
def options(model):
    return {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 16,
        "train_batch_size": 4,
        "num_train_epochs": 1.0,
        "precision": "float32",
        "report": False,
    }


@pytest.mark.parametrize("problem_type", LABELS)
def test_a_column_is_the_argument_of_python(classify, options, tmp_path, run_folder, problem_type):
    labels = LABELS[problem_type]
    rows = [
        {"text": text, "label": label, "votes": weight}
        for text, label, weight in zip(TEXTS, labels, WEIGHTS, strict=True)
    ]
    path = write_rows(tmp_path / "a.jsonl", rows)
    flags = {"train_file": path, "weight_column": "votes", "problem_type": problem_type, "output_dir": tmp_path / "a"}
    done = classify(*words(options | flags), "--do_train")
    assert done.code == 0, done.err
    check_message(done.err, "weight from 'votes'")
    labels = list(map(float, labels)) if problem_type == "regression" else labels
    Classifier.fit(
        TEXTS, labels, sample_weight=WEIGHTS, output_dir=tmp_path / "b", problem_type=problem_type, **options
    )
    assert_same_tensors(run_folder(tmp_path / "a").tensors(2), run_folder(tmp_path / "b").tensors(2))
    manifests = [json.loads((tmp_path / name / "run.json").read_text("utf-8")) for name in "ab"]
    assert manifests[0]["weights"] == manifests[1]["weights"]
    # An evaluation needs no weights, and takes the other columns from the run.
    dev = write_rows(tmp_path / "dev.jsonl", [{"text": row["text"], "label": row["label"]} for row in rows])
    done = classify("--do_eval", f"--dev_file={dev}", f"--output_dir={tmp_path / 'a'}")
    assert done.code == 0, done.err


def write_choices(path, labels):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "x", "y", "label", "weight"])
        writer.writerows(
            [text, text, TEXTS[0], label, weight] for text, label, weight in zip(TEXTS, labels, WEIGHTS, strict=True)
        )
    return path


def test_choices_of_weight_0_do_not_matter(classify, options, tmp_path, run_folder):
    for name, wrong in (("a", 0), ("b", 1)):
        labels = [wrong if weight == 0 else 1 for weight in WEIGHTS]
        path = write_choices(tmp_path / f"{name}.csv", labels)
        flags = {"train_file": path, "weight_column": "weight", "choice_columns": "x,y", "output_dir": tmp_path / name}
        assert classify(*words(options | flags), "--do_train", "--choice_labels=0").code == 0
    assert_same_tensors(run_folder(tmp_path / "a").tensors(2), run_folder(tmp_path / "b").tensors(2))


def test_weights_with_a_teacher_and_class_weights(classify, options, tmp_path, run_folder):
    rows = list(zip(TEXTS, LABELS["single_label"], strict=True))
    teacher = {"train_file": write_rows(tmp_path / "t.tsv", [("text", "label"), *rows]), "output_dir": tmp_path / "t"}
    assert classify(*words(options | teacher), "--do_train").code == 0
    unlabeled = write_rows(tmp_path / "more.txt", ["one more text", "and another"])
    for name, labels in (("a", ("person", "animal")), ("b", ("animal", "person"))):
        cells = [
            (text, labels[index % 2] if weight == 0 else label, weight)
            for index, ((text, label), weight) in enumerate(zip(rows, WEIGHTS, strict=True))
        ]
        path = write_rows(tmp_path / f"{name}.tsv", [("text", "label", "weight"), *cells])
        flags = {
            "train_file": path, "weight_column": "weight", "distill_from": tmp_path / "t", "unlabeled_file": unlabeled,
            "class_weights": "person=2,animal=0.5", "output_dir": tmp_path / name,
        }  # fmt: skip
        done = classify(*words(options | flags), "--do_train")
        assert done.code == 0, done.err
    assert_same_tensors(run_folder(tmp_path / "a").tensors(2), run_folder(tmp_path / "b").tensors(2))


@pytest.mark.parametrize("weight", ["", "-0.5", "NaN", "inf", "two"])
def test_refused_weights(refused, tmp_path, weight):
    path = write_rows(tmp_path / "a.csv", [f"text,label,w\n{TEXTS[0]},a,1\n{TEXTS[1]},b,{weight}"])
    refused(["--do_train", f"--train_file={path}", "--weight_column=w"], f"{path}:3: the weight from 'w' is ")


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (["--dev_split=first:2", "--do_eval", "--weighted_metrics"], "evaluate"),
        (["--cross_validation=2", "--group_column=g", "--weighted_metrics"], "evaluate"),
        (["--cross_validation=2", "--group_column=g"], "train"),
    ],
)
def test_refused_parts_without_weight(refused, tmp_path, flags, part):
    lines = [f"{text},{'ab'[n % 2]},{int(n > 1)},{'xy'[n > 1]}" for n, text in enumerate(TEXTS[:4])]
    path = write_rows(tmp_path / "a.csv", ["text,label,w,g", *lines])
    refused(
        ["--do_train", f"--train_file={path}", "--weight_column=w", *flags],
        f"--weight_column: all 2 rows to {part} on have the weight 0",
    )


def test_refused_columns(refused, tmp_path):
    rows = ["text,label,w", f"{TEXTS[0]},a,0", f"{TEXTS[1]},b,0"]
    path = write_rows(tmp_path / "a.csv", rows)
    refused(["--do_train", f"--train_file={path}", "--weight_column=w"], f"{path}: every weight from 'w' is 0")
    refused(["--do_train", f"--train_file={path}", "--weight_column=v"], "--weight_column=v: there is no such column")
    flags = ["--text_column=text", "--weight_column=text"]
    refused(["--do_train", f"--train_file={path}", *flags], "named twice by --weight_column")
    with raises(InputError, "sample_weight: all 2 rows to train on have the weight 0"):
        Classifier.fit(TEXTS, LABELS["single_label"], sample_weight=[1] * 6 + [0] * 2, dev_split="first:6")
    with raises(InputError, "sample_weight: finite weights"):
        Classifier.fit(TEXTS, LABELS["single_label"], sample_weight=[-1.0] * 8)
