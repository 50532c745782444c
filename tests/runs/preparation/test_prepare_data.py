"""Rows that are counted, planned and written as four columns."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.runs.preparation.labeled_file import LabeledFile
from bert_cli.runs.preparation.prepare_data import LISTING, check_folder, count_labels, plan_split_sizes, write_splits
from bert_cli.settings.data import HeldOut
from bert_cli.settings.preparation import RowSelection
from tests.rows import write_rows
from tests.snapshots import raises

LINES = ["text,label", *(f"text {number},{'good' if number % 3 else 'bad'}" for number in range(12)), ",good", "x,"]


@pytest.fixture
def source(tmp_path) -> LabeledFile:
    """Return a table with 8 good and 4 bad rows, a row without text and one without label."""
    path = write_rows(tmp_path / "a.csv", LINES)
    return LabeledFile.open(str(path), ColumnRules())


def test_rows_per_label(source):
    counts, dropped = count_labels(source)
    assert counts == {"bad": 4, "good": 8}
    assert dropped == {"no text": 1, "no label": 1}


def test_pairs_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("text_a,text_b,label\na,b,c\n")
    with raises(InputError, "a.csv: "):
        LabeledFile.open(str(tmp_path / "a.csv"), ColumnRules())


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (RowSelection(dev_split=HeldOut(0.25)), {"bad": (3, 1, 0), "good": (6, 2, 0)}),
        (RowSelection(dev_split=HeldOut(count=3), test_split=HeldOut(0.25)), {"bad": (2, 1, 1), "good": (4, 2, 2)}),
        (RowSelection(dev_split=HeldOut(0.25), balance=True), {"bad": (3, 1, 0), "good": (3, 1, 0)}),
        (RowSelection(dev_split=HeldOut(), max_rows=6), {"bad": (2, 0, 0), "good": (4, 0, 0)}),
    ],
)
def test_plans_are_stratified(selection, expected):
    planned = plan_split_sizes({"bad": 4, "good": 8}, selection)
    assert {label: tuple(numbers.values()) for label, numbers in planned.items()} == expected


def test_something_must_be_left_to_train_on():
    with raises(InputError, "--dev_split=12 --test_split=0.0: "):
        plan_split_sizes({"bad": 4, "good": 8}, RowSelection(dev_split=HeldOut(count=12)))


def test_files_have_exactly_the_planned_rows(source, tmp_path):
    counts, _ = count_labels(source)
    planned = plan_split_sizes(counts, RowSelection(dev_split=HeldOut(0.25), test_split=HeldOut(0.25)))
    folder = tmp_path / "out"
    folder.mkdir()
    assert write_splits(source, counts, planned, str(folder), 1, set()) == ["train.tsv", "dev.tsv", "test.tsv"]
    rows = {name: (folder / f"{name}.tsv").read_text().splitlines() for name in ("train", "dev", "test")}
    assert [len(rows[name]) for name in rows] == [6, 3, 1 + 3]
    assert sorted(line.split("\t")[1] for line in rows["dev"]) == ["bad", "good", "good"]
    assert rows["test"][0] == "id\ttext"
    numbers = [line.rpartition(" ")[2] for lines in rows.values() for line in lines if "text " in line]
    assert sorted(map(int, numbers)) == list(range(12))


def test_only_unchanged_files_are_replaced(source, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    counts, _ = count_labels(source)
    write_splits(source, counts, plan_split_sizes(counts, RowSelection(dev_split=HeldOut(0.25))), str(folder), 1, set())
    assert check_folder(str(folder), source.path) == {"train.tsv", "dev.tsv"}
    (folder / "dev.tsv").write_text("mine")
    with raises(InputError, "dev.tsv: "):
        check_folder(str(folder), source.path)
    (folder / LISTING).write_text(json.dumps([1]))
    with raises(InputError, "prepared.json: "):
        check_folder(str(folder), source.path)
