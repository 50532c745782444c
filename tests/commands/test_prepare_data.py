"""bert-prepare: a user's table as Google's four columns."""

import csv
import functools
import json
import re

import pandas as pd
import pytest

from bert_cli import prepare_data
from bert_cli.examples.classification import find_labels
from bert_cli.runs.preparation.prepare_data import plan_split_sizes
from bert_cli.settings.data import HeldOut
from bert_cli.settings.preparation import RowSelection
from tests.commands import helpers
from tests.rows import read_task, write_rows
from tests.snapshots import check_message


@pytest.fixture
def prepare(capfd):
    return functools.partial(helpers.call, capfd, "bert-prepare", prepare_data.main)


@pytest.fixture
def table(tmp_path):
    """40 rows with label a, 20 with b, and four that are left out."""
    path = tmp_path / "reviews.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        for number in range(60):
            writer.writerow([f"r{number}", f"line {number}\n\tand\r\n more", "a" if number % 3 else "b"])
        writer.writerows([["r60", " ", "a"], ["r61", "\n", "a"], ["r62", "some text", ""], ["r63", "x", "a", "y"]])
    return path


def rows(path):
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


def test_label_that_looks_like_a_missing_value(prepare, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "one text,NaN\nanother text,x\n" * 10, encoding="utf-8")
    done = prepare(path, tmp_path / "data")
    assert done.code == 0, done.err
    check_message(done.err, f"{path}: ")


def test_rows_without_a_label_are_left_out_with_the_flag(prepare, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "one text,-\nanother text,x\na third,none\nno label,\n" * 10, encoding="utf-8")
    assert "10 row(s) have the label '-', which other programs" in prepare(path, tmp_path / "kept").err
    done = prepare(path, tmp_path / "data", "--skip_unlabeled")
    assert done.code == 0, done.err
    assert {row[1] for row in rows(tmp_path / "data" / "train.tsv")} == {"x", "none"}
    assert "left out     20    no label" in done.err


def test_lists_of_labels(prepare, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "one text,['x']\nanother text,y\nno label,[]\n" * 10, encoding="utf-8")
    done = prepare(path, tmp_path / "data")
    assert done.code == 0, done.err
    assert {row[1] for row in rows(tmp_path / "data" / "train.tsv")} == {"x", "y"}
    assert "left out     10    no label" in done.err
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"text": "a", "label": ["x"]}\n{"text": "b", "label": ["x", "y"]}\n', encoding="utf-8")
    prepare(lines, tmp_path / "data").assert_refused(f"{lines}:2: ")


def test_a_list_of_words_is_a_text_as_in_bert_classify(prepare, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": ["two", "words"], "label": "x"}\n{"text": [], "label": "y"}\n{"text": ["a\\tb"], "label": "y"}\n'
        * 10,
        encoding="utf-8",
    )
    done = prepare(path, tmp_path / "data")
    assert done.code == 0, done.err
    assert {row[-1] for row in rows(tmp_path / "data" / "train.tsv")} == {"two words", "a b"}
    assert "left out     10    no text" in done.err


def test_an_encoding(prepare, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(("text,label\n" + "ein größerer Text,x\nein Café,y\n" * 10).encode("utf-16"))
    prepare(path, tmp_path / "data").assert_refused(f"{path}:1: ")
    done = prepare(path, tmp_path / "data", "--encoding=utf-16")
    assert done.code == 0, done.err
    assert {row[-1] for row in rows(tmp_path / "data" / "train.tsv")} == {"ein größerer Text", "ein Café"}


def test_files_and_figures(prepare, table, tmp_path):
    folder = tmp_path / "data"
    done = prepare(table, folder, "--dev_split=0.1", "--test_split=0.2")
    assert done.code == 0, done.err
    train, dev, test = (rows(folder / f"{split}.tsv") for split in ("train", "dev", "test"))
    assert [len(train), len(dev), len(test)] == [42, 6, 13]
    assert test.pop(0) == ["id", "text"]
    assert {label: [row[1] for row in split_rows].count(label) for split_rows in (dev,) for label in "ab"} == {
        "a": 4,
        "b": 2,
    }
    assert [row[1] for row in train].count("a") == 28
    assert all(len(row) == 4 and row[2] == "" for row in train + dev)
    texts = {row[0]: row[-1] for row in train + dev + test}
    assert texts == {f"r{number}": f"line {number}  and  more" for number in range(60)}
    for split_rows in (train, dev, test):  # in file order
        assert [int(row[0][1:]) for row in split_rows] == sorted(int(row[0][1:]) for row in split_rows)
    table = """
rows read    64
train.tsv    42    a 28, b 14
dev.tsv       6    a 4, b 2
test.tsv     12    a 8, b 4
left out      2    no text
left out      1    no label
left out      1    another number of columns
"""
    assert table in done.err
    assert table.strip().replace("\n", "\n    ") in prepare_data.__doc__


def test_bert_classify_reads_the_files(prepare, table, tmp_path):
    folder = tmp_path / "data"
    assert prepare(table, folder, "--test_split=0.2").code == 0
    train = read_task("cola", "train", str(folder))
    assert find_labels("cola", train) == ("a", "b")
    example_counts = [len(read_task("cola", split, str(folder), labels=("a", "b"))) for split in ("dev", "test")]
    assert [len(train), *example_counts] == [42, 6, 12]


def test_the_same_seed_gives_the_same_files(prepare, table, tmp_path):
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        assert prepare(table, tmp_path / name, f"--random_seed={seed}").code == 0
    first, second, third = ((tmp_path / name / "dev.tsv").read_bytes() for name in ("one", "two", "three"))
    assert first == second != third


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--max_rows=30"], {"a": 20, "b": 10}),
        (["--balance"], {"a": 20, "b": 20}),
        (["--balance", "--max_rows=11"], {"a": 5, "b": 5}),
        (["--max_rows=1000"], {"a": 40, "b": 20}),
    ],
)
def test_fewer_rows(prepare, table, tmp_path, flags, expected):
    done = prepare(table, tmp_path / "data", "--dev_split=0", *flags)
    assert done.code == 0, done.err
    labels = [row[1] for row in rows(tmp_path / "data" / "train.tsv")]
    assert {label: labels.count(label) for label in "ab"} == expected
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["prepared.json", "train.tsv"]


def test_every_label_keeps_a_row_to_train_on():
    planned = plan_split_sizes({"a": 1, "b": 2, "c": 10}, RowSelection(dev_split=HeldOut(0.5), test_split=HeldOut(0.4)))
    assert planned == {
        "a": {"train": 1, "dev": 0, "test": 0},
        "b": {"train": 1, "dev": 0, "test": 1},
        "c": {"train": 1, "dev": 5, "test": 4},
    }


def test_dev_split_and_test_split_take_a_count_of_rows(prepare, tmp_path):
    """This is like bert-classify's --dev_split; the labels keep their proportion."""
    lines = [f"row {number},{'aab'[number % 3]}" for number in range(30)]
    table = write_rows(tmp_path / "table.csv", ["text,label", *lines])
    folder = tmp_path / "data"
    assert prepare(table, folder, "--dev_split=7", "--test_split=6").code == 0
    labels = {split: [row[1] for row in rows(folder / f"{split}.tsv")] for split in ("train", "dev")}
    assert {split: (split_labels.count("a"), split_labels.count("b")) for split, split_labels in labels.items()} == {
        "train": (11, 6), "dev": (5, 2),
    }  # fmt: skip
    assert len(rows(folder / "test.tsv")) == 6 + 1  # and the header
    done = prepare(table, folder, "--dev_split=20", "--test_split=10")
    done.assert_refused("--dev_split=20 --test_split=10: ")
    for text in ("first:7", "1.5", "7%"):
        done = prepare(table, folder, f"--test_split={text}")
        done.assert_refused(f"--test_split={text}: ")


def test_its_own_files_are_replaced_and_no_others(prepare, table, tmp_path):
    folder = tmp_path / "data"
    assert prepare(table, folder, "--test_split=0.2").code == 0
    assert prepare(table, folder, "--random_seed=3").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["dev.tsv", "prepared.json", "train.tsv"]
    (folder / "dev.tsv").write_text("mine\n", encoding="utf-8")
    before = helpers.snapshot(folder)
    prepare(table, folder).assert_refused(f"{folder}/dev.tsv: ")
    assert helpers.snapshot(folder) == before


@pytest.mark.parametrize("name", ["train.tsv", "dev.tsv", "test.tsv", "prepared.json"])
def test_other_files_are_not_overwritten(prepare, table, tmp_path, name):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / name).write_text("{}" if name.endswith("json") else "mine\n", encoding="utf-8")
    before = helpers.snapshot(folder)
    prepare(table, folder).assert_refused(folder / name)
    assert helpers.snapshot(folder) == before


def test_input_file_is_not_overwritten(prepare, tmp_path):
    (tmp_path / "train.tsv").write_text("text\tlabel\na\tx\nb\ty\n", encoding="utf-8")
    prepare(tmp_path / "train.tsv", tmp_path).assert_refused("train.tsv: ")


@pytest.mark.parametrize(
    ("arguments", "content", "fragment"),
    [
        ([], "text,label\na,x\nb,y\n", "--dev_split=0.1: "),
        (["--dev_split=0.6", "--test_split=0.6"], "text,label\na,x\n", ""),
        ([], "premise,hypothesis,label\na,b,x\n", "holds pairs of texts"),
        (["--label_column=x,y"], "text,x,y\na,0,1\n", ""),
        ([], "text,label\n ,x\n", ""),
        ([], "", "is empty"),
        (
            [],
            "text,stance\na,x\n",
            "--header=yes",
        ),
        (["--balance", "--max_rows=1"], "text,label\na,x\nb,y\n", "--max_rows=1: "),
    ],
)
def test_refused(prepare, tmp_path, arguments, content, fragment):
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    prepare(tmp_path / "a.csv", tmp_path / "data", *arguments).assert_refused(fragment)
    assert not (tmp_path / "data").exists()


def test_paths(prepare, tmp_path):
    prepare(tmp_path / "a.csv").assert_refused()
    prepare(tmp_path / "a.csv", tmp_path / "data").assert_refused("a.csv: no such file")


def test_real_files(prepare, shared, tmp_path):
    spam = shared / "data/sms_spam/SMSSpamCollection.tsv"
    assert prepare(spam, tmp_path / "spam", "--text_column=1", "--label_column=0").code == 0
    listed = json.loads((tmp_path / "spam/prepared.json").read_text("utf-8"))
    assert set(listed["files"]) == {"train.tsv", "dev.tsv"}
    labels, folder = ("ham", "spam"), str(tmp_path / "spam")
    assert [len(read_task("cola", split, folder, labels=labels)) for split in ("train", "dev")] == [5016, 558]


def test_quoting_of_a_tab_separated_file(prepare, tmp_path):
    """Without --quoting, rows with tabs or line ends in quotes are split; one warning reports it.

    The file is read twice.
    """
    path = tmp_path / "reviews.tsv"
    forms = ("row {} here", 'row "{}"', "row\t{}", "row\n{}")
    texts = [form.format(number) for number in range(10) for form in forms]
    pd.DataFrame({"text": texts, "label": ["a", "b"] * 20}).to_csv(path, sep="\t", index=False)
    done = prepare(path, tmp_path / "literal")
    assert done.err.count("--quoting=csv reads them as pandas wrote them") == 1
    check_message(done.err, f"{path}: ")
    assert re.search(r"^left out +20 +another number of columns$", done.err, re.MULTILINE)
    done = prepare(path, tmp_path / "data", "--quoting=csv")
    assert done.code == 0, done.err
    assert "warning" not in done.err
    text_by_id = {row[0]: row[3] for split in ("train", "dev") for row in rows(tmp_path / "data" / f"{split}.tsv")}
    assert text_by_id == {str(number): " ".join(text.split()) for number, text in enumerate(texts)}
