"""Members of nested values as columns, and values that are no texts."""

import pandas
import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.exports.cells import find_unused_members
from tests.reading.exports.labeled import read_labeled, read_table, write_json
from tests.snapshots import raises

RECORDS = [
    {"data": {"body": {"en": "A fine film."}}, "annotations": [{"label": "pos", "by": 1}], "a.b": "x"},
    {"data": {"body": {"en": "Dull."}}, "annotations": [{"label": "neg", "by": 2}], "a.b": "y"},
    {"data": {"body": {"en": "So so."}}, "annotations": [{"label": "pos", "by": 1}], "a.b": "z"},
]
PATHS = {"text_column": "data.body.en", "label_column": "annotations.0.label"}
EXPECTED = [("A fine film.", "pos"), ("Dull.", "neg"), ("So so.", "pos")]


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.parquet"])
def test_members_by_path(name, tmp_path):
    path = tmp_path / name
    if name.endswith("parquet"):
        pandas.DataFrame(RECORDS).to_parquet(path)
    else:
        write_json(path, RECORDS)
    assert read_labeled(path, **PATHS) == ("single_label", EXPECTED)
    assert read_labeled(path, **PATHS | {"label_column": "annotations.label"})[1] == EXPECTED
    table = read_table(path, **PATHS)
    assert table.facts.not_used == ["a.b", "annotations.0.by"]
    assert table.column_flags() == PATHS


@pytest.mark.parametrize(
    ("value", "used", "unused"),
    [
        ({"text": "a", "meta": {"by": 1}}, [["text"]], ["meta"]),
        ({"data": {"text": "a", "by": 1}}, [["data", "text"]], ["data.by"]),
        ({"data": {"text": "a", "by": 1}}, [["data"], ["data", "text"]], []),
        ({"data": {"text": {"en": "a", "de": "b"}, "by": 1}}, [["data", "text", "en"]], ["data.text.de", "data.by"]),
        # All items of a list, or the one with this number.
        ({"chat": [{"role": "x", "text": "a"}, {"text": "b"}]}, [["chat", "text"]], ["chat.role"]),
        ({"chat": [{"role": "x", "text": "a"}, {"text": "b"}]}, [["chat", "0", "text"]], ["chat.0.role", "chat.1"]),
        # Another record may have another type.
        ({"data": "a"}, [["data", "text"]], []),
        (None, [["data", "text"]], []),
    ],
)
def test_members_that_no_path_uses(value, used, unused):
    assert find_unused_members([value, value], used) == unused


def test_a_name_with_a_period_is_a_name(tmp_path):
    path = write_json(tmp_path / "t.jsonl", RECORDS)
    assert [row.text_a for row in read_table(path, needs_label=False, text_column="a.b").rows] == ["x", "y", "z"]


def test_several_labels_and_messages(tmp_path):
    records = [
        {"chat": [{"role": "user", "text": "Hi,"}, {"role": "user", "text": "all."}], "tags": {"names": ["a", "b"]}},
        {"chat": [{"role": "user", "text": "No."}], "tags": {"names": ["b"]}},
    ]
    path = write_json(tmp_path / "t.jsonl", records)
    read = read_labeled(path, text_column="chat.text", label_column="tags.names")
    assert read == ("multi_label", [("Hi, all.", (1, 1)), ("No.", (0, 1))])
    assert [row.text_a for row in read_table(path, text_column="chat.1.text", label_column="tags.names").rows] == [
        "all.",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ({"en": "A fine film.", "de": "Gut."}, "--text_column=text.en"),
        ([{"role": "user", "content": "A fine film."}], "--text_column=text.content"),
        ([["A"], ["fine film."]], "check --text_column"),
        ({"n": 1}, "check --text_column"),
    ],
)
@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_an_object_is_no_text(text, path, name, tmp_path):
    records = [{"text": "Dull.", "label": "neg"}, {"text": text, "label": "pos"}]
    line = {"t.jsonl": 2, "t.json": 6}[name]
    with raises(InputError, f"{name}:{line}: the text from 'text' is ", path):
        read_table(write_json(tmp_path / name, records))
    with pytest.raises(InputError, match="the text from 'text' is"):
        read_table(write_json(tmp_path / name, records), needs_label=False)


def test_an_object_is_no_label(tmp_path):
    records = [
        {"text": "Dull.", "label": {"name": "neg", "by": "x"}},
        {"text": "A", "label": {"name": "pos", "by": "y"}},
    ]
    path = write_json(tmp_path / "t.jsonl", records)
    with raises(InputError, "t.jsonl:1: ", "--label_column=label.name"):
        read_table(path)
    assert read_labeled(path, label_column="label.name")[1] == [("Dull.", "neg"), ("A", "pos")]


def test_missing_members_are_named(tmp_path):
    path = write_json(tmp_path / "t.jsonl", RECORDS)
    with raises(InputError, "t.jsonl:1: --text_column=data.body.fr", "no record has this member"):
        read_table(path, text_column="data.body.fr", label_column="a.b")
