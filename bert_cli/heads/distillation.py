"""A classifier whose loss is also that of the probabilities of another one, its teacher (Hinton et al., 2015)."""

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
        if self.formulas.divergence is None:
            raise ValueError(f"{self.problem_type.name} has no distillation")
        self.divergence = self.formulas.divergence
        self.temperature, self.share = temperature, share

    def loss_terms(self, batch, seed, packed, batch_size, frozen=False):
        """See TaskModel: the mean over the examples, n = B."""
        logits = self.trained_logits(batch, seed, packed, frozen)
        # A row without a label has label_ids of zeros; has_label = 0 takes its loss out again.
        hard = self.losses(batch["label_ids"], logits, self.loss_rule) * batch["has_label"]
        soft = self.divergence(batch["teacher_logits"] / self.temperature, logits / self.temperature)
        losses = self.share * self.temperature**2 * soft + (1.0 - self.share) * hard
        return losses, mean_weights(losses, batch_size)


class DistilledWindowsClassifier(DistilledClassifier, BertWindowsClassifier):
    """The same of texts in windows."""
