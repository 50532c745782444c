"""Units of offsets: measures that were counted by hand, and the choice of a file's unit."""

import pytest

from bert_cli.text.offset_units import CODE_POINTS, JAVASCRIPT, UNITS, choose_unit

TEXT = "ä😀\r\nb\nc\rd"
BY_DESCRIPTION = {str(unit): unit for unit in UNITS}
CR_LF_IS_ONE = "with each line end CR LF as one character"


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("in UTF-16 code units as JavaScript counts them", [0, 1, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("in UTF-8 bytes", [0, 2, 6, 7, 8, 9, 10, 11, 12, 13]),
        (CR_LF_IS_ONE, [0, 1, 2, 2, 3, 4, 5, 6, 7, 8]),
        ("without carriage returns", [0, 1, 2, 2, 3, 4, 5, 6, 6, 7]),
        ("with each line feed as CR LF", [0, 1, 2, 3, 4, 5, 7, 8, 9, 10]),
        ("with each line end as CR LF", [0, 1, 2, 3, 4, 5, 7, 8, 10, 11]),
        (f"in UTF-16 code units as JavaScript counts them, {CR_LF_IS_ONE}", [0, 1, 3, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_units(description, expected):
    unit = BY_DESCRIPTION[description]
    assert unit.measure(TEXT) == expected
    letters = [(TEXT.index(letter), TEXT.index(letter) + 1) for letter in "ä😀bcd"]
    assert unit.to_code_points(TEXT, [(expected[start], expected[end]) for start, end in letters]) == letters
    ((start, end),) = unit.to_code_points(TEXT, [(-1, expected[-1] + 1)])
    assert start == -1
    assert end > len(TEXT)


def fit_words(item, unit):
    """Return whether each pair of offsets has its word."""
    text, annotations = item
    return [
        text[slice(*unit.to_code_points(text, [(start, start + len(word))])[0])] == word for start, word in annotations
    ]


def test_most_annotations_decide():
    first_line = ("Tom\r\nmet Eva", [(0, "Tom")])
    shifted = ("Tom\r\nmet Eva", [(4, "met"), (8, "Eva")])
    assert choose_unit([first_line], fit_words) == CODE_POINTS
    assert choose_unit([first_line, shifted], fit_words) == BY_DESCRIPTION[CR_LF_IS_ONE]
    # As many fit without another unit, or nothing fits.
    assert choose_unit([("Tom\r\nmet Eva", [(5, "met"), (8, "Eva")])], fit_words) == CODE_POINTS
    assert choose_unit([("Tom\r\nmet Eva", [(1, "met"), (2, "Eva")])], fit_words) == CODE_POINTS
    # One of five misfits fits by chance.
    by_chance = [(4, "met"), *((0, "Eva"),) * 4]
    assert choose_unit([("Tom\r\nmet Eva", by_chance)], fit_words) == CODE_POINTS
    # The simplest unit of several that fit equally well is used.
    assert choose_unit([("😀 Tom", [(3, "Tom")])], fit_words) == JAVASCRIPT
