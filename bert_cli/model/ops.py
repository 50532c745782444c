"""Element-wise pieces of BERT, each with a gradient written by hand where that saves passes over
memory.

On a CPU, fine-tuning on short texts is bound by these passes as much as by the matrix products.
"""

import functools
import math
import threading
from collections.abc import Callable

import tensorflow as tf

from bert_cli.tf_internals import onednn

_GELU_SCALE = math.sqrt(2.0 / math.pi)
_GELU_CUBIC = 0.044715
_PHILOX = 1  # TensorFlow's number of this generator of random bits, which its devices all take


def traced_once(function: Callable) -> Callable:
    """Trace the function once per thread within graphs, and let each graph call that trace.

    TensorFlow replaces the calls by the function's body before it optimizes a graph, so the same is
    computed at the same speed.
    """
    # Per thread: TensorFlow makes the gradient of a trace inside its graph, and two threads that
    # train would change that graph at the same time.
    local = threading.local()

    @functools.wraps(function)
    def call(*args, **options):
        if not tf.inside_function():
            return function(*args, **options)
        if not hasattr(local, "traced"):
            local.traced = tf.function(function, autograph=False)
        # A trace keeps mirrored variables, so a later model would compute with what the first one holds.
        values = [tf.convert_to_tensor(arg) if isinstance(arg, tf.Variable) else arg for arg in args]
        return local.traced(*values, **options)

    return call


@traced_once
def layer_norm(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: float) -> tf.Tensor:
    """Layer normalisation over the last axis with the biased variance (Ba et al., 2016); inside,
    float32.

    x: [T, H] in the compute dtype; gamma, beta: float32 [H]. Returns [T, H] in x's dtype.
    """
    dtype = x.dtype

    # By hand: Keras' LayerNormalization is many small operators, each a pass over memory, forwards
    # and backwards.
    @tf.custom_gradient
    def normalise(x, gamma, beta):
        x = tf.cast(x, tf.float32)
        centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
        inverse = tf.math.rsqrt(tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True) + epsilon)
        unit = centred * inverse  # [T, H]

        def gradient(dy):
            dy = tf.cast(dy, tf.float32)
            d_unit = dy * gamma
            along = tf.reduce_mean(d_unit * unit, axis=-1, keepdims=True)
            dx = (d_unit - tf.reduce_mean(d_unit, axis=-1, keepdims=True) - unit * along) * inverse
            return tf.cast(dx, dtype), tf.reduce_sum(dy * unit, axis=0), tf.reduce_sum(dy, axis=0)

        return tf.cast(unit * gamma + beta, dtype), gradient

    return normalise(x, gamma, beta)


def add_bias(x: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """x [R, units] + bias [units], of one dtype."""
    return _add_bias_in_bfloat16(x, bias) if x.dtype == tf.bfloat16 else tf.nn.bias_add(x, bias)


@tf.custom_gradient
def _add_bias_in_bfloat16(x, bias):
    return tf.nn.bias_add(x, bias), lambda dy: (dy, _bias_gradient(dy))


def _bias_gradient(dy: tf.Tensor) -> tf.Tensor:
    """The gradient of a bias, [units], by the gradient of what it was added to, [R, units]."""
    # TensorFlow's own gradient of the bias adds the rows up in bfloat16 on a CPU: 2 % off with 370
    # rows, 5 % with 2,048. A sum over an axis is computed in float32 and rounded once.
    if dy.dtype == tf.bfloat16:
        return tf.reduce_sum(dy, axis=0)
    return tf.raw_ops.BiasAddGrad(out_backprop=dy)


def _product_gradient(x: tf.Tensor, factor: tf.Tensor, dy: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The gradients of x, W and b in x W + b."""
    return tf.matmul(dy, factor, transpose_b=True), tf.matmul(x, dy, transpose_a=True), _bias_gradient(dy)


@tf.custom_gradient
def biased_product(x: tf.Tensor, factor: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """x W + b, [R, inputs] -> [R, units], by oneDNN, all bfloat16; for training, where W changes."""

    # As a batch of one matrix: where W may change, the kernel that TensorFlow takes for a product
    # and a bias is 1.1 to 1.6 times as slow as the kernel for batched products, which can add as
    # well.
    made = onednn.batch_product(
        x[tf.newaxis, tf.newaxis],
        factor[tf.newaxis, tf.newaxis],
        tf.ones([], onednn.DTYPE),
        bias[tf.newaxis, tf.newaxis, tf.newaxis],
        [1, 1, None, factor.shape[1]],
    )
    return tf.reshape(made, [-1, factor.shape[1]]), lambda dy: _product_gradient(x, factor, dy)


@tf.custom_gradient
def known_product(x: tf.Tensor, factor: tf.Tensor, bias: tf.Tensor, known: tf.Tensor) -> tf.Tensor:
    """`known`, which is x W + b, [R, inputs] -> [R, units], computed before; with the gradient of
    x W + b.
    """
    return tf.identity(known), lambda dy: (*_product_gradient(x, factor, dy), None)


@tf.custom_gradient
def _gelu_tanh(x):
    # 0.5·x·(1 + tanh(u)) = x·sigmoid(2u), which takes fewer passes.
    dtype = x.dtype
    x = tf.cast(x, tf.float32)
    square = tf.square(x)
    gate = tf.sigmoid(x * (2.0 * _GELU_SCALE + (2.0 * _GELU_SCALE * _GELU_CUBIC) * square))

    def gradient(dy):
        bend = x * (2.0 * _GELU_SCALE + (6.0 * _GELU_SCALE * _GELU_CUBIC) * square)
        slope = gate * (1.0 + (1.0 - gate) * bend)
        return tf.cast(tf.cast(dy, tf.float32) * slope, dtype)

    return tf.cast(x * gate, dtype), gradient


@tf.custom_gradient
def _gelu_erf(x):
    dtype = x.dtype
    x = tf.cast(x, tf.float32)
    normal_cdf = 0.5 * (1.0 + tf.math.erf(x * math.sqrt(0.5)))

    def gradient(dy):
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
    """Apply the activation of BertConfig.activation."""
    # Outside training GELU stays as TensorFlow has it, which fuses into the product before it. In
    # training it is computed in float32: element-wise bfloat16 is emulated on a CPU, at more than
    # twice the time.
    if not training and name.startswith("gelu"):
        return tf.nn.gelu(x, approximate=name == "gelu_tanh")
    return _ACTIVATIONS[name](x)


def offset_seed(seed: tf.Tensor, first: int, second: int) -> tf.Tensor:
    """The seed of another dropout of the same step: these are added to its first two numbers."""
    return seed + tf.constant([first, second] + [0] * (seed.shape[0] - 2))


@traced_once
def dropout(x: tf.Tensor, rate: float, seed: tf.Tensor | None, row: tf.Tensor | None = None) -> tf.Tensor:
    """Dropout (Srivastava et al., 2014) with a mask that depends on `seed` alone: int32 [2], None
    for no dropout.

    A seed of six numbers is of a shard of a batch. After the two come the sequences and the
    computed tokens of the shards before it, the width of the whole batch's shorter bucket in
    attention, and how many of the sequences before it are in that bucket (see model.layout). The
    mask is this shard's part of the mask of the whole batch. row: which row of the whole x [rows,
    …] the first one is, where that is not the number of sequences.
    """
    # One 32-bit random number serves two elements: drawing them is a tenth of a short step. So
    # `rate` is met to 1/65536, and the scale is the inverse of the exact keeping probability, which
    # keeps the expectation exact.
    if seed is None or rate == 0.0:
        return x
    dropped = round(rate * 65536)
    count = tf.size(x)
    if seed.shape[0] == 2:
        bits = tf.random.stateless_uniform([(count + 1) // 2], seed, minval=None, maxval=None, dtype=tf.uint32)
        # From -32768 to 32767: uint16 cannot be compared on a GPU.
        halves = tf.reshape(tf.bitcast(bits, tf.int16), [-1])[:count]
    else:
        halves = _halves_from(seed[:2], seed[2] if row is None else row, x)
    keep = tf.reshape(halves >= tf.constant(dropped - 32768, tf.int16), tf.shape(x))
    scale = tf.cast(65536.0 / (65536.0 - dropped), x.dtype)
    return x * (tf.cast(keep, x.dtype) * scale)


def _halves_from(seed: tf.Tensor, row: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """The random int16 numbers that dropout would draw for rows `row` and following of an x of more
    rows, [size of x].
    """
    rows = tf.cast(tf.shape(x)[0], tf.int64)
    count = tf.size(x, out_type=tf.int64)
    # A shard may have no rows; int64, as the numbers of all shards may be more than 2³¹.
    start = tf.cast(row, tf.int64) * (count // tf.maximum(rows, 1))
    # Each count of the generator, Philox, is good for four numbers of 32 bits, so for eight halves.
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    counter += tf.stack([tf.cast(start // 8, tf.uint64), tf.constant(0, tf.uint64)])
    before = start % 8
    bits = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=[(before + count + 1) // 2], key=key, counter=counter, alg=_PHILOX, dtype=tf.uint32
    )
    return tf.reshape(tf.bitcast(bits, tf.int16), [-1])[before : before + count]
