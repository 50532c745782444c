"""Distribution of batches to replicas, and functions that run them there."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.spec import INPUT_MASK
from bert_cli.model.layout import short_width, widths_of
from bert_cli.runtime.process import refuse_lost_tensorflow
from bert_cli.training.strategy import is_tpu

# The column that `distribute` adds to a replica's shard, see ops.dropout.
SHARD_START = "shard_start"


def check_batch_size(batch_size: int, strategy: tf.distribute.Strategy, flag: str, accumulation_steps: int = 1) -> None:
    """Raise InputError unless the batch splits evenly into replicas and micro-batches.

    Args:
        batch_size: rows in the global batch.
        strategy: strategy with the replicas.
        flag: flag that sets batch_size, without dashes.
        accumulation_steps: micro-batches per replica.
    """
    replicas = strategy.num_replicas_in_sync
    divisor = replicas * accumulation_steps
    if batch_size % divisor:
        steps = f" and --gradient_accumulation_steps={accumulation_steps}" if accumulation_steps > 1 else ""
        raise InputError(
            f"--{flag}={batch_size} cannot be split evenly over {replicas} devices{steps}; give a multiple of {divisor}"
        )


def shard_start(
    mask: tf.Tensor, start: tf.Tensor | int, strategy: tf.distribute.Strategy, bound: tf.Tensor | None = None
) -> tf.Tensor:
    """Return the last four numbers of a shard's seed, int32 [4], see ops.dropout.

    On a TPU, shapes are static: empty windows are computed, too, and there is only one bucket.

    Args:
        mask: [B, …, S].
        start: the shard's first row in the mask.
        strategy: strategy with the replicas.
        bound: width of the shorter bucket, if the mask does not contain the whole batch.
    """
    whole, before = (tf.reshape(rows, [-1, tf.shape(mask)[-1]]) for rows in (mask, mask[:start]))
    tokens = tf.reduce_sum(tf.cast(before > 0, tf.int32))
    if is_tpu(strategy):
        return tf.stack([tf.shape(before)[0], tokens, 0, 0])
    whole, before = (tf.boolean_mask(rows, rows[:, 0] > 0) for rows in (whole, before))
    bound = short_width(widths_of(whole)) if bound is None else bound
    shorter = tf.reduce_sum(tf.cast(widths_of(before) <= bound, tf.int32))
    return tf.stack([tf.shape(before)[0], tokens, bound, shorter])


def distribute(batch: dict[str, np.ndarray], strategy: tf.distribute.Strategy) -> dict:
    """Return the batch as tensors; with several replicas, each holds an equal share of rows."""
    replicas = strategy.num_replicas_in_sync
    if replicas == 1:
        return {name: tf.convert_to_tensor(values) for name, values in batch.items()}

    def share(context: tf.distribute.experimental.ValueContext) -> dict[str, tf.Tensor]:
        size = len(next(iter(batch.values()))) // replicas
        start = context.replica_id_in_sync_group * size
        rows = {name: tf.convert_to_tensor(values[start : start + size]) for name, values in batch.items()}
        if INPUT_MASK not in batch:
            return rows
        return rows | {SHARD_START: shard_start(tf.constant(batch[INPUT_MASK]), start, strategy)}

    return strategy.experimental_distribute_values_from_function(share)


@contextlib.contextmanager
def memory_advice(flag: str) -> Iterator[None]:
    """Turn a device's lack of memory into advice, for computations inside the block.

    Args:
        flag: the flag to lower, such as "train_batch_size".

    Raises:
        InputError: if memory ran out, or if TensorFlow cannot compute in this process (see
            `refuse_lost_tensorflow`).
    """
    refuse_lost_tensorflow()
    try:
        yield
    except (tf.errors.ResourceExhaustedError, MemoryError):
        # Commands leave out alternatives with flags that they lack, see errors.without_advice.
        in_training = ", or raise --gradient_accumulation_steps, or add --recompute=layers, or let --auto_batch do both"
        raise InputError(
            f"out of memory; lower --{flag}, or lower --max_seq_length"
            f"{in_training if flag == 'train_batch_size' else ''}, or use --precision=bfloat16"
        ) from None


def compile_runner(
    strategy: tf.distribute.Strategy, forward: Callable, signature: dict, flag: str = "batch_size"
) -> Callable:
    """Return a compiled function run(batch) from arrays to arrays.

    Create it once per model, because compiling takes seconds.

    Args:
        strategy: strategy with the replicas.
        forward: forward(batch) returns a dict of tensors with a row per example.
        signature: tf.TensorSpec for each column.
        flag: the flag to lower if memory runs out.
    """
    # With several machines, each computes all rows with its copy of the weights, so none waits.
    is_local = strategy.num_replicas_in_sync == 1 or isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    # Use a signature, so that new widths or numbers of rows need no new trace, which takes seconds.
    compiled = tf.function(forward, input_signature=[signature], autograph=False)

    @tf.function(reduce_retracing=True, autograph=False)
    def on_replicas(batch: dict[str, tf.Tensor]) -> dict[str, Any]:
        return strategy.run(forward, args=(batch,))

    def run(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        with memory_advice(flag):
            return compute(batch)

    def compute(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if is_local:
            tensors = {name: tf.convert_to_tensor(values) for name, values in batch.items()}
            return {name: value.numpy() for name, value in compiled(tensors).items()}
        count = len(next(iter(batch.values())))
        shares = on_replicas(distribute(_fill_up(batch, strategy.num_replicas_in_sync), strategy))
        return {
            name: np.concatenate([share.numpy() for share in strategy.experimental_local_results(value)])[:count]
            for name, value in shares.items()
        }

    return run


def _fill_up(batch: dict[str, np.ndarray], replicas: int) -> dict[str, np.ndarray]:
    """Return the batch with its last row repeated, so that its size is a multiple of `replicas`.

    The caller drops results for repeated rows.
    """
    return {
        name: np.concatenate([values, np.repeat(values[-1:], -len(values) % replicas, axis=0)])
        for name, values in batch.items()
    }
