"""Numbers in the first column: rows of CoNLL-U that are not words, and numbers of ordinary words."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.token_files.columns import read_column_file
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.reading.source import Source
from tests.rows import write_rows
from tests.snapshots import raises

WORD_AND_TAG = TokenFlags("1", "2")


def read_words(tmp_path, sentences, flags=WORD_AND_TAG):
    text = "\n".join("".join(f"{number}\t{word}\tO\n" for number, word in rows) for rows in sentences)
    path = tmp_path / "a.tsv"
    path.write_text(text, encoding="utf-8")
    return [example.words for example in read_column_file(Source(str(path)), flags).examples]


@pytest.mark.parametrize(
    "numbers",
    [
        ["1-1", "1-2", "1-3"],
        ["2.1", "2.2", "2.3"],
        ["1.1", "2.1", "3.1"],
        ["1", "2", "3-4"],  # no word has the number 4
        ["1", "2", "7.1"],
        ["3-1", "1", "2"],
        ["1", "1", "1.1"],
    ],
)
def test_numbers_of_words(tmp_path, numbers, caplog):
    words = ("a", "b", "c")
    assert read_words(tmp_path, [list(zip(numbers, words, strict=True))]) == [words]
    assert "CoNLL-U" not in caplog.text


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (["1-2", "1", "2", "3"], ("b", "c", "d")),
        (["0.1", "1", "2", "2.1"], ("b", "c")),
        (["1", "2-4", "2", "3", "4"], ("a", "c", "d", "e")),
    ],
)
def test_rows_of_conllu(tmp_path, numbers, expected):
    rows = list(zip(numbers, "abcde", strict=False))
    assert read_words(tmp_path, [rows, [("1", "x")]]) == [expected, ("x",)]
    # One sentence with other numbers is enough to doubt all.
    assert len(read_words(tmp_path, [rows, [("2-1", "x")]])[0]) == len(numbers)


def test_gaps_in_a_file_with_ten_columns(tmp_path):
    path = tmp_path / "a.conllu"
    rows = [[number, word, *"_" * 7, "O"] for number, word in (("3-4", "zum"), ("3", "zu"), ("5", "Haus"))]
    write_rows(path, rows)
    assert read_column_file(Source(str(path)), TokenFlags("1", "9")).examples[0].words == ("zu", "Haus")


@pytest.mark.parametrize("numbers", [["1-1", "1-2"], ["4.1", "4.2"], ["1", "2"]])
def test_numbers_are_no_words(tmp_path, numbers):
    with raises(InputError, "a.tsv:1: "):
        read_words(tmp_path, [list(zip(numbers, "ab", strict=True))], DEFAULTS)
