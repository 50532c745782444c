"""One training step, written for any tf.distribute strategy."""

import functools
from collections.abc import Callable

import tensorflow as tf

from bert_cli.base.spec import INPUT_MASK
from bert_cli.tf_internals import variables
from bert_cli.training.batch_distribution import SHARD_START, shard_start
from bert_cli.training.grappler import with_background_imports, with_few_graph_optimizers
from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay, global_norm

# Dropout adds the number of its position in the model to the second number of a step's seed, so
# steps lie this far apart.
_SEEDS_PER_STEP = 1024
# Micro-batches add multiples of these primes to the first number, and replicas of the smaller one;
# heads add less.
_MICRO_BATCH_SEEDS, _REPLICA_SEEDS = 999_983, 7919


def make_train_step(
    strategy: tf.distribute.Strategy,
    loss_fn: Callable,
    optimizer: AdamWeightDecay,
    seed: int,
    loss_scale: LossScale | None,
    signature: dict | None,
    accumulation_steps: int = 1,
) -> Callable:
    """Build `step(batch) -> (loss, learning rate)`, a compiled function of one update.

    loss_fn(batch, seed) is a replica's share of the loss: over all replicas these sum to the mean
    over the batch. `seed` is int32 [2], different for each step and replica, or [6], see
    ops.dropout. `signature` is the tf.TensorSpec of each entry of a batch, so that no new length is
    a new trace; None with several replicas. accumulation_steps: into how many equal micro-batches a
    replica's rows are divided, whose gradients are computed one after the other and added up: the
    update of the whole, in the memory of a micro-batch. Dropout draws by the position in the whole
    batch there too.
    """
    trained = list(optimizer.weights.values())
    # Where a variable is frozen, only the trained ones are watched: nothing below the lowest of
    # them is then differentiated.
    watches_all = not optimizer.has_frozen

    def gradients_of(scale: tf.Tensor | float, batch: dict, step_seed: tf.Tensor) -> tuple[tf.Tensor, list]:
        # The loss is scaled inside the tape, so that the gradients are already scaled while float16
        # computes them.
        with tf.GradientTape(watch_accessed_variables=watches_all) as tape:
            if not watches_all:
                tape.watch(trained)
            loss = loss_fn(batch, step_seed)
            scaled = loss * scale
        return loss, tape.gradient(scaled, trained)

    def replica_step(batch):
        context = tf.distribute.get_replica_context()
        step = tf.cast(variables.read(optimizer.step.handle, tf.int64), tf.int32)
        batch, step_seed = _seeded(batch, seed, step, context)
        scale = loss_scale.current() if loss_scale else 1.0
        if accumulation_steps == 1:
            loss, found = gradients_of(scale, batch, step_seed)
            squares = None
        else:
            shapes = [variable.shape for variable in trained]
            loss, found, squares = _accumulate(
                strategy, batch, accumulation_steps, step_seed, functools.partial(gradients_of, scale), shapes
            )
        gradients, norm = _sum_over_replicas(dict(zip(optimizer.weights, found, strict=True)), context, squares)
        finite = tf.math.is_finite(norm)
        if loss_scale is None:
            _, rate = optimizer.apply(gradients, norm)
            # A gradient that is not finite spoils the weights: the loss says so, and the loop stops
            # before they are saved.
            return tf.where(finite, loss, float("nan")), rate
        # An overflow leaves the weights as they are; its moments shrink as by a gradient of zero.
        inverse = tf.where(finite, 1.0 / scale, 0.0)
        gradients = {name: _finite_product(gradient, inverse, finite) for name, gradient in gradients.items()}
        _, rate = optimizer.apply(gradients, tf.where(finite, norm / scale, 0.0), tf.cast(finite, tf.float32))
        loss_scale.update(finite)
        return loss, rate

    def step(batch):
        losses, rates = strategy.run(replica_step, args=(batch,))
        rate = strategy.experimental_local_results(rates)[0]
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None), rate

    # Nothing in it branches on a tensor in Python: autograph would only take its time.
    given = [signature] if signature else None
    function = tf.function(step, input_signature=given, reduce_retracing=signature is None, autograph=False)
    return with_few_graph_optimizers(with_background_imports(function))


def _seeded(batch: dict, seed: int, step: tf.Tensor, context: tf.distribute.ReplicaContext) -> tuple[dict, tf.Tensor]:
    """A replica's batch without where its share begins, and the seed of this step, see
    make_train_step.
    """
    start = batch.get(SHARD_START)
    if start is None:
        replica = tf.cast(context.replica_id_in_sync_group, tf.int32)
        return batch, tf.stack([seed + replica * _REPLICA_SEEDS, step * _SEEDS_PER_STEP])
    # Draws by the position in the whole batch: the same for any number of replicas.
    batch = {name: values for name, values in batch.items() if name != SHARD_START}
    return batch, tf.concat([tf.stack([seed, step * _SEEDS_PER_STEP]), start], axis=0)


def _finite_product(gradient, factor, finite):
    gradient = tf.convert_to_tensor(gradient)
    return tf.where(finite, gradient * factor, tf.zeros([], gradient.dtype))


def _accumulate(
    strategy: tf.distribute.Strategy, batch: dict, steps: int, seed: tf.Tensor, gradients_of: Callable, shapes: list
) -> tuple[tf.Tensor, list, list]:
    """(loss, gradients, squares) of all micro-batches of a batch; shapes: of the gradients.

    squares: for each gradient that a micro-batch has as tf.IndexedSlices, the sum of the squares of
    its rows, one by one, as global_norm counts them; None for the others.
    """
    size = tf.shape(next(iter(batch.values())))[0] // steps
    is_sparse: list[bool] = []

    def add(number, sums):
        rows = {name: values[number * size : (number + 1) * size] for name, values in batch.items()}
        loss, gradients = gradients_of(rows, _micro_batch_seed(strategy, seed, batch, number, size))
        is_sparse[:] = [isinstance(gradient, tf.IndexedSlices) for gradient in gradients]
        squares = [
            _squares(gradient) if sparse else tf.constant(0.0)
            for gradient, sparse in zip(gradients, is_sparse, strict=True)
        ]
        found = (loss, [tf.convert_to_tensor(gradient) for gradient in gradients], squares)
        return number + 1, tf.nest.map_structure(tf.add, sums, found)

    zeros = (tf.constant(0.0), [tf.zeros(shape) for shape in shapes], [tf.constant(0.0) for _ in shapes])
    # One micro-batch at a time: only then is its memory free for the next one.
    _, (loss, gradients, squares) = tf.while_loop(
        lambda number, _: number < steps, add, (tf.constant(0), zeros), parallel_iterations=1
    )
    return loss, gradients, [own if sparse else None for own, sparse in zip(squares, is_sparse, strict=True)]


def _micro_batch_seed(
    strategy: tf.distribute.Strategy, seed: tf.Tensor, batch: dict, number: tf.Tensor, size: tf.Tensor
) -> tf.Tensor:
    """The seed of a micro-batch of `size` rows, with which dropout draws what it would in the whole
    batch.
    """
    if INPUT_MASK not in batch:  # the states of a frozen encoder, on top of which each micro-batch draws for itself
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
    """Sum gradients over replicas; the norm counts rows of tf.IndexedSlices one by one, wherever
    they were computed.

    squares: what _accumulate says of gradients whose rows were added up already.
    """
    if context.num_replicas_in_sync == 1 and squares is None:
        return gradients, global_norm(list(gradients.values()))
    names = list(gradients)
    if squares is None:
        squares = [
            _squares(gradient) if isinstance(gradient, tf.IndexedSlices) else None for gradient in gradients.values()
        ]
    of_rows = [value for value in squares if value is not None]
    row_squares = tf.add_n(of_rows) if of_rows else tf.constant(0.0)
    summed = [tf.convert_to_tensor(gradients[name]) for name in names]
    if context.num_replicas_in_sync > 1:
        # In one call, so that the strategy can pack small gradients together.
        *summed, row_squares = context.all_reduce(tf.distribute.ReduceOp.SUM, [*summed, row_squares])
    of_others = [2.0 * tf.nn.l2_loss(total) for total, own in zip(summed, squares, strict=True) if own is None]
    return dict(zip(names, summed, strict=True)), tf.sqrt(tf.add_n([*of_others, row_squares]))
