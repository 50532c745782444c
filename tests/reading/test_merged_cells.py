"""Merged cells in workbooks count for all their rows."""

import openpyxl
import pytest

from bert_cli.reading.merged_cells import fill_merged_cells
from bert_cli.reading.probe import open_table
from tests.snapshots import check_message


@pytest.fixture
def read(tmp_path, caplog):
    caplog.set_level("INFO")

    def read(rows, *ranges):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        for merged in ranges:
            book.active.merge_cells(merged)
        book.save(tmp_path / "t.xlsx")
        return [row.cells for row in open_table(str(tmp_path / "t.xlsx"), "train_file").filled_rows()]

    return read


def test_labels_and_texts_count_for_the_rows_below(read, caplog):
    rows = [["text", "label"], ["a", "x"], ["b", None], ["c", None], ["d", "y"], [None, "z"], ["e", None]]
    labels = read(rows, "B2:B4", "A5:A6")
    assert labels == [["text", "label"], ["a", "x"], ["b", "x"], ["c", "x"], ["d", "y"], ["d", "z"], ["e", ""]]
    check_message(caplog, "2 merged")


def test_empty_rows_below_the_data_stay_empty(read):
    assert read([["text", "label"], ["a", "x"], ["b", None], [None, None]], "B2:B9") == [
        ["text", "label"], ["a", "x"], ["b", "x"],
    ]  # fmt: skip


def test_numbers_after_an_empty_column_and_row(read):
    rows = [[None] * 3, [None, "text", "stars"], [None, "a", 5], [None, "b", None]]
    assert read(rows, "C3:C4") == [["text", "stars"], ["a", "5"], ["b", "5"]]


@pytest.mark.parametrize(
    ("rows", "merged"),
    [
        ([["label", "text", None], ["x", "a", "b"], ["y", "c", "d"]], ["B1:C1"]),
        ([["Survey", None], ["text", "label"], ["a", "x"]], ["A1:B1"]),
        ([["label", "text", None], [None, "de", "en"], ["x", "a", "b"]], ["A1:A2", "B1:C1"]),
        ([["text", "label"], ["Part B", None], ["a", "x"]], ["A2:B2"]),
    ],
)
def test_cells_merged_over_columns_and_headers_do_not_change(read, rows, merged):
    assert read(rows, *merged) == [["" if cell is None else cell for cell in row] for row in rows]


def test_a_sheet_without_a_header(read):
    rows = [["x", "a"], [None, "b"], [None, "c"], ["y", "d"]]
    assert [row[0] for row in read(rows, "A1:A3")] == ["x", "x", "x", "y"]


def test_a_format_without_merged_ranges_has_a_hint(caplog):
    caplog.set_level("INFO")
    cells = [
        ["text", "label"],
        *([text, label] for text, label in zip("abcdef", ["x", "", "", "y", "", ""], strict=True)),
    ]
    fill_merged_cells("t.ods", cells, None)
    check_message(caplog, "4 of")
    caplog.clear()
    fill_merged_cells("t.ods", [row for row in cells if row[1]], None)
    assert not caplog.text
