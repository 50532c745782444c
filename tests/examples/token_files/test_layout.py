"""Headers, columns and sentences in rows with words and tags."""

import pytest

from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.layout import is_header, split_sentences
from bert_cli.reading.rows import Row
from tests.input_errors import error_of
from tests.snapshots import check_message


def parse_rows(text):
    """Return the rows in a text with | between rows and - for a blank line."""
    lines = enumerate(text.split("|"), 1)
    return [Row(number, [] if line == "-" else line.split(",")) for number, line in lines]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Word,Tag|Anna,PER|left,O", True),
        ("token,pos,ner|Anna,NN,PER|left,V,O", True),
        ("Wort,Etikett|Anna,B-PER|left,O", True),  # not a BIO tag
        ("Wort,Etikett|Anna,PER_B|left,O", True),
        ("Anna,PER|left,O", False),
        ("Anna,B-PER|left,O", False),
        ("Anna,PER|left,O|Lee,B-PER", False),  # a typing error in a tag
        ("Anna,X-PER|left,O|Lee,B-PER", False),
        ("Word,O|is,O|Tag,B-x", False),
        ("word,tag|tag,tag|a,tag", False),  # tag is a tag
        ("0,0|a,1", False),
        ("EU,ORG|rejects,O|German,MISC", False),  # other types also occur once
        ("Word|Anna", True),
        ("Words|can|hurt", False),
        ("Word,Tag|Anna,PER|Word,Tag|left,O", True),  # concatenated files
        ("Sentence #,Sentence,POS,Tag|1,a b,N V,O O", True),
    ],
)
def test_headers(text, expected):
    first, *other_rows = parse_rows(text)
    assert is_header("a.txt", first, other_rows, TokenFlags()) is expected
    assert is_header("a.txt", first, other_rows, TokenFlags(header="yes"))
    assert not is_header("a.txt", first, other_rows, TokenFlags(header="no"))


def test_ambiguous_header_is_refused(caplog):
    first, *few = parse_rows("Mot,Type|Anna,PER|a,O|b,O|Lee,PER")
    assert not is_header("a.txt", first, few, TokenFlags())
    check_message(caplog)
    other_rows = few * 5
    check_message(error_of(is_header, "a.txt", first, other_rows, TokenFlags()), "a.txt:1: ")
    assert not is_header("a.txt", first, other_rows, TokenFlags(types=frozenset({"Type", "PER"})))
    assert not is_header("a.txt", first, other_rows, TokenFlags(with_tags=False))


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("a|b|-|c|-|-|d", None, ["a b", "c", "d"]),
        ("1,a|1,b|2,c|2,d", 0, ["a b", "c d"]),
        ("Sentence: 1,a|,b|Sentence: 2,c|,d", 0, ["a b", "c d"]),
        ("Sentence,a|,b|Sentence,c|,d", 0, ["a b", "c d"]),  # a mark, not a number
        ("s1,a|s1,b|s2,c", 0, ["a b", "c"]),
        ("1,a|,b|1,c|1,d", 0, ["a b c d"]),  # a missing cell
        ("1,a|1,b|-|1,c|2,d", 0, ["a b", "c", "d"]),
        ("1,a|2,b|1,c", 0, ["a", "b", "c"]),
    ],
)
def test_sentences(text, column, expected):
    assert [" ".join(row.cells[-1] for row in rows) for rows in split_sentences(parse_rows(text), column)] == expected
