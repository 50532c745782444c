"""Running a model over a data set without training it."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bert_cli.training.batch_distribution import distribute


def make_runner(strategy: tf.distribute.Strategy, forward: Callable, signature: dict) -> Callable:
    """Compile `forward(batch) -> dict of tensors with a row per example`; returns run(rows, make_batch) -> dict of arrays.

    `signature` is the tf.TensorSpec of each entry of a batch. To be made once for a model: compiling takes seconds.
    """
    # Several machines: each computes everything with its own copy of the weights, so that nobody waits for anybody.
    alone = strategy.num_replicas_in_sync == 1 or isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    # With a signature no new width or number of rows is a new trace, which takes seconds.
    compiled = tf.function(forward, input_signature=[signature], autograph=False)

    @tf.function(reduce_retracing=True, autograph=False)
    def on_replicas(batch):
        return strategy.run(forward, args=(batch,))

    def run(rows: np.ndarray, make_batch: Callable) -> dict[str, np.ndarray]:
        if alone:
            batch = {name: tf.convert_to_tensor(values) for name, values in make_batch(rows).items()}
            return {name: value.numpy() for name, value in compiled(batch).items()}
        shares = on_replicas(distribute(make_batch(_fill_up(rows, strategy.num_replicas_in_sync)), strategy))
        return {
            name: np.concatenate([part.numpy() for part in strategy.experimental_local_results(value)])[: len(rows)]
            for name, value in shares.items()
        }

    return run


def _fill_up(rows: np.ndarray, replicas: int) -> np.ndarray:
    """Repeat the last row until the number of rows is a multiple of `replicas`; its results are dropped."""
    lacking = -len(rows) % replicas
    return np.concatenate([rows, np.repeat(rows[-1:], lacking)])
