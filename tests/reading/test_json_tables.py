"""JSON tables in all layouts, and errors."""

import json
import pathlib

import pandas as pd
import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.json_tables import find_json
from bert_cli.reading.source import Source
from tests.snapshots import raises

RECORDS = [{"text": "a fine film", "label": "good"}, {"text": "dull", "label": "bad"}]
ROWS = [["text", "label"], ["a fine film", "good"], ["dull", "bad"]]


def rows(text: str) -> list:
    pathlib.Path("t.json").write_text(text, encoding="utf-8", newline="\n")
    source = Source("t.json")
    return list(find_json(source).rows("t.json", source.lines()))


def cells(text: str) -> list:
    return [row.cells for row in rows(text)]


FRAME = pd.DataFrame(RECORDS)


@pytest.mark.parametrize(
    "text",
    [
        *(FRAME.to_json(orient=orient) for orient in ("records", "columns", "index", "split", "table")),
        FRAME.to_json(orient="records", lines=True),
        FRAME.to_json(orient="records", indent=2),
        json.dumps(FRAME.to_dict("list")),
        json.dumps({"version": "1.0", "data": RECORDS}, indent=1),
        "\n".join(json.dumps(record, indent=4) for record in RECORDS),
        FRAME.set_index(pd.Index(["r1", "r2"])).to_json(),
    ],
)
def test_layouts_of_one_table(text):
    names, *table_rows = cells(text)
    kept = [names.index("text"), names.index("label")]
    assert [[row[column] for column in kept] for row in [names, *table_rows]] == ROWS


def test_members_beside_the_records():
    pathlib.Path("t.json").write_text(json.dumps({"version": 1, "data": RECORDS, "notes": []}), encoding="utf-8")
    assert find_json(Source("t.json")).unread == ("version", "notes")
    pathlib.Path("t.json").write_text(FRAME.to_json(orient="split"), encoding="utf-8")
    assert find_json(Source("t.json")).unread == ("index",)


def answer_of_server(**members: object) -> str:
    return json.dumps({"features": [], "rows": [{"row": record, **members} for record in RECORDS]})


@pytest.mark.parametrize("members", [{}, {"row_idx": 7}, {"row_idx": 7, "truncated_cells": []}])
def test_answers_of_a_data_set_server(members):
    assert cells(answer_of_server(**members)) == ROWS
    assert find_json(Source("t.json")).unread == ("features", *members)


def test_columns_come_from_all_records():
    lines = '{"text": "a"}\n\n{"label": 1, "text": "b"}\n{"text": "c", "extra": null}\n'
    assert rows(lines) == [
        (0, ["text", "label", "extra"]),
        (1, ["a", "", ""]),
        (2, []),
        (3, ["b", "1", ""]),
        (4, ["c", "", ""]),
    ]
    assert cells(json.dumps([{"text": "a"}, {"text": "b", "label": ["x", "y"]}])) == [
        ["text", "label"],
        ["a", ""],
        ["b", ("x", "y")],
    ]


def test_array_items_have_lines_or_numbers():
    assert [row.line for row in rows(json.dumps(RECORDS, indent=1))] == [0, 2, 6]
    assert [row.line for row in rows(json.dumps(RECORDS))] == [0, 1, 2]


def test_arrays_of_texts_and_of_cells_have_no_names():
    assert rows('["one text", "another"]') == [(1, ["one text"]), (2, ["another"])]
    assert rows('[["a", 1],\n["b", 2]]') == [(1, ["a", "1"]), (2, ["b", "2"])]
    # An empty array or text is a row, and only blank lines have no cells.
    assert cells('[["a", 1], []]') == [["a", "1"], [""]]
    assert cells('["a", ""]') == [["a"], [""]]
    assert rows("\n\n") == [(1, []), (2, [])]
    assert rows("[]") == []
    assert rows("") == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1}\n{"a": \n', "t.json:2: "),
        ('{"a": 1}\n[1]\n', "t.json:2: "),
        ('[{"a": 1},\n {"a" 2}]', "t.json:2: "),
        ('[{"a": 1},\n {"a": 2}', "t.json:2: "),
        ('[{"a": 1},\n 3]', "t.json:2: "),
        ("{}\n", "t.json:1: "),
        ("[1, 2]", "t.json:1: "),
        ('{"model": {"x": 1}, "names": [], "n": 3}', "t.json: "),
        ('{"columns": ["a", "b"], "data": [[1]]}', "t.json: "),
        ("[" * 100_000, "t.json:1: "),
    ],
)  # fmt: skip
def test_other_json_is_refused(text, place):
    with raises(InputError, place):
        rows(text)


def test_a_comma_too_many_is_refused():
    """Python 3.13 has another column than earlier versions."""
    with pytest.raises(InputError, match=r"^t\.json:1: is not JSON in column "):
        rows('{"a": 1,}\n{"a": 2}\n{"a": 3}\n')


def test_too_many_keys_are_refused():
    text = "".join(json.dumps({f"id{number}": "a text"}) + "\n" for number in range(1001))
    with pytest.raises(InputError, match="more than 1000 different keys"):
        rows(text)
