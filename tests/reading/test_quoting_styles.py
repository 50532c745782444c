"""Quotes around cells that the csv module does not know, from lines to rows."""

import pytest

from bert_cli.reading.probe import open_table
from bert_cli.reading.quoting import QUOTE_STYLES, SPACED_QUOTES
from tests.snapshots import check_message


def cells(path, text: str) -> list[tuple[str, ...]]:
    path.write_text(text, encoding="utf-8")
    return [row.cells for row in open_table(str(path), "train_file").rows()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A blank after the comma, before the quote.
        ('text,label\na, "b, c"\nd, "e"\n', [("a", "b, c"), ("d", "e")]),
        ('label, text\n1, "so, so"\n2, "a ""b"" c"\n', [("1", "so, so"), ("2", 'a "b" c')]),
        # Blanks after the closing quote, too, or there alone.
        ('id,text,label\n1, "b c" ,x\n2, "d, e" ,y\n', [("1", "b c", "x"), ("2", "d, e", "y")]),
        ('text,label\n"b, c" ,x\n"d"\t,y\n', [("b, c", "x"), ("d", "y")]),
        ('text;label\n"b; ""c""" ; "x" \r\n "d" ;"y"\r\n', [('b; "c"', "x"), ("d", "y")]),
        ('text,label\n "two, or\nthree" , "x" \n"d" ,y', [("two, or\nthree", "x"), ("d", "y")]),
        ('text,label\n "b" ,x\n"d",y\n', [("b", "x"), ("d", "y")]),
        # The number of cells is right without it, but the quotes would stay in the texts.
        ('label,text\n1, "good"\n2, "bad"\n', [("1", "good"), ("2", "bad")]),
        ('label;text\r\n1; "a; b"\r\n2;c\r\n', [("1", "a; b"), ("2", "c")]),
        # A quote inside of a text, or a cell of two lines, changes nothing for other rows.
        ('text,label\na 5" disk, "bad"\nso, "good"\n', [('a 5" disk', "bad"), ("so", "good")]),
        ('text,label\n"two\nlines", "a"\nso, "b"\n', [("two\nlines", "a"), ("so", "b")]),
        ("text,label\n'a, 5\" disk',1\n'b, c',0\n", [('a, 5" disk', "1"), ("b, c", "0")]),
        ("text,label\n'',1\n'a, b',0\n", [("", "1"), ("a, b", "0")]),
        ("text,label\n“good, film”,1\n‘bad’,0\n", [("good, film", "1"), ("‘bad’", "0")]),
        ('text,label\n“a “b” c, and "d"”,1\ne,0\n', [('a “b” c, and "d"', "1"), ("e", "0")]),
        ("text,label\n'good, film',1\n'bad',0\nit's,1\n", [("good, film", "1"), ("bad", "0"), ("it's", "1")]),
        ("text,label\n'it''s good, too',1\nd,0\n", [("it's good, too", "1"), ("d", "0")]),
    ],
)
def test_quotes_are_not_part_of_cells(tmp_path, caplog, text, expected):
    caplog.set_level("INFO", "bert_cli")
    assert cells(tmp_path / "a.csv", text)[1:] == expected
    check_message(caplog, "are around cells")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # These quotes are inside of cells in CSV's quotes.
        ('text,label\n"he said, ""hi"", and left",1\nb,0\n', [('he said, "hi", and left', "1"), ("b", "0")]),
        ('text,label\n"two\nlines, ""hi"", and",1\nb,0\n', [('two\nlines, "hi", and', "1"), ("b", "0")]),
        # Quotations and apostrophes need no other quotes.
        ("text,label\n“good”,1\n'tis bad,0\n'so',1\n", [("“good”", "1"), ("'tis bad", "0"), ("'so'", "1")]),
        ('text,label\n"he said ""hi"" , so",1\n"b",0\n', [('he said "hi" , so', "1"), ("b", "0")]),
        ('text,label\n so "b" ,1\n"c",0\n', [(' so "b" ', "1"), ("c", "0")]),
        ('text,label\nan 8" disk,1\na 5" "one",0\n', [('an 8" disk', "1"), ('a 5" "one"', "0")]),
    ],
)
def test_other_cells_stay(tmp_path, caplog, text, expected):
    caplog.set_level("INFO", "bert_cli")
    assert cells(tmp_path / "a.csv", text)[1:] == expected
    assert not [line for line in caplog.messages if "are around cells" in line]


@pytest.mark.parametrize(
    "cell",
    ['""w' * 20000, '"' * 60001, "''" * 30000, "'" * 60001, ", 'a" * 20000, ', "a' * 20000, '" ' * 60001, " " * 60001],
)
def test_lines_of_quotes_take_linear_time(cell):
    """A pattern with two ways to read a doubled quote took minutes for 20 of them."""
    lines = [f'7, "{cell} (sic), good\n', f"7,'{cell} (sic), good\n"]
    for style in (*QUOTE_STYLES, SPACED_QUOTES):
        assert len(list(style.rewrite(lines, ","))) == 2
