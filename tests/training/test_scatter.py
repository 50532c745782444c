"""What is computed of groups of rows stands in the order of the data set."""

import numpy as np

from bert_cli.training.scatter import infer


def test_rows_come_back_in_their_order():
    groups, advanced = [np.array([4, 0]), np.array([3]), np.array([1, 2])], []

    def run(rows, make_batch):
        values = make_batch(rows)["x"]
        return {"twice": 2 * values, "pair": np.stack([values, -values], 1).astype(np.float32)}

    found = infer(run, groups, lambda rows: {"x": 10 * rows}, advanced.append)
    assert found["twice"].tolist() == [0, 20, 40, 60, 80]
    assert found["pair"].dtype == np.float32
    assert found["pair"][:, 1].tolist() == [0, -10, -20, -30, -40]
    assert advanced == [2, 1, 2]
