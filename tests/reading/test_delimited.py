"""Delimiters and quoting, detected from the first lines of text files."""

import pytest

from bert_cli.reading.delimited import Delimited, find_delimited
from bert_cli.reading.formats import CSV, TEXTS, TSV
from bert_cli.settings.data import CSV_QUOTES, LITERAL


def layout(text: str, table_format: str = CSV, is_whole: bool = True) -> Delimited:
    return find_delimited(text.splitlines(keepends=True), is_whole, table_format, LITERAL)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("text,label\na,1\n", ","),
        ("text;label\nwell, a;1,5\n", ";"),
        ("text|label\na, b|1\nc|0\n", "|"),
        ("text\tlabel\na\t1\n", "\t"),
        ("Kommentar|Klasse\nja, gut|x\n\nnein|y\n", "|"),
        ('"a;b;c",label\nx,1\n', ","),
        ('"a\nb",x\n"c, d",y\n', ","),
        ('text|label\n"a|b"|1\n"c\nd"|2\n', "|"),
        # A single column of texts, and a row with an additional comma, do not change the delimiter.
        ("text\nHello, you\nGood day\n", ","),
        ("text,label\na,1\nb, c,2\n", ","),
        ("Either|or\n", ","),
        ("", ","),
    ],
)
def test_csv_delimiter_gives_all_rows_the_same_width(text, delimiter):
    assert layout(text) == Delimited(delimiter, CSV_QUOTES)


@pytest.mark.parametrize("table_format", [TSV, TEXTS])
def test_other_suffixes_need_usual_names_for_other_delimiters(table_format):
    assert layout("text,label\na,1\n", table_format) == Delimited(",", CSV_QUOTES)
    assert layout("id|sentence|label\n1|a|x\n2|b|y\n", table_format) == Delimited("|", CSV_QUOTES)
    assert layout("Well, I liked it\nOh, no\n", table_format) == Delimited("\t", LITERAL)
    assert layout("text,label\tx\na,1\ty\n", table_format) == Delimited("\t", LITERAL)


@pytest.mark.parametrize("directive", ["sep=;", "SEP=;", '"sep=;"', "Sep=;;;", "sep=; "])
@pytest.mark.parametrize("table_format", [CSV, TSV, TEXTS])
def test_excel_directive_decides(directive, table_format):
    assert layout(f"{directive}\r\ntext;label\r\na;1\r\n", table_format) == Delimited(";", CSV_QUOTES, True)


def test_directive_may_have_any_separator():
    for sign in ",|\t:^":
        assert layout(f"sep={sign}\na{sign}b\n") == Delimited(sign, CSV_QUOTES, True)
    assert not layout("sep=,b\n1,2\n").has_directive


def test_line_numbers_include_the_directive():
    lines = ["sep=;\n", "text;label\n", '"a\n', 'b";1\n', "\n", "c;2\n"]
    rows = Delimited(";", CSV_QUOTES, True).rows("a.csv", lines)
    assert list(rows) == [(2, ("text", "label")), (3, ("a\nb", "1")), (5, ()), (6, ("c", "2"))]


def test_last_row_in_an_excerpt_may_be_truncated():
    assert layout('text|label\na|1\n"b\nc', is_whole=False).delimiter == "|"
    assert layout('text|label\na|1\n"b\nc', is_whole=True).delimiter == ","
