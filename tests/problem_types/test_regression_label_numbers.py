"""Numbers in label cells: decimal points, decimal commas, and ambiguous numbers."""

import pytest

from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.regression import has_comma, read_numbers
from tests.input_errors import error_of
from tests.snapshots import check_message


def read(*texts):
    return read_numbers(LabelCells("t.csv", range(2, 2 + len(texts)), [], ("score",), True), texts)


def refused(*texts):
    return error_of(read, *texts)


def test_numbers_with_a_point_are_unchanged(caplog):
    caplog.set_level("INFO")
    assert read("1", "2.50", "-3e-1", ".5", "+1.0") == ["1", "2.50", "-3e-1", ".5", "+1.0"]
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (("3,5", "4", "1,0"), ["3.5", "4", "1.0"]),
        (("-0,25", "+1,75"), ["-0.25", "+1.75"]),
        (("0,125", "1,250"), ["0.125", "1.250"]),  # 0,125 cannot have a thousands separator
        (("1,234", "2,5"), ["1.234", "2.5"]),
        (("1234,567",), ["1234.567"]),
        ((",5", "1,500"), [".5", "1.500"]),
        (("1,5e3",), ["1.5e3"]),
    ],
)
def test_decimal_commas(texts, numbers, caplog):
    caplog.set_level("INFO")
    assert read(*texts) == numbers
    assert len(caplog.messages) == 1


def test_the_line_of_the_log(caplog):
    caplog.set_level("INFO")
    read("4", "3,5")
    check_message(caplog)


def test_a_comma_that_may_separate_thousands():
    check_message(refused("1,234", "999", "2,500"), "t.csv:2: ")


def test_points_and_commas_in_one_file():
    check_message(refused("3.5", "4,5"), "t.csv:3: ")


@pytest.mark.parametrize("text", ["1.234,5", "1,234.5", "1,234,567.8", "1 234,5", "1'234,5", "1\u00a0234,50"])
def test_thousands_separators_are_refused(text):
    check_message(refused("3", text))


@pytest.mark.parametrize(
    "text",
    ["high", "1,2,3", "3,", "inf", "nan",
     ""],
)  # fmt: skip
def test_texts_that_are_not_numbers(text):
    check_message(refused("1", text), "t.csv:3: ")


def test_texts_with_a_comma():
    assert all(map(has_comma, ("3,5", "-3,5", ",5", "1.234,5", "1,234.5")))
    assert not any(map(has_comma, ("3.5", "3", "1,2,3", "a,b", "3,", "")))
