"""Tables in memory from data frames, dicts, tuples and lists; refused tables."""

import re
import types

import numpy as np
import pandas as pd
import pytest

from bert_cli.api.inputs.tables import (
    ColumnNames,
    are_numbers,
    column_names,
    is_path,
    pair_up,
    read_table,
    refuse_label_columns,
)
from bert_cli.api.inputs.texts import read_texts_argument
from bert_cli.base.errors import InputError
from tests.snapshots import raises

FRAME_WITH_LABELS = pd.DataFrame({"text": ["a text"], "label": ["x"]})


def cells(table) -> list[list]:
    return [row.cells for row in table.layout.rows]


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"text": ["a", "b"], "label": [1, None]}, dtype=object),
        [{"text": "a", "label": 1}, {"text": "b"}],
        [("a", 1), ("b", None)],
        [("a", np.int64(1)), ("b", float("nan"))],
    ],
    ids=["data frame", "dicts", "tuples", "numbers of NumPy"],
)
def test_forms_of_a_table(data):
    table = read_table("train", data)
    assert (table.path, table.layout.names) == ("train", ("text", "label"))
    assert [row.line for row in table.layout.rows] == [0, 1]
    assert cells(table) == [["a", "1"], ["b", ""]]


def test_pairs_and_lists_of_labels():
    assert cells(pair_up("texts", [("a", "b"), ("c", "d")], [{"y", "x"}, []])) == [
        ["a", "b", ("x", "y")],
        ["c", "d", ()],
    ]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("a text", "train: "),
        ([], "train: "),
        ({"text": ["a"], "label": ["x"]}, "train: "),
        (types.SimpleNamespace(columns=["text"]), "train: "),
        ([("a", "x"), ("b",)], "train:1: "),
        ([("a", "b", "c", "d")], "train:0: "),
        ([("a", object())], "train:0: "),
        ([("a", ["x", "x"])], "train:0: "),
    ],
)
def test_wrong_tables_are_refused(data, place):
    with raises(InputError, place):
        read_table("train", data)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a"], [], "1 entries and its labels 0"),
        (["a", ("b", "c")], [1, 2], "single texts and pairs"),
        (["a", 3], [1, 2], r"^texts\[1\]: a text"),
        (["a", "b"], [["x"], "y"], "^texts:1: a list of labels"),
    ],
)
def test_wrong_lists_are_refused(texts, labels, message):
    with pytest.raises(InputError, match=message):
        pair_up("texts", texts, labels)


def test_are_numbers():
    assert are_numbers([0.5, 1])
    assert not are_numbers([1, 2])
    assert not are_numbers(["0.5", 0.5])
    assert not are_numbers([])


def test_paths_are_recognized(tmp_path):
    assert is_path("x.tsv")
    assert is_path(tmp_path)
    assert not is_path([("a", "b")])


@pytest.mark.parametrize("labels", [FRAME_WITH_LABELS["label"], FRAME_WITH_LABELS[["label"]]])
def test_labels_among_the_texts_are_refused(labels):
    message = re.escape("texts: the column 'label' has the labels; give the columns with texts alone: ['text']")
    with pytest.raises(InputError, match=message):
        refuse_label_columns("texts", FRAME_WITH_LABELS, labels)


def test_other_labels_may_accompany_a_table():
    for labels in (["x"], FRAME_WITH_LABELS["label"].rename("other"), FRAME_WITH_LABELS["label"].to_numpy()):
        refuse_label_columns("texts", FRAME_WITH_LABELS, labels)
    refuse_label_columns("texts", FRAME_WITH_LABELS[["text"]], FRAME_WITH_LABELS["label"])
    refuse_label_columns("texts", ["a text"], FRAME_WITH_LABELS["label"])


def test_columns_of_texts_and_labels():
    texts, labels = pd.Series(["a"], name="review"), pd.Series([1], name="stars")
    columns = column_names(read_texts_argument(texts), labels)
    assert columns == ("review", "text_b", "stars")
    assert columns.options(has_pairs=False) == {"text_column": "review", "label_column": "stars"}
    assert column_names(read_texts_argument(["a"]), labels.rename(None)) == ColumnNames()
    assert ColumnNames().options(has_pairs=True) == {}
    pairs = read_texts_argument(pd.DataFrame({"question": ["a"], "sentence": ["b"]}))
    assert column_names(pairs, [1]).options(has_pairs=True)["text_b_column"] == "sentence"
    for name in ("3", "a,b", "label", "", " a", '"a"'):
        assert column_names(read_texts_argument(texts.rename(name)), ["x"]) == ColumnNames()
