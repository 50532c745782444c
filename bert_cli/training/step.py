"""The training step, for any tf.distribute strategy."""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bert_cli.base.spec import INPUT_MASK
from bert_cli.tf_internals import variables
from bert_cli.training.batch_distribution import SHARD_START, shard_start
from bert_cli.training.grappler import calling_when_traced, with_few_graph_optimizers
from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay, global_norm

# Each dropout adds its number in the model to the second
# number in a step's seed. So steps need this distance.
_SEEDS_PER_STEP = 1024
# Micro-batches and replicas add multiples of these primes
# to the first number. Buckets and heads add small numbers.
_MICRO_BATCH_SEEDS, _REPLICA_SEEDS = 999_983, 7919


def make_train_step(
    strategy: tf.distribute.Strategy,
    loss_fn: Callable,
    optimizer: AdamWeightDecay,
    seed: int | tf.Variable,
    loss_scale: LossScale | None,
    signature: dict | None,
    accumulation_steps: int = 1,
    on_traced: Callable[[], object] | None = None,
) -> Callable:
    """Return a compiled function `step(batch) -> (loss, learning rate)` for one update.

    Args:
        strategy: strategy with the replicas.
        loss_fn: loss_fn(batch, seed) returns a replica's share of the loss. Summed over replicas,
            it is the mean over the batch. The seed is int32 [2], different per step and replica, or
            [6], see ops.dropout.
        optimizer: applies the gradients.
        seed: seed of the run; an int64 variable if other runs should use the same trace.
        loss_scale: for float16; otherwise None.
        signature: tf.TensorSpec for each column, so that new lengths need no new trace; None with
            several replicas.
        accumulation_steps: number of equal micro-batches per replica. Their gradients are added
            one after another, so the update equals the whole batch's but uses a micro-batch's
            memory. Dropout still depends on the position in the whole batch.
        on_traced: called once, before TensorFlow compiles the first step.
    """
    trained = list(optimizer.weights.values())
    # If variables are frozen, watch only the trained ones.
    # TensorFlow then computes no gradients below the lowest of them.
    watches_all = not optimizer.has_frozen

    def gradients_of(scale: tf.Tensor | float, batch: dict, step_seed: tf.Tensor) -> tuple[tf.Tensor, list]:
        # Scale the loss inside the tape, so that gradients are scaled while float16 computes them.
        with tf.GradientTape(watch_accessed_variables=watches_all) as tape:
            if not watches_all:
                tape.watch(trained)
            loss = loss_fn(batch, step_seed)
            scaled = loss * scale
        return loss, tape.gradient(scaled, trained)

    def replica_step(batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        context = tf.distribute.get_replica_context()
        step = tf.cast(variables.read(optimizer.step.handle, tf.int64), tf.int32)
        run_seed = seed if isinstance(seed, int) else tf.cast(variables.read(seed.handle, tf.int64), tf.int32)
        batch, step_seed = _take_seed(batch, run_seed, step, context)
        scale = loss_scale.current() if loss_scale else 1.0
        if accumulation_steps == 1:
            loss, gradient_list = gradients_of(scale, batch, step_seed)
            squares = None
        else:
            shapes = [variable.shape for variable in trained]
            loss, gradient_list, squares = _accumulate(
                strategy, batch, accumulation_steps, step_seed, functools.partial(gradients_of, scale), shapes
            )
        gradients, norm = _sum_over_replicas(dict(zip(optimizer.weights, gradient_list, strict=True)), context, squares)
        finite = tf.math.is_finite(norm)
        if loss_scale is None:
            _, rate = optimizer.apply(gradients, norm)
            # If a gradient is not finite, the weights are damaged.
            # Return NaN, so that the loop stops before they are saved.
            return tf.where(finite, loss, float("nan")), rate
        # After an overflow, the weights do not change, and the moments use a gradient of zero.
        inverse = tf.where(finite, 1.0 / scale, 0.0)
        gradients = {name: _finite_product(gradient, inverse, finite) for name, gradient in gradients.items()}
        _, rate = optimizer.apply(gradients, tf.where(finite, norm / scale, 0.0), tf.cast(finite, tf.float32))
        loss_scale.update(finite)
        return loss, rate

    def step(batch: dict[str, Any]) -> tuple[tf.Tensor, tf.Tensor]:
        losses, rates = strategy.run(replica_step, args=(batch,))
        rate = strategy.experimental_local_results(rates)[0]
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None), rate

    # Turn autograph off to save time: no Python code branches on a tensor.
    input_signature = [signature] if signature else None
    function = tf.function(step, input_signature=input_signature, reduce_retracing=signature is None, autograph=False)
    return with_few_graph_optimizers(calling_when_traced(function, on_traced) if on_traced else function)


def _take_seed(
    batch: dict, seed: int | tf.Tensor, step: tf.Tensor, context: tf.distribute.ReplicaContext
) -> tuple[dict, tf.Tensor]:
    """Return a replica's batch without SHARD_START, and this step's seed, see make_train_step."""
    start = batch.get(SHARD_START)
    if start is None:
        replica = tf.cast(context.replica_id_in_sync_group, tf.int32)
        return batch, tf.stack([seed + replica * _REPLICA_SEEDS, step * _SEEDS_PER_STEP])
    # Dropout then depends on the position in the whole batch, for any number of replicas.
    batch = {name: values for name, values in batch.items() if name != SHARD_START}
    return batch, tf.concat([tf.stack([seed, step * _SEEDS_PER_STEP]), start], axis=0)


def _finite_product(gradient: tf.Tensor | tf.IndexedSlices, factor: tf.Tensor, finite: tf.Tensor) -> tf.Tensor:
    gradient = tf.convert_to_tensor(gradient)
    return tf.where(finite, gradient * factor, tf.zeros([], gradient.dtype))


def _accumulate(
    strategy: tf.distribute.Strategy, batch: dict, steps: int, seed: tf.Tensor, gradients_of: Callable, shapes: list
) -> tuple[tf.Tensor, list, list]:
    """Return loss, gradients and squares, each summed over a batch's micro-batches.

    If a gradient is a tf.IndexedSlices in a micro-batch, its entry in `squares` is the sum of squares
    over separate rows, as in global_norm. Other entries contain None.

    Args:
        strategy: strategy with the replicas.
        batch: a replica's rows.
        steps: number of micro-batches.
        seed: seed of the step.
        gradients_of: gradients_of(batch, seed) returns loss and gradients.
        shapes: shapes of the gradients.
    """
    size = tf.shape(next(iter(batch.values())))[0] // steps
    is_sparse: list[bool] = []

    def add(number: tf.Tensor, sums: tuple) -> tuple[tf.Tensor, tuple]:
        rows = {name: values[number * size : (number + 1) * size] for name, values in batch.items()}
        loss, gradients = gradients_of(rows, _micro_batch_seed(strategy, seed, batch, number, size))
        is_sparse[:] = [isinstance(gradient, tf.IndexedSlices) for gradient in gradients]
        squares = [
            _squares(gradient) if sparse else tf.constant(0.0)
            for gradient, sparse in zip(gradients, is_sparse, strict=True)
        ]
        terms = (loss, [tf.convert_to_tensor(gradient) for gradient in gradients], squares)
        return number + 1, tf.nest.map_structure(tf.add, sums, terms)

    zeros = (tf.constant(0.0), [tf.zeros(shape) for shape in shapes], [tf.constant(0.0) for _ in shapes])
    # Compute a single micro-batch at a time, so that the next one can use its memory.
    _, (loss, gradients, squares) = tf.while_loop(
        lambda number, _: number < steps, add, (tf.constant(0), zeros), parallel_iterations=1
    )
    return loss, gradients, [square if sparse else None for square, sparse in zip(squares, is_sparse, strict=True)]


def _micro_batch_seed(
    strategy: tf.distribute.Strategy, seed: tf.Tensor, batch: dict, number: tf.Tensor, size: tf.Tensor
) -> tf.Tensor:
    """Return the seed of a micro-batch, so that dropout equals the whole batch's.

    Args:
        strategy: strategy with the replicas.
        seed: seed of the step.
        batch: a replica's rows.
        number: index of the micro-batch.
        size: rows per micro-batch.
    """
    # The batch has states from a frozen encoder: each micro-batch draws separately.
    if INPUT_MASK not in batch:
        return seed + tf.stack([number * _MICRO_BATCH_SEEDS] + [0] * (seed.shape[0] - 1))
    if seed.shape[0] == 2:
        return tf.concat([seed, shard_start(batch[INPUT_MASK], number * size, strategy)], axis=0)
    sequences, tokens, _, shorter = tf.unstack(shard_start(batch[INPUT_MASK], number * size, strategy, seed[4]))
    return seed + tf.stack([0, 0, sequences, tokens, 0, shorter])


def _squares(rows: tf.IndexedSlices) -> tf.Tensor:
    return 2.0 * tf.nn.l2_loss(rows.values)


def _sum_over_replicas(
    gradients: dict, context: tf.distribute.ReplicaContext, squares: list | None = None
) -> tuple[dict, tf.Tensor]:
    """Return gradients summed over replicas, and their global norm.

    The norm counts each row in a tf.IndexedSlices separately, also if replicas differ.

    Args:
        gradients: name -> gradient.
        squares: from _accumulate; None without micro-batches.
    """
    if context.num_replicas_in_sync == 1 and squares is None:
        return gradients, global_norm(list(gradients.values()))
    names = list(gradients)
    if squares is None:
        squares = [
            _squares(gradient) if isinstance(gradient, tf.IndexedSlices) else None for gradient in gradients.values()
        ]
    sparse_squares = [value for value in squares if value is not None]
    row_squares = tf.add_n(sparse_squares) if sparse_squares else tf.constant(0.0)
    summed = [tf.convert_to_tensor(gradients[name]) for name in names]
    if context.num_replicas_in_sync > 1:
        # Use a single call, so that the strategy can pack small gradients together.
        *summed, row_squares = context.all_reduce(tf.distribute.ReduceOp.SUM, [*summed, row_squares])
    dense_squares = [
        2.0 * tf.nn.l2_loss(total) for total, square in zip(summed, squares, strict=True) if square is None
    ]
    return dict(zip(names, summed, strict=True)), tf.sqrt(tf.add_n([*dense_squares, row_squares]))
