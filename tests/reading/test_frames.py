"""Workbooks, Parquet and Feather files: cells, sheets and errors."""

import datetime
import functools
import pathlib
import re
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest

from bert_cli.reading import frames
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import TextForm
from tests.input_errors import error_of
from tests.snapshots import check_message

FRAME = pd.DataFrame({
    "id": [101, 102, 103], "text": ["ein schöner Film", "dull", None], "stars": [5.0, 2.5, 0.1 + 0.2],
    "seen": [datetime.datetime(2024, 3, 1), datetime.datetime(2024, 3, 1, 14, 30), None], "good": [True, False, True],
})  # fmt: skip


@pytest.fixture
def rows(tmp_path):
    def read(name: str, sheet: str | None = None) -> list:
        return list(open_table(str(tmp_path / name), "train_file", TextForm(sheet=sheet)).filled_rows())

    return read


@pytest.fixture
def refused(rows):
    return functools.partial(error_of, rows)


@pytest.mark.parametrize("name", ["t.xlsx", "t.ods"])
def test_cells_are_formatted_like_in_the_sheet(rows, tmp_path, name):
    FRAME.to_excel(tmp_path / name, index=False)
    assert rows(name) == [
        (1, ["id", "text", "stars", "seen", "good"]),
        (2, ["101", "ein schöner Film", "5", "2024-03-01", "TRUE"]),
        (3, ["102", "dull", "2.5", "2024-03-01 14:30:00", "FALSE"]),
        (4, ["103", "", "0.3", "", "TRUE"]),
    ]


@pytest.mark.parametrize("suffix", ["xlsx", "xls", "ods"])
def test_workbooks_from_libreoffice(suffix):
    path = pathlib.Path(__file__).parents[1] / "fixtures/workbooks" / f"reviews.{suffix}"
    assert list(open_table(str(path), "train_file").filled_rows()) == [
        (1, ["id", "text", "stars", "seen", "share", "good"]),
        (2, ["101", "ein schöner Film, wirklich", "5", "2024-03-01", "12.5", "TRUE"]),
        (3, ["102", "dull", "2.5", "2024-03-02 14:30:00", "0.3", "FALSE"]),
        (4, ["103", "", "1", "", "", "TRUE"]),
    ]


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.feather"])
def test_columns_have_names_and_rows_have_numbers(rows, tmp_path, name):
    frame = FRAME.assign(tags=[["a", "b"], [], ["c"]], image=[b"\x89", b"\x89", b"\x89"], when=datetime.time(8, 5))
    (frame.to_feather if name.endswith("feather") else frame.to_parquet)(tmp_path / name)
    assert rows(name) == [
        (0, ["id", "text", "stars", "seen", "good", "tags", "when"]),
        (1, ["101", "ein schöner Film", "5", "2024-03-01", "True", ("a", "b"), "08:05:00"]),
        (2, ["102", "dull", "2.5", "2024-03-01 14:30:00", "False", (), "08:05:00"]),
        (3, ["103", "", "0.3", "", "True", ("c",), "08:05:00"]),
    ]


def test_named_parquet_index_is_a_column(rows, tmp_path):
    pd.DataFrame({"text": ["a"]}, index=pd.Index(["r7"], name="id")).to_parquet(tmp_path / "t.parquet")
    assert rows("t.parquet") == [(0, ["id", "text"]), (1, ["r7", "a"])]


def workbook(path, **sheets) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, cells in sheets.items():
        sheet = book.create_sheet(name)
        for row in cells:
            sheet.append(row)
    book.save(path)
    return book


def test_lines_are_sheet_rows_and_empty_columns_are_skipped(rows, tmp_path, caplog):
    table = [[None, None], [None, "text", None, "label"], [], [None, "a", None, "x"], [None, "b", " ", "y"]]
    workbook(tmp_path / "t.xlsx", Answers=table)
    assert rows("t.xlsx") == [(2, ["text", "label"]), (4, ["a", "x"]), (5, ["b", "y"])]


def test_sheet_is_named_or_the_only_sheet_with_rows(rows, refused, tmp_path, caplog):
    caplog.set_level("INFO")
    workbook(tmp_path / "one.xlsx", Notes=[], Data=[["text"], ["a"]])
    assert rows("one.xlsx") == [(1, ["text"]), (2, ["a"])]
    assert "took the sheet 'Data'" in caplog.text
    workbook(tmp_path / "two.xlsx", Train=[["text"], ["a"]], Test=[["text"], ["b"]])
    check_message(refused("two.xlsx"), "--sheet=Test")
    assert rows("two.xlsx", "Train")[1] == (2, ["a"])
    assert rows("two.xlsx", "1")[1] == (2, ["b"])
    assert refused("two.xlsx", "Dev").startswith("--sheet=Dev: ")
    book = workbook(tmp_path / "hidden.xlsx", Train=[["text"], ["a"]], Lists=[["x"], ["y"]])
    book["Lists"].sheet_state = "hidden"
    book.save(tmp_path / "hidden.xlsx")
    assert rows("hidden.xlsx") == [(1, ["text"]), (2, ["a"])]


def test_an_empty_workbook_has_no_rows(rows, tmp_path):
    workbook(tmp_path / "t.xlsx", Sheet=[])
    assert rows("t.xlsx") == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.xls", b"text\tlabel\na\tx\n"),
        ("t.xls", b"<html><table><tr><td>text"),
        ("t.xlsx", b"PK\x03\x04 and no more"),
        ("t.ods", b""),
        ("t.parquet", b"text,label\n"),
        ("t.feather", b"PAR1"),
        ("t.csv", b"PK\x03\x04\x14\0"),
        ("t.tsv", b"\xd0\xcf\x11\xe0\xa1"),
        ("t.jsonl", b"PAR1\x15\x04"),
    ],
)  # fmt: skip
def test_contents_in_another_format_are_reported(refused, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert refused(name).startswith(f"{tmp_path / name}: ")
    # The text of a library behind "as Parquet" or "as a workbook" changes with its version.
    check_message(re.sub(r"(cannot be read as [\w ]+): .*", r"\1", refused(name)))


def test_only_workbooks_have_sheets(refused, tmp_path):
    (tmp_path / "t.csv").write_text("text,label\na,x\n")
    assert refused("t.csv", "Data").startswith("--sheet=Data: ")


@pytest.mark.parametrize(("name", "package"), [("t.xlsx", "python_calamine"), ("t.parquet", "pyarrow")])
def test_missing_package_is_reported_with_its_extra(refused, tmp_path, monkeypatch, name, package):
    (FRAME.to_excel if name == "t.xlsx" else FRAME.to_parquet)(tmp_path / name)
    monkeypatch.setitem(sys.modules, package, None)
    check_message(refused(name), package)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("a", "a"), (3.0, "3"), (1e20, "1e+20"), (np.float32(0.5), "0.5"), (np.int64(7), "7"), (np.bool_(True), "True"),
        (float("nan"), ""), (None, ""), (pd.NA, ""), (pd.NaT, ""), (pd.Timestamp("2024-01-02 03:04"), "2024-01-02 03:04:00"),
        (datetime.date(2024, 1, 2), "2024-01-02"), (datetime.timedelta(hours=1), "1:00:00"), ({"a": 1}, None), ([1], None),
    ],
)  # fmt: skip
def test_scalars_are_formatted(value, cell):
    assert frames.format_scalar(value) == cell
