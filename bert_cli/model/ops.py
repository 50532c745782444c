"""Element-wise operations, with manual gradients if these save passes over memory.

On a CPU, fine-tuning with short texts is limited by these passes as much as by matrix products.
"""

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bert_cli.tf_internals import onednn

_GELU_SCALE = math.sqrt(2.0 / math.pi)
_GELU_CUBIC = 0.044715
_PHILOX = 1  # TensorFlow's number for this random generator, which all devices support


def traced_once(function: Callable) -> Callable:
    """Return a function that is traced once per thread; every graph calls that trace.

    TensorFlow inlines the calls before it optimizes a graph, so results and speed stay the same.
    """
    # Once per thread: TensorFlow adds a trace's gradient to its graph, and two threads in training
    # would change that graph at the same time.
    local = threading.local()

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if not tf.inside_function():
            return function(*args, **options)
        if not hasattr(local, "traced"):
            local.traced = tf.function(function, autograph=False)
        # Convert variables: a trace keeps mirrored ones,
        # so a later model would use the first model's.
        values = [tf.convert_to_tensor(arg) if isinstance(arg, tf.Variable) else arg for arg in args]
        return local.traced(*values, **options)

    return call


@traced_once
def layer_norm(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: float) -> tf.Tensor:
    """Return the layer normalization (Ba et al., 2016) over the last axis, computed in float32.

    Args:
        x: [T, H] in the compute dtype, which is also the result's.
        gamma, beta: float32 [H].
        epsilon: added to the biased variance.
    """
    dtype = x.dtype

    # Not Keras' LayerNormalization: it has many small
    # operators, each a pass over memory, forward and backward.
    @tf.custom_gradient
    def normalize(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        x = tf.cast(x, tf.float32)
        centered = x - tf.reduce_mean(x, axis=-1, keepdims=True)
        inverse = tf.math.rsqrt(tf.reduce_mean(tf.square(centered), axis=-1, keepdims=True) + epsilon)
        unit = centered * inverse  # [T, H]

        def gradient(dy: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            dy = tf.cast(dy, tf.float32)
            d_unit = dy * gamma
            along = tf.reduce_mean(d_unit * unit, axis=-1, keepdims=True)
            dx = (d_unit - tf.reduce_mean(d_unit, axis=-1, keepdims=True) - unit * along) * inverse
            return tf.cast(dx, dtype), tf.reduce_sum(dy * unit, axis=0), tf.reduce_sum(dy, axis=0)

        return tf.cast(unit * gamma + beta, dtype), gradient

    return normalize(x, gamma, beta)


def add_bias(x: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """Return x [R, units] + bias [units]; both have the same dtype."""
    return _add_bias_in_bfloat16(x, bias) if x.dtype == tf.bfloat16 else tf.nn.bias_add(x, bias)


@tf.custom_gradient
def _add_bias_in_bfloat16(x: tf.Tensor, bias: tf.Tensor) -> tuple[tf.Tensor, Callable]:
    return tf.nn.bias_add(x, bias), lambda dy: (dy, _bias_gradient(dy))


def _bias_gradient(dy: tf.Tensor) -> tf.Tensor:
    """Return the bias gradient, [units], from the gradient of the sum, [R, units]."""
    # On a CPU, TensorFlow's bias gradient adds rows in bfloat16: an error of 2 % with 370 rows and
    # 5 % with 2,048. reduce_sum adds in float32 and rounds once.
    if dy.dtype == tf.bfloat16:
        return tf.reduce_sum(dy, axis=0)
    return tf.raw_ops.BiasAddGrad(out_backprop=dy)


def _product_gradient(x: tf.Tensor, factor: tf.Tensor, dy: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the gradients of x, W and b for x W + b."""
    return tf.matmul(dy, factor, transpose_b=True), tf.matmul(x, dy, transpose_a=True), _bias_gradient(dy)


@tf.custom_gradient
def biased_product(x: tf.Tensor, factor: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """Return x W + b by oneDNN, all in bfloat16; for training, when W changes.

    Args:
        x: [R, inputs].
        factor: W, [inputs, units].
        bias: b, [units].
    """

    # Use a batch with one matrix. If W can change, TensorFlow's kernel for a product with a bias
    # takes 1.1 to 1.6 times as long as the kernel for batched products, which can also add a bias.
    product = onednn.batch_product(
        x[tf.newaxis, tf.newaxis],
        factor[tf.newaxis, tf.newaxis],
        tf.ones([], onednn.DTYPE),
        bias[tf.newaxis, tf.newaxis, tf.newaxis],
        [1, 1, None, factor.shape[1]],
    )
    return tf.reshape(product, [-1, factor.shape[1]]), lambda dy: _product_gradient(x, factor, dy)


@tf.custom_gradient
def precomputed_product(x: tf.Tensor, factor: tf.Tensor, bias: tf.Tensor, product: tf.Tensor) -> tf.Tensor:
    """Return `product`, which must equal x W + b, with the gradients of x W + b.

    Args:
        x, factor, bias: as in biased_product.
        product: [R, units].
    """
    return tf.identity(product), lambda dy: (*_product_gradient(x, factor, dy), None)


@tf.custom_gradient
def _gelu_tanh(x: tf.Tensor) -> tuple[tf.Tensor, Callable]:
    # 0.5·x·(1 + tanh(u)) = x·sigmoid(2u), which needs fewer passes.
    dtype = x.dtype
    x = tf.cast(x, tf.float32)
    square = tf.square(x)
    gate = tf.sigmoid(x * (2.0 * _GELU_SCALE + (2.0 * _GELU_SCALE * _GELU_CUBIC) * square))

    def gradient(dy: tf.Tensor) -> tf.Tensor:
        bend = x * (2.0 * _GELU_SCALE + (6.0 * _GELU_SCALE * _GELU_CUBIC) * square)
        slope = gate * (1.0 + (1.0 - gate) * bend)
        return tf.cast(tf.cast(dy, tf.float32) * slope, dtype)

    return tf.cast(x * gate, dtype), gradient


@tf.custom_gradient
def _gelu_erf(x: tf.Tensor) -> tuple[tf.Tensor, Callable]:
    dtype = x.dtype
    x = tf.cast(x, tf.float32)
    normal_cdf = 0.5 * (1.0 + tf.math.erf(x * math.sqrt(0.5)))

    def gradient(dy: tf.Tensor) -> tf.Tensor:
        slope = normal_cdf + x * tf.exp(-0.5 * tf.square(x)) * (1.0 / math.sqrt(2.0 * math.pi))
        return tf.cast(tf.cast(dy, tf.float32) * slope, dtype)

    return tf.cast(x * normal_cdf, dtype), gradient


_ACTIVATIONS = {
    "linear": tf.identity,
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
    "gelu_tanh": _gelu_tanh,
    "gelu_erf": _gelu_erf,
}


def activate(x: tf.Tensor, name: str, training: bool) -> tf.Tensor:
    """Apply an activation to x.

    Args:
        x: float32 or bfloat16.
        name: see BertConfig.activation.
        training: whether a gradient follows.
    """
    # Outside training, use TensorFlow's GELU, which fuses with the product before it. In training,
    # compute in float32: a CPU emulates element-wise bfloat16, which more than doubles the time.
    if not training and name.startswith("gelu"):
        return tf.nn.gelu(x, approximate=name == "gelu_tanh")
    return _ACTIVATIONS[name](x)


def offset_seed(seed: tf.Tensor, first: int, second: int) -> tf.Tensor:
    """Return the seed for another dropout in the same step.

    Args:
        seed: int32 [2] or [6].
        first, second: added to its first two numbers.
    """
    return seed + tf.constant([first, second] + [0] * (seed.shape[0] - 2))


@traced_once
def dropout(x: tf.Tensor, rate: float, seed: tf.Tensor | None, row: tf.Tensor | None = None) -> tf.Tensor:
    """Apply dropout (Srivastava et al., 2014) with a mask that depends only on `seed`.

    A shard of a batch has a seed with six numbers. Its mask is a section of the whole batch's mask.
    The last four numbers are:

    - sequences in earlier shards;
    - computed tokens in earlier shards;
    - width of the whole batch's shorter attention bucket (see model.layout);
    - sequences of earlier shards in that bucket.

    Args:
        x: [rows, …].
        rate: probability that an element becomes 0.
        seed: int32 [2], or [6] for a shard; None for no dropout.
        row: index of x's first row in the whole batch; None if x has a row per sequence.
    """
    # Use one 32-bit random number for two elements: drawing them takes a tenth of a short step. The
    # rate is then exact to 1/65536. The scale inverts the exact probability to keep an element, so
    # the expectation is exact.
    if seed is None or rate == 0.0:
        return x
    dropped = round(rate * 65536)
    count = tf.size(x)
    if seed.shape[0] == 2:
        bits = tf.random.stateless_uniform([(count + 1) // 2], seed, minval=None, maxval=None, dtype=tf.uint32)
        # Use int16, from -32768 to 32767: a GPU cannot compare uint16.
        halves = tf.reshape(tf.bitcast(bits, tf.int16), [-1])[:count]
    else:
        halves = _draw_halves(seed[:2], seed[2] if row is None else row, x)
    keep = tf.reshape(halves >= tf.constant(dropped - 32768, tf.int16), tf.shape(x))
    scale = tf.cast(65536.0 / (65536.0 - dropped), x.dtype)
    return x * (tf.cast(keep, x.dtype) * scale)


def _draw_halves(seed: tf.Tensor, row: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Return the random int16 numbers for x if it is a section of a larger tensor, [size of x].

    They equal those that dropout draws for the larger tensor, from its row `row` on.
    """
    rows = tf.cast(tf.shape(x)[0], tf.int64)
    count = tf.size(x, out_type=tf.int64)
    # A shard may have no rows. Use int64: all shards together may have more than 2³¹ elements.
    start = tf.cast(row, tf.int64) * (count // tf.maximum(rows, 1))
    # Each count of the Philox generator returns four 32-bit numbers, which are eight halves.
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    counter += tf.stack([tf.cast(start // 8, tf.uint64), tf.constant(0, tf.uint64)])
    before = start % 8
    bits = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=[(before + count + 1) // 2], key=key, counter=counter, alg=_PHILOX, dtype=tf.uint32
    )
    return tf.reshape(tf.bitcast(bits, tf.int16), [-1])[before : before + count]
