"""Mined negatives, with vectors in the plane."""

import numpy as np

from bert_cli.examples.table_texts import PairRow
from bert_cli.runs.tasks.vectors.mining import mine_negatives

# Directions in degrees: a query, and the texts that it may find.
DEGREES = {"q": 0, "own": 20, "near": 10, "next": 25, "further": 40, "second": 30, "r": 90}
VECTORS = np.array([[np.cos(np.deg2rad(d)), np.sin(np.deg2rad(d))] for d in DEGREES.values()], np.float32)


def negatives_of(pairs: list[tuple[str, str]], count: int) -> list[tuple[str, ...]]:
    rows = [PairRow(number, *pair) for number, pair in enumerate(pairs)]
    return [row.negatives for row in mine_negatives(rows, list(DEGREES), VECTORS, count)]


def test_the_most_similar_texts_below_the_own_one():
    pairs = [("q", "own"), ("r", "near"), ("r", "further"), ("r", "next")]
    assert negatives_of(pairs, 5)[0] == ("next", "further"), "near is more similar than own"
    assert negatives_of(pairs, 1)[0] == ("next",)
    assert negatives_of(pairs, 5)[2] == ("own",), "the other texts belong to r"


def test_texts_that_belong_to_the_first_text_are_no_negatives():
    pairs = [("q", "own"), ("q", "second"), ("r", "next"), ("r", "q")]
    assert negatives_of(pairs, 5)[:2] == [("next",), ()]


def test_many_rows_are_mined_in_parts():
    rows = [("q", "own")] * 300 + [("r", "further")]
    assert negatives_of(rows, 2)[299] == ("further",)
