"""Running a model over a data set without training it."""

from collections.abc import Callable, Iterable

import numpy as np
import tensorflow as tf

from bert_cli.training.feeding import place


def infer(
    strategy: tf.distribute.Strategy,
    forward: Callable,
    groups: Iterable[np.ndarray],
    make_batch: Callable[[np.ndarray], dict[str, np.ndarray]],
    signature: dict,
    advance: Callable[[int], None],
) -> dict[str, np.ndarray]:
    """Apply `forward(batch) -> dict of tensors with a row per example` to all groups of rows.

    Returns arrays whose row i belongs to row i of the data set, whatever the groups' order. make_batch(rows) gives the
    arrays of a batch, `signature` their tf.TensorSpec; advance(n) is called after n more rows.
    """
    groups = list(groups)
    # Several machines: each computes everything with its own copy of the weights, so that nobody waits for anybody.
    alone = strategy.num_replicas_in_sync == 1 or isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    compiled = tf.function(forward, input_signature=[signature])

    @tf.function(reduce_retracing=True)
    def on_replicas(batch):
        return strategy.run(forward, args=(batch,))

    results: dict[str, np.ndarray] = {}
    total = sum(len(rows) for rows in groups)
    for rows in groups:
        if alone:
            batch = {name: tf.convert_to_tensor(values) for name, values in make_batch(rows).items()}
            outputs = {name: value.numpy() for name, value in compiled(batch).items()}
        else:
            filled = _fill_up(rows, strategy.num_replicas_in_sync)
            shares = on_replicas(place(make_batch(filled), strategy))
            outputs = {
                name: np.concatenate([part.numpy() for part in strategy.experimental_local_results(value)])
                for name, value in shares.items()
            }
        for name, values in outputs.items():
            if name not in results:
                results[name] = np.empty((total, *values.shape[1:]), values.dtype)
            results[name][rows] = values[: len(rows)]
        advance(len(rows))
    return results


def _fill_up(rows: np.ndarray, replicas: int) -> np.ndarray:
    """Repeat the last row until the number of rows is a multiple of `replicas`; its results are dropped."""
    lacking = -len(rows) % replicas
    return np.concatenate([rows, np.repeat(rows[-1:], lacking)])
