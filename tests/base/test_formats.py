"""Sizes, durations, quoted cells and lists of names as text, and numbers in text."""

import math

import pytest

from bert_cli.base.formats import byte_size, clock, count_more, duration, list_names, list_some, parse_number, quote


@pytest.mark.parametrize(
    ("size", "digits", "text"),
    [
        (999_999, {"MB": 2, "GB": 2}, "1.00 MB"),
        (1_000_000_000, {"MB": 2, "GB": 2}, "1.00 GB"),
        (2_500_000_000, {"MB": 1}, "2500.0 MB"),
        (7, {"bytes": 0, "kB": 0, "MB": 1}, "7 bytes"),
        (7_400, {"bytes": 0, "kB": 0, "MB": 1}, "7 kB"),
    ],
)
def test_byte_size_uses_the_largest_unit_that_fits(size, digits, text):
    assert byte_size(size, **digits) == text


@pytest.mark.parametrize(
    ("seconds", "on_a_clock", "in_words"),
    [(5.2, "0:05", "5.2 s"), (59.96, "1:00", "60.0 s"), (754, "12:34", "12 min 34 s"), (3723, "1:02:03", "1 h 02 min")],
)
def test_clock_and_duration(seconds, on_a_clock, in_words):
    assert (clock(seconds), duration(seconds)) == (on_a_clock, in_words)


def test_parse_number_returns_nan_for_other_text():
    assert parse_number(" 2e-1") == 0.2
    assert math.isnan(parse_number("2%"))


def test_count_more():
    assert [count_more(range(count)) for count in (1, 2, 13)] == [
        "",
        " (and 1 more such row)",
        " (and 12 more such rows)",
    ]


def test_quoted_cells_are_one_line_and_cut():
    assert quote("a\nb") == r"'a\nb'"
    assert quote("abcdef", 6) == "'abcdef'"
    assert quote("abcdefg", 6) == "'abcde…'"


def test_long_lists_are_cut():
    names = list("abcdefghijk")
    assert list_some(names[:3], 3) == "a, b, c"
    assert list_some(names[:4], 3) == "a, b, c and 1 more"
    assert list_names(names[:10]) == "a, b, c, d, e, f, g, h, i, j"
    assert list_names(names) == "a, b, c, d, e, f, g, h, i, j, …"
