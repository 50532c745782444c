"""Statistics of sequence lengths."""

import numpy as np

from bert_cli.outputs.dry_run import length_figures


def test_figures():
    statistics = length_figures(np.array([3, 50, 50, 49]), 64)
    assert statistics["rows"] == 4
    assert (statistics["mean"], statistics["median"], statistics["longest"], statistics["limit"]) == (
        38.0,
        49.5,
        50,
        64,
    )
    assert statistics["edges"][:2] == [0, 3]
    assert statistics["edges"][-1] > 50
    assert sum(statistics["counts"]) == 4
    assert statistics["counts"][1] == 1
