"""Quoted cells with line ends: whole rows between two stray quotes are reported, legal cells are not."""

import csv
import gzip
import io
import re

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples import tables
from bert_cli.examples.user_tables import read_user_table
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.reading.source import Source
from bert_cli.settings.data import CSV_QUOTES, Columns, TextForm
from tests.snapshots import check_message, raises

TEXTS = ["A fine film", "Far too long", "I loved it", "I hated it", "Great acting", "Silly script", "A joy", "A bore"]


def write_rows(rows, delimiter=",", header="", line_end="\n"):
    """Return a table as a CSV writer writes it, with quotes only around cells that need them."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator=line_end).writerows(
        [header.split(), *rows] if header else rows
    )
    return file.getvalue()


def with_stray_quotes(text, first, last):
    """Return a table with a quote before the text `first` and one after the text `last`."""
    return text.replace(first, f'"{first}', 1).replace(last, f'{last}"', 1)


def labeled(labels=("pos", "neg"), repetitions=3, columns="{text} {label}"):
    rows = []
    for number, text in enumerate(TEXTS * repetitions):
        values = {"text": f"{text} {number}", "label": labels[number % len(labels)], "id": str(number)}
        rows.append([column.format(**values) for column in columns.split(" ")])
    return rows


def read(path, **form):
    return list(open_table(str(path), "train_file", TextForm(**form)).filled_rows())


def refusal(path, **form):
    with pytest.raises(InputError) as error:
        read(path, **form)
    return str(error.value)


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["", "text label"])
def test_rows_between_stray_quotes_are_refused(tmp_path, delimiter, line_end, header):
    path = tmp_path / "train.csv"
    text = write_rows(labeled(), delimiter, header, line_end)
    path.write_text(with_stray_quotes(text, "I loved it 2", "A joy 6"), newline="")
    first = 4 if header else 3
    message = refusal(path)
    check_message(message, f"{path}:{first}: ")
    assert "in column 2" in message
    assert '"""I loved it' in message


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (("pos", "neg"), "{label} {text}"),
        (("1", "2", "3", "4", "5"), "{text} {label}"),
        (("0", "1"), "{id} {text} {label}"),
        (("film", "food", "hotel"), "{id} {label} {text}"),
        (("",), "{id} {text}"),
        (("",), "doc-{id} {text}"),
        (("",), "{text} 2024-05-{id}"),
    ],
)
@pytest.mark.parametrize(("first", "last"), [("I hated it 3", "Great acting 4"), ("Far too long 1", "A bore 7")])
def test_labels_or_ids_of_lines_are_evidence(tmp_path, labels, columns, first, last):
    path = tmp_path / "train.csv"
    path.write_text(with_stray_quotes(write_rows(labeled(labels, columns=columns)), first, last))
    line = int(first.split()[-1]) + 1
    if labels[0] == "1" and first.startswith("I hated"):
        # A text may contain two numbers.
        assert len(read(path)) == 23
    else:
        assert refusal(path).startswith(f"{path}:{line}: a quote opens here")


@pytest.mark.parametrize(("last", "is_refused"), [(5, False), (9, True)])
def test_ids_without_an_order(tmp_path, caplog, last, is_refused):
    path = tmp_path / "new.csv"
    rows = [(1000 + 617 * number % 997, text) for number, (text, _) in enumerate(labeled())]
    path.write_text(with_stray_quotes(write_rows(rows), "I hated it 3", labeled()[last][0]))
    if is_refused:
        check_message(refusal(path), f"{path}:4: ")
    else:
        assert len(read(path)) == 22
        check_message(caplog, f"{path}:4: ")


def test_addresses_in_a_file_with_quotes_around_all_cells(tmp_path, caplog):
    path = tmp_path / "new.csv"
    rows = [(str(10000 + 37 * number % 997), f"Main Street 5\n{12000 + number},Berlin") for number in range(9)]
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    assert [tuple(row.cells) for row in read(path)] == rows
    assert "warning" not in caplog.text


def test_a_cell_up_to_the_end_of_the_file(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text(with_stray_quotes(write_rows(labeled(columns="{label} {text}")), "I hated it 3", "A bore 23"))
    check_message(refusal(path), f"{path}:4: ")


def test_a_file_that_is_one_cell(tmp_path):
    path = tmp_path / "train.csv"
    text = write_rows(labeled(columns="{label} {text}"), header="label text")
    path.write_text(with_stray_quotes(text, "A fine film 0", "A bore 23"))
    check_message(refusal(path), f"{path}:2: ")


def test_tokens_that_are_quotes(tmp_path):
    path = tmp_path / "train.csv"
    sentence = '",O\nAnna,B-PER\nsaid,O\n",O\nin,O\nLund,B-LOC\n'
    path.write_text("token,tag\n" + sentence * 2)
    message = refusal(path)
    check_message(message, f"{path}:2: ")
    assert 'write """", or' in message


def test_gzip(tmp_path):
    path = tmp_path / "train.csv.gz"
    path.write_bytes(gzip.compress(with_stray_quotes(write_rows(labeled()), "I loved it 2", "A joy 6").encode()))
    assert refusal(path).startswith(f"{path}:3: a quote opens here")


def test_tsv_with_csv_quotes(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(with_stray_quotes(write_rows(labeled(), "\t"), "I loved it 2", "A joy 6"))
    assert len(read(path)) == 24
    assert "--quoting=none" in refusal(path, quoting=CSV_QUOTES)
    with pytest.raises(InputError, match=f"{re.escape(str(path))}:3: a quote opens here"):
        tables.read_rows(Source(str(path)), CSV_QUOTES)


def test_quotes_in_different_columns(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text('a,b,label\nsun,old,pos\nsky,"new,neg\nsea,big,neutral\nair",low,mixed\nice,wet,pos\n')
    table = open_table(str(path), "train_file")
    with raises(InputError, f"{path}:3: "):
        read_user_table(table, "train", ColumnRules(Columns("a", "b", "label")))


def test_weak_evidence_is_a_warning(tmp_path, caplog):
    path = tmp_path / "new.csv"
    rows = [(text, f"by {chr(ord('a') + number)}") for number, (text, _) in enumerate(labeled())]
    path.write_text(with_stray_quotes(write_rows(rows), "I loved it 2", "A joy 6"))
    assert len(read(path)) == 20
    check_message(caplog, f"{path}:3: ")


LEGAL = {
    "poem": "Roses are red,\nviolets are blue,\nsugar is sweet,\nand so are you",
    "commas": "First, a line\nthen, another\nand, a third\nand, a fourth\nand, a fifth",
    "address": "Main Street 5\n12345,Berlin",
    "two addresses": "Flat 2\n12,Main Street\n10115,Berlin",
    "decimal": "Note\n3,5 Sterne",
    "list": "eggs, 2\nmilk, 1\nflour, 3\nsugar, 5",
    "letter": "\n".join(f"Line {number}." for number in range(500)),
    "blank lines": "one\n\ntwo\n\n\nthree",
    "quotes": 'He said "no",\nand "yes",\nthen left',
    "table": "a,b\nc,d\ne,f",
    "dialogue": "Anna, look\nBob, look\nAnna, go",
}


@pytest.mark.parametrize("text", LEGAL.values(), ids=LEGAL)
@pytest.mark.parametrize(
    "columns", ["{text} {label}", "{label} {text}", "{id} {text}", "{id} {text} {label}", "{text}"]
)
@pytest.mark.parametrize("labels", [("pos", "neg"), ("1", "2", "3", "4", "5"), ("Anna", "Bob")])
def test_legal_cells_pass(tmp_path, caplog, text, columns, labels):
    caplog.set_level("INFO")
    path = tmp_path / "train.csv"
    rows = labeled(labels, columns=columns)
    for number in (4, 11):
        rows[number] = [cell.replace(TEXTS[number % 8], text) for cell in rows[number]]
    path.write_text(write_rows(rows))
    assert [list(row.cells) for row in read(path)] == rows
    assert "warning" not in caplog.text
    check_message(caplog, f"{path}: ")
