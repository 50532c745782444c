"""Tab-separated files, and signs of a header."""

import pathlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.examples.tables import check_columns, read_rows
from bert_cli.reading.rows import LeftOutRows, Row
from bert_cli.reading.source import Source
from tests.rows import write_rows
from tests.snapshots import raises


def write(folder, data: bytes | str) -> str:
    return str(write_rows(folder / "rows.tsv", data))


def test_rows_have_line_numbers_and_cells(tmp_path):
    assert read_rows(Source(write(tmp_path, "a\tb\nc\t\td\n"))) == [Row(1, ("a", "b")), Row(2, ("c", "", "d"))]


def test_last_line_may_lack_its_newline(tmp_path):
    assert read_rows(Source(write(tmp_path, "a\tb\nc\td"))) == [Row(1, ("a", "b")), Row(2, ("c", "d"))]


def test_windows_line_ends_and_byte_order_mark_are_dropped(tmp_path):
    assert read_rows(Source(write(tmp_path, b"\xef\xbb\xbfa\tb\r\nc\td\r\r\n"))) == [
        Row(1, ("a", "b")),
        Row(2, ("c", "d")),
    ]


def test_other_line_separators_are_ordinary_characters(tmp_path):
    text = "one\u2028two\x85three\x0bfour\x0cfive\x1csix"
    assert read_rows(Source(write(tmp_path, f"1\t{text}\n"))) == [Row(1, ("1", text))]


def test_quotes_are_ordinary_characters(tmp_path):
    rows = read_rows(Source(write(tmp_path, '"\t"a ""b"\n\'\tc"\n')))
    assert rows == [Row(1, ('"', '"a ""b"')), Row(2, ("'", 'c"'))]


def test_a_cell_may_be_longer_than_the_limit_of_the_csv_module(tmp_path):
    rows = read_rows(Source(write(tmp_path, f"1\t{'x' * 200_000}\n")))
    assert len(rows[0].cells[1]) == 200_000


def test_blank_lines_are_left_out(tmp_path):
    left_out: list[LeftOutRows] = []
    rows = read_rows(Source(write(tmp_path, "a\tb\n\n  \r\nc\td\n\n")), left_out=left_out)
    assert [row.line for row in rows] == [1, 4]
    assert left_out == [LeftOutRows("blank lines", 2, 2)]


def test_a_row_of_tabs_is_not_blank(tmp_path):
    assert read_rows(Source(write(tmp_path, "\t\n"))) == [Row(1, ("", ""))]


@pytest.mark.parametrize("data", ["", "\n", " \r\n\n", "\ufeff"])
def test_empty_file(tmp_path, data):
    with raises(InputError, "rows.tsv: "):
        read_rows(Source(write(tmp_path, data)))


def test_carriage_return_inside_a_line(tmp_path):
    with raises(InputError, f"{tmp_path}/rows.tsv:2: "):
        read_rows(Source(write(tmp_path, b"1\ta\n2\tb\r3\tc\n4\t\rd\n")))


def test_missing_cells_are_empty():
    row = Row(7, ["a", "b"])
    assert [row.cell(column) for column in (0, 1, 2, -1, -3, None)] == ["a", "b", "", "b", "", ""]


def train_file() -> Source:
    pathlib.Path("train.tsv").touch()
    return Source("train.tsv")


def test_short_rows_are_reported_with_the_required_columns():
    rows = [Row(1, ["a", "b", "c"]), Row(17, ["a"]), Row(18, ["a", "b"]), Row(21, ["", ""])]
    with raises(InputError, "train.tsv:17: "):
        check_columns(train_file(), rows, 3, "id, label, text")


@pytest.mark.parametrize("separator", [",", ";"])
def test_other_separator_is_named(separator):
    rows = [Row(1, [f"a{separator}1{separator}x"]), Row(2, [f"b{separator}0{separator}y"])]
    with raises(InputError):
        check_columns(train_file(), rows, 3, "id, label, text")


def test_one_short_row_with_a_comma_does_not_make_a_comma_separated_file():
    with raises(InputError):
        check_columns(train_file(), [Row(1, ["a", "1"]), Row(2, ["so, it broke"])], 2, "id, text")


def test_more_columns_than_needed_are_allowed():
    check_columns(train_file(), [Row(1, ["a", "b", "c", "d"])], 2, "id, text")


def test_quoted_cells_stay_short_and_on_one_line():
    assert quote("plain") == "'plain'"
    assert quote("a\u2028b\x85c\x0bd") == r"'a\u2028b\x85c\x0bd'"
    assert quote("x" * 50, width=5) == "'xxxx…'"
