"""Results for groups of rows have the data set's order."""

import numpy as np

from bert_cli.training.scatter import infer


def test_rows_have_their_original_order():
    groups, advanced = [np.array([4, 0]), np.array([3]), np.array([1, 2])], []

    def run(rows, make_batch):
        values = make_batch(rows)["x"]
        return {"twice": 2 * values, "pair": np.stack([values, -values], 1).astype(np.float32)}

    actual = infer(run, groups, lambda rows: {"x": 10 * rows}, advanced.append)
    assert actual["twice"].tolist() == [0, 20, 40, 60, 80]
    assert actual["pair"].dtype == np.float32
    assert actual["pair"][:, 1].tolist() == [0, -10, -20, -30, -40]
    assert advanced == [2, 1, 2]
