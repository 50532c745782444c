"""The losses of classifiers: cross entropy, smoothed, focal, and with a weight for each label."""

import dataclasses

import tensorflow as tf

# Below this 1 - p counts as this: the power's slope is not finite at 0, and a loss of so sure a prediction is none.
_LEAST_ERROR = 1e-7


@dataclasses.dataclass(frozen=True)
class LossRule:
    """What is made of labels and logits in training; evaluations report the plain cross entropy.

    smoothing: ε, the share of each label that is spread evenly over all n of them (Szegedy et al., 2016): the target is
    (1 − ε)·[right] + ε/n, for a yes or no (1 − ε)·y + ε/2. focal_gamma: γ of the focal loss (Lin et al., 2017), which
    multiplies each −log p by (1 − p)^γ; None for the cross entropy. class_weights: what the loss of an example is
    multiplied by, for each label, where labels do not exclude each other as (of those without it, of those with it).
    """

    smoothing: float = 0.0
    focal_gamma: float | None = None
    class_weights: tuple | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is the cross entropy, but for weights."""
        return not self.smoothing and self.focal_gamma is None


PLAIN = LossRule()


def cross_entropy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """−log softmax(logits)[label] in nats: labels int32 [...], logits float32 [..., n] -> float32 [...]."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def softmax_losses(labels: tf.Tensor, logits: tf.Tensor, rule: LossRule) -> tf.Tensor:
    """Of labels that exclude each other: int32 [M], logits float32 [M, n] -> float32 [M], in nats."""
    if rule.is_plain:
        losses = cross_entropy(labels, logits)
    else:
        logs = tf.nn.log_softmax(logits)  # [M, n]
        count = tf.shape(logits)[-1]
        share = rule.smoothing / tf.cast(count, tf.float32)
        targets = tf.one_hot(labels, count) * (1.0 - rule.smoothing) + share
        losses = -tf.reduce_sum(targets * _focused(logs, 1.0 - tf.exp(logs), rule.focal_gamma), axis=-1)
    if rule.class_weights is None:
        return losses
    return losses * tf.gather(tf.constant(rule.class_weights, tf.float32), labels)


def sigmoid_losses(labels: tf.Tensor, logits: tf.Tensor, rule: LossRule) -> tf.Tensor:
    """Of labels that do not exclude each other, each for itself: float32 [M, n] of 0 and 1, logits [M, n] -> [M, n]."""
    targets = labels * (1.0 - rule.smoothing) + rule.smoothing / 2.0 if rule.smoothing else labels
    if rule.focal_gamma is None:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)
    else:
        yes, no = tf.sigmoid(logits), tf.sigmoid(-logits)
        losses = -targets * _focused(tf.math.log_sigmoid(logits), no, rule.focal_gamma)
        losses -= (1.0 - targets) * _focused(tf.math.log_sigmoid(-logits), yes, rule.focal_gamma)
    if rule.class_weights is None:
        return losses
    weights = tf.constant(rule.class_weights, tf.float32)  # [n, 2]
    return losses * tf.where(labels > 0.5, weights[:, 1], weights[:, 0])


def _focused(logs: tf.Tensor, errors: tf.Tensor, gamma: float | None) -> tf.Tensor:
    """log p times (1 − p)^γ, `errors` being 1 − p."""
    return logs if gamma is None else logs * tf.pow(tf.maximum(errors, _LEAST_ERROR), gamma)
