"""Arrays of a batch -> what strategy.run takes, and running a model over a data set without
training it.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.spec import INPUT_MASK
from bert_cli.model.layout import short_width, widths_of
from bert_cli.training.strategy import is_tpu

# The column that `distribute` adds to the shard of a replica: see ops.dropout.
SHARD_START = "shard_start"


def check_batch_size(batch_size: int, strategy: tf.distribute.Strategy, flag: str, accumulation_steps: int = 1) -> None:
    """InputError unless the batch can be split evenly over the replicas, and there into the
    micro-batches.
    """
    replicas = strategy.num_replicas_in_sync
    parts = replicas * accumulation_steps
    if batch_size % parts:
        steps = f" and --gradient_accumulation_steps={accumulation_steps}" if accumulation_steps > 1 else ""
        raise InputError(
            f"--{flag}={batch_size} cannot be split evenly over {replicas} devices{steps}; give a multiple of {parts}"
        )


def shard_start(
    mask: tf.Tensor, start: tf.Tensor | int, strategy: tf.distribute.Strategy, bound: tf.Tensor | None = None
) -> tf.Tensor:
    """The last four numbers, int32 [4], of the seed of a shard that begins with row `start` of a
    mask [B, …, S].

    See ops.dropout. bound: the width of the shorter bucket, where the mask is not of the whole
    batch. On a TPU, where shapes do not change, the slots of windows that a text does not have are
    computed too, and there is one bucket.
    """
    every, before = (tf.reshape(rows, [-1, tf.shape(mask)[-1]]) for rows in (mask, mask[:start]))
    tokens = tf.reduce_sum(tf.cast(before > 0, tf.int32))
    if is_tpu(strategy):
        return tf.stack([tf.shape(before)[0], tokens, 0, 0])
    every, before = (tf.boolean_mask(rows, rows[:, 0] > 0) for rows in (every, before))
    bound = short_width(widths_of(every)) if bound is None else bound
    shorter = tf.reduce_sum(tf.cast(widths_of(before) <= bound, tf.int32))
    return tf.stack([tf.shape(before)[0], tokens, bound, shorter])


def distribute(batch: dict[str, np.ndarray], strategy: tf.distribute.Strategy) -> dict:
    """The batch on its device, or, with several replicas, an equal share of its rows on each."""
    replicas = strategy.num_replicas_in_sync
    if replicas == 1:
        return {name: tf.convert_to_tensor(values) for name, values in batch.items()}

    def share(context):
        size = len(next(iter(batch.values()))) // replicas
        start = context.replica_id_in_sync_group * size
        own = {name: tf.convert_to_tensor(values[start : start + size]) for name, values in batch.items()}
        if INPUT_MASK not in batch:
            return own
        return own | {SHARD_START: shard_start(tf.constant(batch[INPUT_MASK]), start, strategy)}

    return strategy.experimental_distribute_values_from_function(share)


def make_runner(strategy: tf.distribute.Strategy, forward: Callable, signature: dict) -> Callable:
    """Compile `forward(batch) -> dict of tensors with a row per example`; returns run(rows,
    make_batch) -> dict of arrays.

    `signature` is the tf.TensorSpec of each entry of a batch. To be made once for a model:
    compiling takes seconds.
    """
    # Several machines: each computes everything with its own copy of the weights, so that nobody
    # waits for anybody.
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
    """Repeat the last row until the number of rows is a multiple of `replicas`; its results are
    dropped.
    """
    lacking = -len(rows) % replicas
    return np.concatenate([rows, np.repeat(rows[-1:], lacking)])
