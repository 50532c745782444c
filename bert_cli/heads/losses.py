"""Losses per problem type: cross-entropy, with label smoothing, focal loss and class weights."""

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.regression import REGRESSION

# Lower bound for 1 - p in the focal loss: the slope of the power is infinite at 0, and the loss is
# negligible there.
_SMALLEST_ERROR = 1e-7


@dataclasses.dataclass(frozen=True)
class LossRule:
    """Options for the training loss; evaluations report the plain cross-entropy.

    Attributes:
        smoothing: ε, the share of the target that is spread evenly over n labels (Szegedy et al.,
            2016). The target is (1 − ε)·[correct] + ε/n, and in multi-label classification
            (1 − ε)·y + ε/2.
        focal_gamma: γ for the focal loss (Lin et al., 2017), which multiplies −log p by
            (1 − p)^γ; None for cross-entropy.
        class_weights: factor of an example's loss per label. In multi-label classification, a pair
            per label: for rows without it, for rows with it.
    """

    smoothing: float = 0.0
    focal_gamma: float | None = None
    class_weights: tuple | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether the loss is cross-entropy, apart from class weights."""
        return not self.smoothing and self.focal_gamma is None


PLAIN = LossRule()


def cross_entropy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Return −log softmax(logits)[label] in nats, float32 [...].

    Args:
        labels: int32 [...].
        logits: float32 [..., n].
    """
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def softmax_losses(
    labels: tf.Tensor, logits: tf.Tensor, rule: LossRule, smoothed_labels: tf.Tensor | None = None
) -> tf.Tensor:
    """Return losses for one label per row, float32 [M], in nats.

    Args:
        labels: int32 [M].
        logits: float32 [M, n].
        rule: options.
        smoothed_labels: bool [M, n], the labels that smoothing covers; None for all.
    """
    # cross_entropy uses a fused kernel, which is stable for logits of any size.
    losses = _apply_focus(cross_entropy(labels, logits), rule.focal_gamma)
    if rule.smoothing:
        # The correct label also receives its part of ε, as in the paper.
        label_losses = _apply_focus(-tf.nn.log_softmax(logits), rule.focal_gamma)  # [M, n]
        if smoothed_labels is None:
            mean = tf.reduce_mean(label_losses, axis=-1)
        else:
            mean = tf.reduce_sum(tf.where(smoothed_labels, label_losses, 0.0), axis=-1)
            mean /= tf.math.count_nonzero(smoothed_labels, axis=-1, dtype=tf.float32)
        losses = (1.0 - rule.smoothing) * losses + rule.smoothing * mean
    if rule.class_weights is None:
        return losses
    return losses * tf.gather(tf.constant(rule.class_weights, tf.float32), labels)


def distribution_losses(distributions: tf.Tensor, logits: tf.Tensor, rule: LossRule) -> tf.Tensor:
    """Return losses for label distributions, float32 [M], in nats.

    This is the mean of `softmax_losses` over all labels, weighted by their probabilities. Without
    options it is the cross-entropy −Σ p log q.

    Args:
        distributions: float32 [M, n], p; a row of zeros has the loss 0.
        logits: float32 [M, n], of q.
        rule: options.
    """
    losses = _apply_focus(-tf.nn.log_softmax(logits), rule.focal_gamma)  # [M, n]
    if rule.smoothing:
        mean = tf.reduce_mean(losses, axis=-1, keepdims=True)
        losses = (1.0 - rule.smoothing) * losses + rule.smoothing * mean
    if rule.class_weights is not None:
        losses *= tf.constant(rule.class_weights, tf.float32)
    return tf.reduce_sum(distributions * losses, axis=-1)


def sigmoid_losses(labels: tf.Tensor, logits: tf.Tensor, rule: LossRule) -> tf.Tensor:
    """Return a separate loss for each label, float32 [M, n], in nats.

    Args:
        labels: float32 [M, n], 0 or 1.
        logits: float32 [M, n].
        rule: options.
    """
    targets = labels * (1.0 - rule.smoothing) + rule.smoothing / 2.0 if rule.smoothing else labels
    if rule.focal_gamma is None:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)
    else:
        losses = targets * _apply_focus(-tf.math.log_sigmoid(logits), rule.focal_gamma)
        # Use log σ(−x) for log(1 − σ(x)): 1 − σ(x) rounds to 0 for large logits.
        losses += (1.0 - targets) * _apply_focus(-tf.math.log_sigmoid(-logits), rule.focal_gamma)
    if rule.class_weights is None:
        return losses
    weights = tf.constant(rule.class_weights, tf.float32)  # [n, 2]
    return losses * tf.where(labels > 0.5, weights[:, 1], weights[:, 0])


def _apply_focus(losses: tf.Tensor, gamma: float | None) -> tf.Tensor:
    """Return losses −log p times (1 − p)^γ."""
    # expm1 keeps 1 − p exact if p is close to 1; 1 − exp(−loss) would cancel.
    return losses if gamma is None else losses * tf.pow(tf.maximum(-tf.math.expm1(-losses), _SMALLEST_ERROR), gamma)


def softmax_divergence(teacher: tf.Tensor, student: tf.Tensor) -> tf.Tensor:
    """Return KL(softmax(teacher) ‖ softmax(student)) in nats, float32 [B], for logits [B, L]."""
    # Use log-probabilities: the ratio between two tiny probabilities would be 0 / 0.
    log_targets = tf.nn.log_softmax(teacher)
    return tf.reduce_sum(tf.exp(log_targets) * (log_targets - tf.nn.log_softmax(student)), axis=-1)


def sigmoid_divergence(teacher: tf.Tensor, student: tf.Tensor) -> tf.Tensor:
    """Return the mean over labels of KL(sigmoid(teacher) ‖ sigmoid(student)) in nats, float32 [B].

    Both arguments are logits, [B, L].
    """
    # The divergence is the cross-entropy minus the entropy. TensorFlow's function computes both
    # without overflow for any logit.
    probabilities = tf.sigmoid(teacher)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=probabilities, logits=teacher)
    cross = tf.nn.sigmoid_cross_entropy_with_logits(labels=probabilities, logits=student)
    return tf.reduce_mean(cross - entropy, axis=-1)


def decide_label(scores: tf.Tensor, probabilities: tf.Tensor, thresholds: np.ndarray | None) -> tf.Tensor:
    """Return the predicted labels as metrics.classification.predict_labels does, int64 [B].

    Args:
        scores: values with the order of the probabilities, [B, L].
        probabilities: [B, L].
        thresholds: see LabelSet.
    """
    if thresholds is None:
        return tf.argmax(scores, axis=1)
    [label] = np.flatnonzero(~np.isnan(thresholds))
    is_over = tf.cast(probabilities[:, label], tf.float64) >= thresholds[label]
    return tf.where(is_over, label, 1 - label)


@dataclasses.dataclass(frozen=True)
class Formulas:
    """A problem type's TensorFlow functions of logits [B, n]; problem_types has them in NumPy.

    Attributes:
        activate: logits -> predictions.
        losses: (label_ids, logits, rule) -> float32 [B], in nats except for a regression.
        divergence: (teacher logits, student logits) -> float32 [B]; None if the problem type has
            no distillation.
        decide: (logits or predictions, predictions, thresholds or None) -> index of the predicted
            label, int64 [B]; None if a row does not have exactly one. The largest logit decides
            without thresholds, see LabelSet.thresholds.
    """

    activate: Callable[[tf.Tensor], tf.Tensor]
    losses: Callable[[tf.Tensor, tf.Tensor, LossRule], tf.Tensor]
    divergence: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None
    decide: Callable[[tf.Tensor, tf.Tensor, np.ndarray | None], tf.Tensor] | None = None


FORMULAS = {
    # A new problem type needs one line here. The name links it to its object in problem_types.
    SINGLE_LABEL.name: Formulas(tf.nn.softmax, softmax_losses, softmax_divergence, decide_label),
    MULTI_LABEL.name: Formulas(
        tf.nn.sigmoid,
        lambda labels, logits, rule: tf.reduce_mean(sigmoid_losses(labels, logits, rule), axis=-1),
        sigmoid_divergence,
    ),
    REGRESSION.name: Formulas(
        lambda logits: logits[:, 0],
        lambda labels, logits, rule: tf.math.squared_difference(logits[:, 0], labels),
    ),
    MULTIPLE_CHOICE.name: Formulas(tf.nn.softmax, softmax_losses),
}


@dataclasses.dataclass(frozen=True)
class DistillationLoss:
    """A loss that also compares with another classifier, the teacher (Hinton et al., 2015).

        share · T² · KL(teacher at T ‖ student at T) + (1 − share) · label loss

    Examples without a label have only the first term. T² makes the size of the gradients independent
    of T. Multi-label classification uses the mean divergence over labels. Regressions have no
    distillation.

    Attributes:
        temperature: T.
        share: weight of the divergence, 0 to 1.
    """

    temperature: float
    share: float

    def losses(self, formulas: Formulas, teacher: tf.Tensor, student: tf.Tensor, hard: tf.Tensor) -> tf.Tensor:
        """Return the loss per example, float32 [B].

        Args:
            formulas: functions of the problem type.
            teacher, student: logits, [B, n].
            hard: label losses, [B].
        """
        assert formulas.divergence, "BertTextClassifier refuses a distillation without one"
        soft = formulas.divergence(teacher / self.temperature, student / self.temperature)
        return self.share * self.temperature**2 * soft + (1.0 - self.share) * hard
