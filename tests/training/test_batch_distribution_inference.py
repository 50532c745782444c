"""Inference over groups of rows in any order: results have the order of the data."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.training.batch_distribution import make_runner
from bert_cli.training.scatter import infer

DATA = np.arange(10, 17, dtype=np.int32)  # seven rows
SIGNATURE = {"x": tf.TensorSpec([None, None], tf.int32)}


def run(groups, traces=None, widths=(1,), advance=lambda count: None):
    """Return each row's double and three copies; `widths` has a width per batch."""
    turn = iter(range(100))

    def forward(batch):
        if traces is not None:
            traces.append(1)
        return {"double": 2 * batch["x"][:, 0], "copies": tf.repeat(batch["x"][:, :1], 3, axis=1)}

    def make_batch(rows):
        return {"x": np.repeat(DATA[rows][:, None], widths[next(turn) % len(widths)], axis=1)}

    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    return infer(make_runner(strategy, forward, SIGNATURE), groups, make_batch, advance)


@pytest.mark.parametrize(
    "groups",
    [[[0, 1, 2, 3, 4, 5, 6]], [[6, 2], [0], [5, 4, 3], [1]], [[i] for i in (3, 1, 4, 0, 5, 2, 6)]],
)
def test_results_are_in_the_order_of_the_data(groups):
    counts = []
    results = run((np.array(group) for group in groups), advance=counts.append)
    assert results["double"].tolist() == (2 * DATA).tolist()
    assert results["double"].dtype == np.int32
    assert results["copies"].tolist() == [[value] * 3 for value in DATA]
    assert counts == [len(group) for group in groups]


def test_batches_with_all_sizes_and_widths_share_one_trace():
    traces = []
    results = run([np.array([6, 5, 4]), np.array([3]), np.array([0, 1, 2])], traces, widths=(2, 5, 1))
    assert results["double"].tolist() == (2 * DATA).tolist()
    assert len(traces) == 1


def test_no_rows_no_results():
    assert run([]) == {}
