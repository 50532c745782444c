"""Vectors of texts: pooling of an encoder's outputs, the steps after it, and their training."""

from collections.abc import Callable, Mapping
from typing import Any, Unpack

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import MEAN
from bert_cli.base.pooling import CLS, LAST, MAX, MEAN_SQRT_LEN, POOLER, SMALLEST_TOTAL, WEIGHTED_MEAN, modes_of
from bert_cli.heads.model import NetworkOptions, TaskModel, mean_weights
from bert_cli.heads.vector_losses import VECTOR_LOSSES, VectorLossRule
from bert_cli.model.config import BertConfig
from bert_cli.sentence.steps import LAYER_NORM_EPS, SMALLEST_LENGTH, Dense, LayerNorm, Step, Truncate
from bert_cli.sentence.vectors import PoolingAndSteps

# Keys of sentence.steps.ACTIVATIONS.
_ACTIVATIONS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "Identity": tf.identity,
    "Tanh": tf.tanh,
    "ReLU": tf.nn.relu,
    "Sigmoid": tf.sigmoid,
    "GELU": tf.nn.gelu,
    "SiLU": tf.nn.silu,
}


def embed_texts(outputs: Mapping[str, tf.Tensor], mask: tf.Tensor, vectors: PoolingAndSteps) -> tf.Tensor:
    """Return one vector per text, float32 [B, W].

    Args:
        outputs: an encoder's `sequence_output` [B, S, H] and `pooled_output` [B, H].
        mask: 1 for tokens and 0 for padding, int32 [B, S].
        vectors: pooling and the steps after it.
    """
    if vectors.pooling == POOLER:
        x = outputs["pooled_output"]
    else:
        modes = modes_of(vectors.pooling)
        x = tf.concat([_pool(outputs["sequence_output"], mask, mode, vectors.num_skipped) for mode in modes], axis=-1)
    for step in vectors.steps:
        x = _take_step(step, x)
    return x


def _pool(states: tf.Tensor, mask: tf.Tensor, mode: str, num_skipped: int) -> tf.Tensor:
    """Return the vectors of one pooling, float32 [B, H]; for the arguments, see `embed_texts`."""
    token_numbers = tf.cumsum(mask, axis=1)  # 1 for the first token
    lengths = tf.reduce_sum(mask, axis=1, keepdims=True)
    is_token = mask > 0
    chosen = is_token & (token_numbers > num_skipped)
    if mode == MAX:
        return tf.reduce_max(tf.where(tf.expand_dims(chosen, 2), states, -float("inf")), axis=1)
    if mode == CLS:
        # If a prompt fills a whole text that was cut, its first token counts.
        chosen = is_token & tf.equal(token_numbers, tf.where(lengths > num_skipped, num_skipped, 0) + 1)
    elif mode == LAST:
        chosen = is_token & tf.equal(token_numbers, lengths)
    weights = tf.cast(chosen, tf.float32)
    if mode == WEIGHTED_MEAN:
        weights *= tf.cast(token_numbers, tf.float32)
    totals = tf.maximum(tf.reduce_sum(weights, axis=1, keepdims=True), SMALLEST_TOTAL)
    return tf.linalg.matvec(states, weights, transpose_a=True) / (tf.sqrt(totals) if mode == MEAN_SQRT_LEN else totals)


def _take_step(step: Step, x: tf.Tensor) -> tf.Tensor:
    """Return the vectors after a step, float32 [B, W]."""
    if isinstance(step, Dense):
        outputs = x @ step.kernel
        outputs = _ACTIVATIONS[step.activation](outputs if step.bias is None else outputs + step.bias)
        if not step.has_residual:
            return outputs
        return outputs + (x if step.residual_kernel is None else x @ step.residual_kernel)
    if isinstance(step, LayerNorm):
        means, variances = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, means, variances, step.beta, step.gamma, LAYER_NORM_EPS)
    if isinstance(step, Truncate):
        return x[:, : step.output_width]
    return x / tf.maximum(tf.norm(x, axis=-1, keepdims=True), SMALLEST_LENGTH)


class BertVectors(TaskModel):
    """An encoder that is trained on pairs of texts, with a loss on the vectors of its texts.

    Arguments and outputs of a call are the encoder's, so that all engines pool in the same way. The
    modules after pooling, such as dense layers, are constants.
    """

    columns = spec.TEXT_PAIRS

    def __init__(
        self, config: BertConfig, vectors: PoolingAndSteps, loss: VectorLossRule, **options: Unpack[NetworkOptions]
    ):
        """Create the encoder.

        Args:
            config: config of the encoder.
            vectors: pooling and the steps after it.
            options: see TaskModel.
        """
        super().__init__("vector_model", config, **options)
        self.text_input = MEAN
        self._vectors = vectors
        self._loss = loss

    def call(self, inputs: dict[str, tf.Tensor], **options: Any) -> dict[str, Any]:
        """Return the encoder's outputs, see BertEncoder."""
        return self.encoder(inputs, **options)

    def loss_terms(
        self, batch: dict, seed: tf.Tensor | None, packed: bool, batch_size: int, frozen: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return losses and weights for the mean over rows, see TaskModel; n = B.

        Losses that compare rows compare rows of the same replica.
        """
        shape = tf.shape(batch[spec.INPUT_MASK])  # [B, K, S]
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in spec.encoder_inputs(batch).items()}
        outputs = self.encoder(rows, training=True, seed=seed, packed=packed)
        vectors = embed_texts(outputs, rows[spec.INPUT_MASK], self._vectors)  # [B·K, W]
        vectors = tf.reshape(vectors, [shape[0], shape[1], vectors.shape[-1]])
        losses = VECTOR_LOSSES[self._loss.loss](vectors, batch, self._loss)
        return losses, mean_weights(losses, batch_size)
