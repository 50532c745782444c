"""Losses of sentence vectors: functions of a batch's vectors, a row per loss in PAIR_LOSSES.

Vectors are float32 [B, K, W]. Each of B rows has K texts: an anchor, its positive, and K - 2
negatives. All losses use cosines.
"""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from bert_cli.problem_types.pair_losses import COSENT, COSINE, MULTIPLE_NEGATIVES, TRIPLET, PairLoss


@dataclasses.dataclass(frozen=True)
class VectorLossRule:
    """The loss of a training.

    Attributes:
        loss: key of VECTOR_LOSSES.
        scale: factor of cosines, the inverse of a temperature.
        margin: smallest difference of cosines between a positive and a negative.
    """

    loss: PairLoss
    scale: float
    margin: float


def _unit(vectors: tf.Tensor) -> tf.Tensor:
    """Return the vectors [..., W] with a length of 1."""
    return tf.math.l2_normalize(vectors, axis=-1)


def _cosines(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Return the cosines of vectors [..., W] at the same index, float32 [...]."""
    return tf.reduce_sum(_unit(first) * _unit(second), axis=-1)


def same_label_losses(vectors: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return each row's mean of (cos - s)² over the other rows, float32 [B].

    s is 1 for equal labels, and 0 otherwise.

    Args:
        vectors: float32 [B, W].
        labels: int32 [B].
    """
    is_same = tf.cast(labels[:, tf.newaxis] == labels[tf.newaxis], tf.float32)  # [B, B]
    units = _unit(vectors)
    errors = tf.square(tf.matmul(units, units, transpose_b=True) - is_same)
    errors = tf.linalg.set_diag(errors, tf.zeros_like(errors[:, 0]))
    num_others = tf.maximum(tf.cast(tf.shape(errors)[0], tf.float32) - 1.0, 1.0)
    return tf.reduce_sum(errors, axis=1) / num_others


def _multiple_negatives(vectors: tf.Tensor, batch: dict[str, tf.Tensor], rule: VectorLossRule) -> tf.Tensor:
    """Return the cross-entropy of each anchor's positive among all candidates in the batch.

    This is MultipleNegativesRankingLoss of sentence-transformers (Henderson et al., 2017).
    Candidates are all positives and negatives, except texts that are equal to the anchor or to
    another positive of it.
    """
    size, num_candidates = tf.shape(vectors)[0], tf.shape(vectors)[1] - 1
    candidates = tf.reshape(vectors[:, 1:], [-1, vectors.shape[2]])  # [B·(K - 1), W]
    cosines = tf.matmul(_unit(vectors[:, 0]), _unit(candidates), transpose_b=True)  # [B, B·(K - 1)]
    targets = tf.range(size) * num_candidates  # the positive comes first in each row
    text_ids = batch["text_ids"]
    anchors, positives = text_ids[:, 0], text_ids[:, 1]
    candidate_ids = tf.reshape(text_ids[:, 1:], [-1])
    # Rows with equal anchors share their positives.
    is_same_anchor = tf.cast(anchors[:, tf.newaxis] == anchors, tf.float32)  # [B, B]
    is_positive_of_row = tf.cast(positives[:, tf.newaxis] == candidate_ids, tf.float32)
    is_positive = tf.matmul(is_same_anchor, is_positive_of_row) > 0  # [B, B·(K - 1)]
    is_left_out = is_positive | (anchors[:, tf.newaxis] == candidate_ids)
    is_target = targets[:, tf.newaxis] == tf.range(size * num_candidates)
    logits = tf.where(is_left_out & ~is_target, cosines.dtype.min, rule.scale * cosines)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)


def _cosent(vectors: tf.Tensor, batch: dict[str, tf.Tensor], rule: VectorLossRule) -> tf.Tensor:
    """Return log(1 + Σ exp(scale · (cos_i - cos_j))) over pairs of rows with score_i < score_j.

    The loss is about the whole batch, so each row has the same value. This is CoSENTLoss of
    sentence-transformers (Su, 2022): only the order of the scores counts.
    """
    cosines = rule.scale * _cosines(vectors[:, 0], vectors[:, 1])  # [B]
    scores = batch["scores"]
    differences = cosines[:, tf.newaxis] - cosines  # [B, B]
    is_wrong_order = scores[:, tf.newaxis] < scores
    differences = tf.where(is_wrong_order, differences, differences.dtype.min)
    loss = tf.reduce_logsumexp(tf.concat([tf.zeros([1]), tf.reshape(differences, [-1])], axis=0))
    return tf.fill(tf.shape(scores), loss)


def _cosine(vectors: tf.Tensor, batch: dict[str, tf.Tensor], rule: VectorLossRule) -> tf.Tensor:
    """Return (cos - score)²: CosineSimilarityLoss of sentence-transformers."""
    return tf.square(_cosines(vectors[:, 0], vectors[:, 1]) - batch["scores"])


def _triplet(vectors: tf.Tensor, batch: dict[str, tf.Tensor], rule: VectorLossRule) -> tf.Tensor:
    """Return the mean of max(0, cos(a, n) - cos(a, p) + margin) over each row's negatives n.

    This is TripletLoss of sentence-transformers with the distance 1 - cos (Schroff et al., 2015).
    """
    anchors, positives, negatives = vectors[:, :1], vectors[:, 1:2], vectors[:, 2:]
    differences = _cosines(anchors, negatives) - _cosines(anchors, positives)  # [B, K - 2]
    losses = tf.nn.relu(differences + rule.margin)
    # A missing negative repeats the positive.
    text_ids = batch["text_ids"]
    counts = tf.cast(text_ids[:, 2:] != text_ids[:, 1:2], tf.float32)
    return tf.reduce_sum(losses * counts, axis=1) / tf.maximum(tf.reduce_sum(counts, axis=1), 1.0)


# Loss -> function from vectors, a batch with spec.TEXT_PAIRS and the rule to losses [B].
VECTOR_LOSSES: dict[PairLoss, Callable[[tf.Tensor, dict[str, tf.Tensor], VectorLossRule], tf.Tensor]] = {
    MULTIPLE_NEGATIVES: _multiple_negatives,
    COSENT: _cosent,
    COSINE: _cosine,
    TRIPLET: _triplet,
}
