"""CSV quotes in tab-separated files: detected in literal reading, and read with --quoting=csv."""

import csv
import gzip

import pandas as pd
import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples import tables
from bert_cli.examples.choice import read_choice_file
from bert_cli.examples.glue import find_task
from bert_cli.examples.user_tables import read_user_table
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.reading.rows import Row
from bert_cli.reading.source import Source
from bert_cli.settings.data import CSV_QUOTES, LITERAL, TextForm
from tests.rows import read_task, write_rows
from tests.snapshots import raises

WARNING = (
    "{path}: warning: {rows} cells in CSV quotes, such as line {line}; they are read literally, as run_classifier.py "
    "does; --quoting=csv reads them as pandas wrote them"
)
# pandas puts all of these into quotes except the first two.
TEXTS = [
    "plain text",
    'a 5" screen at the end 5"',
    'He said "hi" to me',
    '"Hello" he said',
    '"I am here."',
    '"',
    "two\tcells",
]
QUOTED = TEXTS[2:]
# In this file, which is not from a CSV writer, quotes belong to the texts.
QUOTATIONS = [
    '"I am here."',
    '"Hello" he said',
    'he said "Hello"',
    '"',
    '""',
    '"" and ""',
    '"open',
    'closed"',
    'a ""b"" c',
]


def read_user_rows(path, quoting=LITERAL):
    return list(open_table(str(path), "train_file", TextForm(quoting=quoting)).filled_rows())


def read_task_table(path, quoting=LITERAL):
    return tables.read_rows(Source(str(path)), quoting)


READERS = pytest.mark.parametrize("read", [read_user_rows, read_task_table])


def make_frame(texts) -> pd.DataFrame:
    return pd.DataFrame({"text": texts, "label": [number % 2 for number in range(len(texts))]})


def write(folder, texts, **options):
    """Write a file with pandas."""
    path = folder / "a.tsv"
    make_frame(texts).to_csv(path, sep="\t", index=False, **options)
    return path


def write_literally(folder, texts):
    return write_rows(folder / "a.tsv", [("text", "label"), *((text, n % 2) for n, text in enumerate(texts))])


@READERS
def test_literal_reading_counts_rows_in_csv_quotes(read, tmp_path, caplog):
    path = write(tmp_path, [*TEXTS, "plain, too"])
    rows = read(path)
    assert rows[3].cells[0] == '"He said ""hi"" to me"'
    assert caplog.messages == [WARNING.format(path=path, rows="6 rows have", line=3)]


@READERS
def test_one_row_in_csv_quotes(read, tmp_path, caplog):
    path = write(tmp_path, ["plain", 'He said "hi" to me'])
    read(path)
    assert caplog.messages == [WARNING.format(path=path, rows="1 row has", line=3)]


@READERS
def test_quotes_in_texts_are_not_csv_quotes(read, tmp_path, caplog):
    path = write_literally(tmp_path, QUOTATIONS)
    assert [row.cells[0] for row in read(path)[1:]] == QUOTATIONS
    assert caplog.messages == []


@READERS
def test_a_file_of_quotations_has_no_csv_quotes(read, tmp_path, caplog):
    read(write_literally(tmp_path, ['"I am here."', '"So am I."', '"Good."']))
    (tmp_path / "b.tsv").write_text('"I am here."\t1\n"So am I."\t0\n')
    read(tmp_path / "b.tsv")
    (tmp_path / "c.tsv").write_text('s1\t"I am here."\t"So am I."\ns2\t"open\tclosed"\n')
    read(tmp_path / "c.tsv")
    assert caplog.messages == []


@READERS
def test_a_line_end_in_the_first_column_counts_once(read, tmp_path, caplog):
    path = write(tmp_path, ["plain", "two\nlines", '"three"\nor\nfour'])
    assert len(read(path)) == 7
    assert caplog.messages == [WARNING.format(path=path, rows="2 rows have", line=3)]


@READERS
def test_row_split_into_rows_of_the_right_width_counts(read, tmp_path, caplog):
    path = write(tmp_path, ["plain", '"two" cells\tand two\nlines'])
    assert [len(row.cells) for row in read(path)] == [2, 2, 2, 2]
    assert caplog.messages == [WARNING.format(path=path, rows="1 row has", line=3)]


@READERS
@pytest.mark.parametrize("style", [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
@pytest.mark.parametrize("has_header", [True, False])
def test_all_rows_count_if_every_cell_is_quoted(read, style, has_header, tmp_path, caplog):
    path = tmp_path / "a.tsv"
    table = make_frame(["I am here.", "So am I.", ""]).assign(text_b="and more")
    table.to_csv(path, sep="\t", index=False, header=has_header, quoting=style)
    rows = read(path)
    assert caplog.messages == [WARNING.format(path=path, rows=f"{len(rows)} rows have", line=1)]


@READERS
def test_a_line_end_in_quotes_counts_once(read, tmp_path, caplog):
    path = tmp_path / "a.tsv"
    pd.DataFrame({"label": [0, 1, 0], "text": ["plain", "two\nlines\nor three", "end"]}).to_csv(
        path, sep="\t", index=False
    )
    assert len(read(path)) == 6
    assert caplog.messages == [WARNING.format(path=path, rows="1 row has", line=3)]


@READERS
@pytest.mark.parametrize("style", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_quoting_csv_reads_tables_from_pandas(read, style, tmp_path, caplog):
    texts = [*TEXTS, "two\n\nlines", "", "end"]
    rows = read(write(tmp_path, texts, quoting=style), CSV_QUOTES)
    assert [list(row.cells) for row in rows] == [
        ["text", "label"],
        *([text, str(n % 2)] for n, text in enumerate(texts)),
    ]
    assert [row.line for row in rows] == [*range(1, 10), 12, 13]
    assert caplog.messages == []


@READERS
def test_quoting_csv_equals_literal_reading_if_no_cell_begins_with_a_quote(read, tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('\ufefftext\tlabel\r\na 5" screen\t1\r\n\r\n   \nend\t0\n\n', encoding="utf-8")
    assert [tuple(row.cells) for row in read(path, CSV_QUOTES)] == [tuple(row.cells) for row in read(path)]


@READERS
@pytest.mark.parametrize("row", ['"open\t1', '"Hello" he said\t1'])
def test_quoting_csv_refuses_quotes_in_texts(read, row, tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(f"text\tlabel\n{row}\nend\t0\n")
    with raises(InputError, "--quoting=none"):
        read(path, CSV_QUOTES)


def test_quoting_csv_in_a_gzip_file(tmp_path):
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b'text\tlabel\n"a\tb"\t1\n'))
    assert read_user_rows(path, CSV_QUOTES)[1] == Row(2, ("a\tb", "1"))


@pytest.mark.parametrize("text", ["two\tcells", "two\nlines", 'three\n\n"lines"'])
def test_wrong_number_of_columns_advises_quoting(text, tmp_path):
    path = write(tmp_path, ["plain", text, "end"])
    with raises(InputError, "--quoting=csv"):
        read_user_table(open_table(str(path), "train_file"), "train", ColumnRules())
    file = read_user_table(open_table(str(path), "train_file", TextForm(quoting=CSV_QUOTES)), "train", ColumnRules())
    assert [row.text_a for row in file.rows] == ["plain", text, "end"]


def test_wrong_number_of_columns_without_csv_quotes_has_no_advice(tmp_path):
    path = write_literally(tmp_path, ['"I am here."', '"Hello" he said', "two\tcells"])
    with raises(InputError, "4: "):
        read_user_table(open_table(str(path), "train_file"), "train", ColumnRules())


def test_task_advises_and_accepts_quoting(tmp_path):
    texts = ["plain", "two\nlines, and a third\nline", 'He said "hi"', "end"]
    table = pd.DataFrame({"id": ["a", "b", "c", "d"], "label": [0, 1, 0, 1], "mark": "", "text": texts})
    table.to_csv(tmp_path / "train.tsv", sep="\t", index=False, header=False)
    with raises(InputError, f"{tmp_path}/train.tsv:3: "):
        read_task("cola", "train", str(tmp_path))
    examples = read_task("cola", "train", str(tmp_path), form=TextForm(quoting=CSV_QUOTES))
    assert [(example.guid, example.text_a, example.label) for example in examples] == [
        (f"train-{number}", text, str(number % 2)) for number, text in enumerate(texts)
    ]


def test_a_pair_of_a_task_with_quoting(tmp_path):
    table = pd.DataFrame({"Quality": [1, 0], "#1 ID": [1, 2], "#2 ID": [3, 4], "#1 String": ['"I am here."', "x\ty"]})
    table["#2 String"] = ["He said he was.", 'z "z"']
    table.to_csv(tmp_path / "train.tsv", sep="\t", index=False)
    examples = read_task("mrpc", "train", str(tmp_path), form=TextForm(quoting=CSV_QUOTES))
    assert [(example.text_a, example.text_b, example.label) for example in examples] == [
        ('"I am here."', "He said he was.", "1"),
        ("x\ty", 'z "z"', "0"),
    ]


def test_swag_with_quoting(tmp_path):
    """The file has swag's columns, but tabs."""
    layout = find_task("swag").splits["dev"][0]
    table = pd.DataFrame({name: ["x"] for name in ("sent1", "sent2", *layout.choices)} | {"label": [2]})
    table["sent1"] = 'He said "yes".'
    table.to_csv(tmp_path / "dev.tsv", sep="\t", index=False)
    file = read_choice_file(str(tmp_path / "dev.tsv"), "dev", layout, "data_dir", form=TextForm(quoting=CSV_QUOTES))
    assert [row.text_a for row in file.rows] == ['He said "yes".']
