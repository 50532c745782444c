"""Lengths of the sequences of a split."""

import numpy as np

from bert_cli.outputs.dry_run import length_figures


def test_figures():
    found = length_figures(np.array([3, 50, 50, 49]), 64)
    assert found["rows"] == 4
    assert (found["mean"], found["median"], found["longest"], found["limit"]) == (38.0, 49.5, 50, 64)
    assert found["edges"][:2] == [0, 3]
    assert found["edges"][-1] > 50
    assert sum(found["counts"]) == 4
    assert found["counts"][1] == 1
