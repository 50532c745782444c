"""Losses of labels: cross entropy, smoothed, focal, and with class weights; and the loss of each
problem type.
"""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.regression import REGRESSION

# Below this 1 - p counts as this: the power's slope is not finite at 0, and a loss of so sure a
# prediction is none.
_LEAST_ERROR = 1e-7


@dataclasses.dataclass(frozen=True)
class LossRule:
    """The loss of labels and logits in training; evaluations report the plain cross-entropy.

    smoothing: ε, the share of each label that is spread evenly over all n of them (Szegedy et al.,
    2016): the target is (1 − ε)·[right] + ε/n, for a yes or no (1 − ε)·y + ε/2. focal_gamma: γ of
    the focal loss (Lin et al., 2017), which multiplies each −log p by (1 − p)^γ; None for the cross
    entropy. class_weights: what the loss of an example is multiplied by, for each label; in
    multi-label classification (for rows without the label, for rows with it).
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
    """−log softmax(logits)[label] in nats: labels int32 [...], logits float32 [..., n] -> float32
    [...].
    """
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def softmax_losses(labels: tf.Tensor, logits: tf.Tensor, rule: LossRule, among: tf.Tensor | None = None) -> tf.Tensor:
    """Single-label: int32 [M], logits float32 [M, n] -> float32 [M], in nats.

    among: bool [M, n], the labels that the rule's smoothing may spread a share over, where these
    are not all.
    """
    # A fused kernel of TensorFlow, which is stable for logits of any size.
    losses = _focused(cross_entropy(labels, logits), rule.focal_gamma)
    if rule.smoothing:
        # The right label has a share of ε as well, as in the paper.
        of_each = _focused(-tf.nn.log_softmax(logits), rule.focal_gamma)  # [M, n]
        if among is None:
            mean = tf.reduce_mean(of_each, axis=-1)
        else:
            mean = tf.reduce_sum(tf.where(among, of_each, 0.0), axis=-1)
            mean /= tf.math.count_nonzero(among, axis=-1, dtype=tf.float32)
        losses = (1.0 - rule.smoothing) * losses + rule.smoothing * mean
    if rule.class_weights is None:
        return losses
    return losses * tf.gather(tf.constant(rule.class_weights, tf.float32), labels)


def sigmoid_losses(labels: tf.Tensor, logits: tf.Tensor, rule: LossRule) -> tf.Tensor:
    """Multi-label, each label for itself: float32 [M, n] of 0 and 1, logits [M, n] -> [M, n]."""
    targets = labels * (1.0 - rule.smoothing) + rule.smoothing / 2.0 if rule.smoothing else labels
    if rule.focal_gamma is None:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)
    else:
        losses = targets * _focused(-tf.math.log_sigmoid(logits), rule.focal_gamma)
        # log σ(−x) is log(1 − σ(x)), without the 1 − σ(x) that rounds to 0 for large logits.
        losses += (1.0 - targets) * _focused(-tf.math.log_sigmoid(-logits), rule.focal_gamma)
    if rule.class_weights is None:
        return losses
    weights = tf.constant(rule.class_weights, tf.float32)  # [n, 2]
    return losses * tf.where(labels > 0.5, weights[:, 1], weights[:, 0])


def _focused(losses: tf.Tensor, gamma: float | None) -> tf.Tensor:
    """−log p times (1 − p)^γ, of any −log p."""
    # expm1 keeps 1 − p exact for a sure prediction, where 1 − exp(−loss) would cancel.
    return losses if gamma is None else losses * tf.pow(tf.maximum(-tf.math.expm1(-losses), _LEAST_ERROR), gamma)


def softmax_divergence(teacher: tf.Tensor, student: tf.Tensor) -> tf.Tensor:
    """KL(softmax(teacher) ‖ softmax(student)) in nats, of logits [B, L]: float32 [B]."""
    # From log-probabilities: the ratio of two tiny probabilities would be 0 / 0.
    known = tf.nn.log_softmax(teacher)
    return tf.reduce_sum(tf.exp(known) * (known - tf.nn.log_softmax(student)), axis=-1)


def sigmoid_divergence(teacher: tf.Tensor, student: tf.Tensor) -> tf.Tensor:
    """The mean over the labels of KL(sigmoid(teacher) ‖ sigmoid(student)) in nats, of logits [B,
    L]: float32 [B].
    """
    # The divergence is the cross entropy minus the entropy; both come from a function that no logit
    # overflows.
    probabilities = tf.sigmoid(teacher)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=probabilities, logits=teacher)
    cross = tf.nn.sigmoid_cross_entropy_with_logits(labels=probabilities, logits=student)
    return tf.reduce_mean(cross - entropy, axis=-1)


@dataclasses.dataclass(frozen=True)
class Formulas:
    """What TensorFlow computes from the logits [B, n] of a problem type; problem_types has the same
    in NumPy.

    activated: -> the predictions. losses(label_ids, logits, rule) -> float32 [B], in nats but for a
    regression.
    divergence(teacher, student) of logits -> float32 [B], None where there is no distillation.
    """

    activated: Callable[[tf.Tensor], tf.Tensor]
    losses: Callable[[tf.Tensor, tf.Tensor, LossRule], tf.Tensor]
    divergence: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None


FORMULAS = {
    # A new problem type needs one line here; its name joins it to its object in problem_types.
    SINGLE_LABEL.name: Formulas(tf.nn.softmax, softmax_losses, softmax_divergence),
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
class Distillation:
    """A loss that also compares with the probabilities of another classifier, the teacher (Hinton
    et al., 2015):

        share · T² · KL(teacher at T ‖ student at T) + (1 − share) · loss of the label

    of which an example without label has the first term alone. T² keeps the gradients of both terms
    of one size whatever T is. For multi-label it is the mean of the divergences of all labels. Not
    for a regression.
    """

    temperature: float
    share: float

    def losses(self, formulas: Formulas, teacher: tf.Tensor, student: tf.Tensor, hard: tf.Tensor) -> tf.Tensor:
        """Of each example, float32 [B]; teacher, student: logits [B, n]; hard: the losses of the
        labels, [B].
        """
        assert formulas.divergence, "BertClassifier refuses a distillation without one"
        soft = formulas.divergence(teacher / self.temperature, student / self.temperature)
        return self.share * self.temperature**2 * soft + (1.0 - self.share) * hard
