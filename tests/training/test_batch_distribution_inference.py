"""Batches through a compiled function, which handles all sizes and widths with one trace."""

import numpy as np
import tensorflow as tf

from bert_cli.training.batch_distribution import compile_runner

SIGNATURE = {"x": tf.TensorSpec([None, None], tf.int32)}


def test_batches_with_all_sizes_and_widths_share_one_trace():
    traces = []

    def forward(batch):
        traces.append(1)
        return {"double": 2 * batch["x"][:, 0], "copies": tf.repeat(batch["x"][:, :1], 3, axis=1)}

    run = compile_runner(tf.distribute.OneDeviceStrategy("/cpu:0"), forward, SIGNATURE)
    for values, width in (([16, 15, 14], 2), ([13], 5), ([10, 11, 12], 1)):
        results = run({"x": np.repeat(np.array(values, np.int32)[:, None], width, axis=1)})
        assert results["double"].tolist() == [2 * value for value in values]
        assert results["double"].dtype == np.int32
        assert results["copies"].tolist() == [[value] * 3 for value in values]
    assert len(traces) == 1
