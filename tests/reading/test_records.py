"""JSON values with their lines."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.records import looks_like_json, read_document, unwrap_rows
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}\n\n{"b": 2}\n', [(1, {"a": 1}), (3, {"b": 2})]),
        ('\n{"a": 1}', [(2, {"a": 1})]),
        ('{\n "a": 1\n}\n\n{"b":\n2}', [(1, {"a": 1}), (5, {"b": 2})]),
        ('[\n {"a": 1}\n]', [(1, [{"a": 1}])]),
        ('["a", {}]\n["b", {}]\r\n', [(1, ["a", {}]), (2, ["b", {}])]),
        ("", []),
    ],
)
def test_values_and_their_lines(text, expected):
    assert read_document("a.json", text).values == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1}\n{"b": ]}\n', "a.json:2: "),
        ('{"a": [1}\n{"b": 2}\n', "a.json:1: "),
        ('{"a":\n1}\n  {"b": 2,\n "c"}', "a.json:4: "),
        ('{"a":\n1}  {"b" 2}', "a.json:2: "),
        ('{"a": 1},\n{"a": 2}', "a.json:1: "),
        ('[{"a": 1},\n {"b": 2}', "a.json:2: "),
        ("[" * 100_000, "a.json:1: "),
    ],
)
def test_errors_have_line_and_column(text, place):
    with raises(InputError, place):
        read_document("a.json", text)


def test_a_comma_too_many_is_an_error():
    """Python 3.13 has another reason and column than earlier versions."""
    with pytest.raises(InputError, match=r"^a\.json:2: is not JSON: "):
        read_document("a.json", '{\n "a": [1,]\n}')


def test_array_items_have_lines():
    text = '{\n"names": ["[", "}"],\n"rows":\n[\n{"a": 1},\n\n{"b": 2}, null]}'
    document = read_document("a.json", text)
    assert document.items("rows") == [(5, {"a": 1}), (7, {"b": 2}), (7, None)]
    assert document.items("names") == [(2, "["), (2, "}")]
    assert read_document("a.json", "\n\n\n[\n\n1, 2]").items() == [(6, 1), (6, 2)]
    # If a name is repeated, the last member is used, as in Python's json module.
    assert read_document("a.json", '{"a": [1], "a": [2]}').items("a") == [(1, 2)]


@pytest.mark.parametrize(
    ("value", "expected", "unread"),
    [
        ({"data": [{"a": 1}]}, [{"a": 1}], []),
        ({"version": 1, "train": [{"a": 1}], "test": [{"a": 2}]}, [{"a": 1}], ["version", "test"]),
        ({"rows": [{"row": {"a": 1}, "row_idx": 0}], "features": []}, [{"a": 1}], ["features", "row_idx"]),
        (
            {"words": [["a"], ["b"]], "tags": [["O"], ["O"]]},
            [{"words": ["a"], "tags": ["O"]}, {"words": ["b"], "tags": ["O"]}],
            [],
        ),
        (
            {"words": [["a"], ["b"]], "tags": [["O"]], "version": 2},
            [{"words": ["a"], "tags": ["O"]}, {"words": ["b"]}],
            ["version"],
        ),
        ({"words": ["a"]}, [], []),
        ([{"a": 1}], [], []),
    ],
)
def test_rows_of_data_sets(value, expected, unread):
    assert unwrap_rows(value) == (expected, unread)


@pytest.mark.parametrize(
    ("name", "text", "is_json"),
    [
        ("a.txt", '{"text": "a"}', True),
        ("a.txt", '\n{\n  "text": "a"}', True),
        ("a.txt", '[\n  {"data": {', True),
        ("a.txt", '[["a \\" b", {', True),
        ("a.txt", '["a", {"entities"', True),
        ("a.txt", "[{'text': 'a'}]", True),
        ("a.txt", "[ ]\n", True),
        ("a.txt", "[ O\n] O\n", False),
        ("a.txt", "{ O\n", False),
        ("a.txt", '[\n"\n', False),
        ("a.txt", "Anna\tB-PER\n", False),
        ("a.JSONL", "{ O\n", True),
        ("a.json", "Anna\tB-PER\n", False),
    ],
)
def test_words_in_columns_may_begin_with_a_bracket(name, text, is_json):
    assert looks_like_json(name, text) == is_json


def test_cells_that_a_server_cut_are_refused():
    rows = [{"row": {"a": 1}, "truncated_cells": []}, {"row": {"a": 2, "b": 3}, "truncated_cells": ["a", "b"]}]
    with raises(InputError):
        read_document("a.json", json.dumps({"rows": rows}))
    assert read_document("a.json", json.dumps({"rows": rows[:1]})).root == {"rows": rows[:1]}
