"""Rows in user files: formats, line numbers and errors."""

import gzip
import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.delimited import Delimited
from bert_cli.reading.formats import FORMATS, is_table
from bert_cli.reading.probe import READERS, TableFile, open_table
from bert_cli.reading.rows import LeftOutRows, Row
from tests.rows import write_rows
from tests.snapshots import check_message, raises


@pytest.fixture
def rows(tmp_path):
    """Return a function that writes a file, compressed if its name ends in .gz, and reads its rows."""

    def read(name: str, content: str | bytes) -> list[Row]:
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return list(open_table(str(tmp_path / name), "train_file").filled_rows())

    return read


@pytest.fixture
def refused(rows, tmp_path):
    def message(name: str, content: str | bytes) -> str:
        with pytest.raises(InputError) as caught:
            rows(name, content)
        assert str(caught.value).startswith(f"{tmp_path}/{name}:")
        return str(caught.value).removeprefix(f"{tmp_path}/{name}:")

    return message


@pytest.mark.parametrize("name", ["a.tsv", "a.TXT", "a.tsv.gz", "a.tab"])
def test_tabs(rows, name):
    assert rows(name, '\ufeffa "\tb\r\n\n\u2028c\td\n\n') == [Row(1, ('a "', "b")), Row(3, ("\u2028c", "d"))]


def test_blank_lines_are_left_out(tmp_path):
    path = write_rows(tmp_path / "a.tsv", "a\tb\n\nc\td\n\n")
    left_out: list[LeftOutRows] = []
    assert len(list(open_table(str(path), "train_file").filled_rows(left_out=left_out))) == 2
    assert left_out == [LeftOutRows("blank lines", 1, 2)]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_commas(rows, name):
    text = 'id,text\r\n1,"two\nlines, ""quoted"""\r\n\r\n2,plain\r\n'
    assert rows(name, text) == [
        Row(1, ("id", "text")),
        Row(2, ("1", 'two\nlines, "quoted"')),
        Row(5, ("2", "plain")),
    ]


def test_semicolons(rows, caplog):
    with caplog.at_level(logging.INFO):
        assert rows("a.csv", "text;label\ngood, really;1,5\n")[1] == Row(2, ("good, really", "1,5"))
    assert "separated by semicolons" in caplog.text


def test_a_long_cell(rows):
    assert len(rows("a.csv", f'"{"x" * 200_000}",1\n')[0].cells[0]) == 200_000


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson.gz"])
def test_json(rows, name):
    text = '{"text": "a\\tb\\n", "n": 1.50, "tags": ["x", 2]}\n\n{"tags": [], "text": null, "n": true}\n'
    assert rows(name, text) == [
        Row(0, ["text", "n", "tags"]),
        Row(1, ["a\tb\n", "1.5", ("x", "2")]),
        Row(3, ["", "true", ()]),
    ]


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.csv", 'a,b\n1,"open\nand more\n', "2: "),
        ("a.csv", 'a,b\n1,x\n2,"y" z\n', "3: "),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "2: "),
        ("a.jsonl", '{"a": 1}\n[1]\n', "2: "),
        ("a.tsv", "a\tb\nc\0\td\n", "2: "),
        ("a.csv", b"a,b\nc\xe9,d\n", "2: "),
        ("a.tsv", "a\tb\rc\td\n", "1: "),
    ],
)
def test_invalid_files(refused, name, content, place):
    check_message(refused(name, content), place)


def test_file_that_is_not_gzip(tmp_path):
    whole = gzip.compress(b"a\tb\n" * 1000)
    for data in (b"a\tb\n", whole[:30]):
        (tmp_path / "a.tsv.gz").write_bytes(data)
        with raises(InputError, "a.tsv.gz: "):
            list(open_table(str(tmp_path / "a.tsv.gz"), "train_file").rows())


def test_suffixes_of_formats(tmp_path):
    with raises(InputError, "a.doc: "):
        open_table("a.doc", "train_file")
    with raises(InputError, "--dev_file"):
        open_table(str(tmp_path / "a.csv"), "dev_file")


@pytest.mark.parametrize(
    "name", ["a.csv", "a.TSV", "a.tab", "a.jsonl.gz", "part-*.csv", "a.xlsx", "a.ods", "a.parquet"]
)
def test_table_suffixes(name):
    assert is_table(name)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "-", "", "csv", "/dev/stdin", "a.text"])
def test_text_suffixes_are_not_tables(name):
    assert not is_table(name)


def test_width(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text("a\tb\nc\td\nx\ty\tand more\n")
    TableFile("a.tsv", Delimited()).check_width(Row(3, ["x", "y"]), 2)
    with raises(InputError, "a.tsv:3: "):
        TableFile("a.tsv", Delimited()).check_width(Row(3, ["x", "y", "and more"]), 2)
    with raises(InputError, "a.csv:4: "):
        TableFile("a.csv", Delimited(",")).check_width(Row(4, ["x", "y", "z"]), 2)
    with raises(InputError, "a.csv:4: "):
        TableFile("a.csv", Delimited(",")).check_width(Row(4, ["x"]), 2)


def test_every_format_has_a_reader_or_is_delimited_text():
    others = {row.name for row in FORMATS} - READERS.keys()
    assert others == {"tsv", "csv", "txt"}
    assert {row.name for row in FORMATS} > {*READERS}
