"""A classifier whose loss is also that of the probabilities of another one, its teacher (Hinton et al., 2015)."""

import tensorflow as tf

from bert_cli.base.head_types import MULTI_LABEL
from bert_cli.features import spec
from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.model import mean_weights
from bert_cli.heads.windows import BertWindowsClassifier


class DistilledClassifier(BertClassifier):
    """A BertClassifier, whose arguments it takes, with the loss of each example

        share · T² · KL(teacher at T ‖ student at T) + (1 − share) · loss of its label

    of which an example without label has the first term alone. T² keeps the gradients of both terms of one size whatever T
    is. Of labels that do not exclude each other it is the mean of the divergences of each. Not for a regression.
    """

    def __init__(self, *args, temperature, share, **kwargs):
        super().__init__(*args, **kwargs)
        self.columns = (*self.columns, *spec.DISTILLATION)
        self.temperature, self.share = temperature, share

    def loss_terms(self, batch, seed, packed, batch_size, frozen=False):
        """See TaskModel: the mean over the examples, n = B."""
        logits = self.trained_logits(batch, seed, packed, frozen)
        hard = self.losses(batch["label_ids"], logits, self.loss_rule) * batch["has_label"]
        soft = divergence(batch["teacher_logits"], logits, self.temperature, self.problem_type)
        losses = self.share * self.temperature**2 * soft + (1.0 - self.share) * hard
        return losses, mean_weights(losses, batch_size)


class DistilledWindowsClassifier(DistilledClassifier, BertWindowsClassifier):
    """The same of texts in windows."""


def divergence(teacher: tf.Tensor, student: tf.Tensor, temperature: float, problem_type: str) -> tf.Tensor:
    """KL(teacher ‖ student) in nats, of logits [B, L] divided by the temperature: float32 [B]."""
    teacher, student = teacher / temperature, student / temperature
    if problem_type != MULTI_LABEL:
        known = tf.nn.log_softmax(teacher)
        return tf.reduce_sum(tf.exp(known) * (known - tf.nn.log_softmax(student)), axis=-1)
    probabilities = tf.sigmoid(teacher)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=probabilities, logits=teacher)
    cross = tf.nn.sigmoid_cross_entropy_with_logits(labels=probabilities, logits=student)
    return tf.reduce_mean(cross - entropy, axis=-1)
