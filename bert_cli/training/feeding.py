"""Arrays of a batch -> what strategy.run takes."""

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.features.spec import INPUT_MASK
from bert_cli.training.strategy import is_tpu

# What `place` adds to the share of a replica: see ops.dropout.
SHARE_START = "share_start"


def check_batch_size(batch_size: int, strategy: tf.distribute.Strategy, flag: str, parts: int = 1) -> None:
    """InputError unless the batch can be split evenly over the replicas, and there into so many parts."""
    replicas = strategy.num_replicas_in_sync
    if batch_size % (replicas * parts) and parts > 1:
        raise InputError(
            f"--{flag}={batch_size} cannot be split evenly over {replicas} devices and --gradient_accumulation_steps={parts}; "
            f"give a multiple of {replicas * parts}"
        )
    if batch_size % replicas:
        raise InputError(
            f"--{flag}={batch_size} cannot be split evenly over {replicas} devices; give a multiple of {replicas}"
        )


def share_start(mask: tf.Tensor, strategy: tf.distribute.Strategy) -> tf.Tensor:
    """How many sequences, and tokens, are computed of a mask [B, …, S]; int32 [2].

    On a TPU, whose shapes do not change, the places of windows that a text does not have are computed too.
    """
    rows = tf.cast(tf.reshape(mask, [-1, tf.shape(mask)[-1]]) > 0, tf.int32)
    sequences = tf.shape(rows)[0] if is_tpu(strategy) else tf.reduce_sum(rows[:, 0])
    return tf.stack([sequences, tf.reduce_sum(rows)])


def place(batch: dict[str, np.ndarray], strategy: tf.distribute.Strategy) -> dict:
    """The batch on its device, or, with several replicas, an equal share of its rows on each."""
    replicas = strategy.num_replicas_in_sync
    if replicas == 1:
        return {name: tf.convert_to_tensor(values) for name, values in batch.items()}

    def share(context):
        size = len(next(iter(batch.values()))) // replicas
        start = context.replica_id_in_sync_group * size
        before = {name: values[:start] for name, values in batch.items()}
        own = {name: tf.convert_to_tensor(values[start : start + size]) for name, values in batch.items()}
        if INPUT_MASK not in before:
            return own
        return own | {SHARE_START: share_start(tf.constant(before[INPUT_MASK]), strategy)}

    return strategy.experimental_distribute_values_from_function(share)
