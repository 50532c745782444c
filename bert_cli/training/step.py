"""One training step, written for any tf.distribute strategy."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bert_cli.training.feeding import SHARE_START
from bert_cli.training.optimizer import AdamWeightDecay, global_norm
from bert_cli.weights.checkpoint import Reader
from bert_cli.weights.names import GOOD_STEPS_NAME, SCALE_NAME

# Random draws of a step: places in the model add to the second number of the seed, so steps lie this far apart.
_PLACES = 1024
# float16 loses small gradients, so the loss is scaled up: first guess, and steps without overflow before doubling.
_FIRST_LOSS_SCALE = 2.0**15
_GROWTH_STEPS = 2000


class LossScale:
    """The dynamic loss scale of float16 training (Micikevicius et al., 2018)."""

    def __init__(self):
        self.scale = tf.Variable(_FIRST_LOSS_SCALE, trainable=False)
        self.good_steps = tf.Variable(0, trainable=False)

    def tensors(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps of it."""
        return {SCALE_NAME: self.scale.numpy(), GOOD_STEPS_NAME: self.good_steps.numpy()}

    def restore(self, reader: Reader) -> None:
        """Go on with the scale of a checkpoint; one of an older version has none, and it starts anew."""
        if SCALE_NAME in reader.shapes and GOOD_STEPS_NAME in reader.shapes:
            self.scale.assign(reader.read(SCALE_NAME))
            self.good_steps.assign(reader.read(GOOD_STEPS_NAME))

    def current(self) -> tf.Tensor:
        return tf.raw_ops.ReadVariableOp(resource=self.scale.handle, dtype=tf.float32)

    def update(self, finite: tf.Tensor) -> None:
        """Halve after an overflow, double after a long time without; in this replica."""
        good = tf.raw_ops.ReadVariableOp(resource=self.good_steps.handle, dtype=tf.int32) + 1
        grow = good >= _GROWTH_STEPS
        factor = tf.where(finite, tf.where(grow, 2.0, 1.0), 0.5)
        scale = tf.clip_by_value(self.current() * factor, 1.0, 2.0**24)
        good = tf.where(tf.logical_or(grow, tf.logical_not(finite)), 0, good)
        tf.raw_ops.AssignVariableOp(resource=self.scale.handle, value=scale)
        tf.raw_ops.AssignVariableOp(resource=self.good_steps.handle, value=good)


def make_train_step(
    strategy: tf.distribute.Strategy,
    loss_fn: Callable,
    optimizer: AdamWeightDecay,
    seed: int,
    loss_scale: LossScale | None,
    signature: dict | None,
) -> Callable:
    """Build `step(batch) -> (loss, learning rate)`, a compiled function of one update.

    loss_fn(batch, seed) is a replica's share of the loss: over all replicas these sum to the mean over the batch. `seed` is
    int32 [2], different for each step and replica, or [4], see ops.dropout.
    `signature` is the tf.TensorSpec of each entry of a batch, so that no new length is a new trace; None with several replicas.
    """

    def replica_step(batch):
        context = tf.distribute.get_replica_context()
        step = tf.cast(tf.raw_ops.ReadVariableOp(resource=optimizer.step.handle, dtype=tf.int64), tf.int32)
        replica = tf.cast(context.replica_id_in_sync_group, tf.int32)
        start = batch.get(SHARE_START)
        if start is None:
            step_seed = tf.stack([seed + replica * 7919, step * _PLACES])
        else:  # draws by the place in the whole batch: the same for any number of replicas
            step_seed = tf.concat([tf.stack([seed, step * _PLACES]), start], axis=0)
            batch = {name: values for name, values in batch.items() if name != SHARE_START}
        scale = loss_scale.current() if loss_scale else 1.0
        with tf.GradientTape() as tape:
            loss = loss_fn(batch, step_seed)
            scaled = loss * scale
        gradients = dict(zip(optimizer.weights, tape.gradient(scaled, list(optimizer.weights.values())), strict=True))
        gradients, norm = _sum_over_replicas(gradients, context)
        finite = tf.math.is_finite(norm)
        if loss_scale is None:
            _, rate = optimizer.apply(gradients, norm)
            # A gradient that is not finite spoils the weights: the loss says so, and the loop stops before they are saved.
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
    return tf.function(step, input_signature=given, reduce_retracing=signature is None, autograph=False)


def _finite_product(gradient, factor, finite):
    gradient = tf.convert_to_tensor(gradient)
    return tf.where(finite, gradient * factor, tf.zeros([], gradient.dtype))


def _sum_over_replicas(gradients: dict, context: tf.distribute.ReplicaContext) -> tuple[dict, tf.Tensor]:
    """Sum gradients over replicas; the norm counts rows of tf.IndexedSlices one by one, wherever they were computed."""
    if context.num_replicas_in_sync == 1:
        return gradients, global_norm(list(gradients.values()))
    rows = [gradient.values for gradient in gradients.values() if isinstance(gradient, tf.IndexedSlices)]
    row_squares = 2.0 * tf.add_n([tf.nn.l2_loss(values) for values in rows]) if rows else tf.constant(0.0)
    names = list(gradients)
    dense = [tf.convert_to_tensor(gradients[name]) for name in names]
    *summed, row_squares = context.all_reduce(tf.distribute.ReduceOp.SUM, [*dense, row_squares])
    squares = [
        2.0 * tf.nn.l2_loss(total)
        for name, total in zip(names, summed, strict=True)
        if not isinstance(gradients[name], tf.IndexedSlices)
    ]
    return dict(zip(names, summed, strict=True)), tf.sqrt(tf.add_n([*squares, row_squares]))
