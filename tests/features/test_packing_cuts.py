"""Log lines about truncated texts."""

import logging

import pytest

from bert_cli.features.packing import NOT_CUT, CutCounts, describe_cuts, measure_cuts, warn_cuts
from tests.snapshots import check_message


@pytest.mark.parametrize(
    ("cuts", "noun", "expected"),
    [
        (
            CutCounts(1, 1, 300, 286),
            "texts",
            "1 of 1 texts were cut to 14 tokens: 286 of 300 tokens (95.3%) were left out",
        ),
        (CutCounts(9, 2, 40, 10), "lines", "2 of 9 lines were cut to 14 tokens: 10 of 40 tokens (25.0%) were left out"),
        (CutCounts(9, 0, 40, 0), "texts", ""),
        (NOT_CUT, "texts", ""),
    ],
)
def test_cuts_in_words(cuts, noun, expected):
    assert describe_cuts(cuts, 14, noun) == expected


def test_cuts_from_lengths():
    assert measure_cuts([3, 0, 9, 5], 4) == CutCounts(4, 2, 17, 6)
    assert measure_cuts([], 4) == NOT_CUT


def test_cuts_of_chunks_are_added():
    assert sum([CutCounts(2, 1, 10, 3), CutCounts(4, 2, 30, 8)], NOT_CUT) == CutCounts(6, 3, 40, 11)


def test_warning_names_the_location_and_advice(caplog):
    with caplog.at_level(logging.WARNING, "bert_cli"):
        warn_cuts(CutCounts(3, 0, 9, 0), 5)
        warn_cuts(CutCounts(3, 1, 9, 2), 5, "lines", "a.txt", "--long_text cuts none")
        warn_cuts(CutCounts(3, 1, 9, 2), 5)
    check_message(caplog)
