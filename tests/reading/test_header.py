"""Signs that a first row is a header, and the decision."""

import pytest

from bert_cli.reading.header import (
    HeaderDecision,
    HeaderSign,
    decide_header,
    has_common_label,
    is_numbering,
    is_sentence_like,
)
from bert_cli.reading.rows import Row

HEADER, DATA = HeaderSign(is_header=True), HeaderSign(is_header=False)
MAY_BE_HEADER, MAY_BE_DATA = HeaderSign(is_header=True, doubt="names"), HeaderSign(is_header=False, doubt="numbers")


@pytest.mark.parametrize(
    ("flag", "signs", "default", "expected"),
    [
        ("auto", [], True, HeaderDecision(True)),
        ("auto", [], False, HeaderDecision(False)),
        ("auto", [DATA, MAY_BE_HEADER], True, HeaderDecision(False)),
        ("auto", [MAY_BE_DATA, HEADER], False, HeaderDecision(True)),
        ("auto", [MAY_BE_DATA, MAY_BE_HEADER], True, HeaderDecision(True, "numbers")),
        ("auto", [MAY_BE_DATA, MAY_BE_HEADER], False, HeaderDecision(False, "names")),
        ("yes", [DATA], False, HeaderDecision(True)),
        ("yes", [DATA, MAY_BE_DATA], False, HeaderDecision(True, "numbers")),
        ("no", [HEADER, MAY_BE_DATA], True, HeaderDecision(False)),
    ],
)
def test_decisions(flag, signs, default, expected):
    assert decide_header(flag, signs, default) == expected


def rows(*lines: str) -> list[Row]:
    return [Row(number, line.split("|")) for number, line in enumerate(lines, start=1)]


def test_ten_rows_with_the_label_of_the_first_make_it_data():
    first, *others = rows("a|0", *(f"text {number}|0" for number in range(10)))
    assert has_common_label(first, others, {"0", "1"}, 1)
    assert not has_common_label(first, others[1:], {"0", "1"}, 1)
    assert not has_common_label(first, others, {"1"}, 1)
    assert not has_common_label(first, others, {"0"}, None)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["0", "1", "2", "3"], True),
        (["1", "2", "3"], True),
        (["", "0", "1"], True),
        (["0", "1"], True),
        (["0"], False),
        (["", "0"], False),
        (["1", "0", "", "text"], False),
        (["0", "2"], False),
    ],
)
def test_column_numbers(cells, expected):
    assert is_numbering(cells) is expected


@pytest.mark.parametrize("cell", ["sentence", "#1 String", "Sentence 1", "索引", "Zu bewertender Satz", "", "text_a"])
def test_column_names_are_not_sentences(cell):
    assert not is_sentence_like(cell)


@pytest.mark.parametrize(
    "cell", ["Come in.", 'He said "no."', "Really?", "河水很冷。", "the boat that they had sold sank"]
)
def test_sentences(cell):
    assert is_sentence_like(cell)
