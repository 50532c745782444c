"""One label, several labels or a number for each text: a row of logits from the pooled output, or what else is asked for."""

import tensorflow as tf

from bert_cli.base.head_types import POOLED, TextInput
from bert_cli.features import spec
from bert_cli.heads.losses import FORMULAS, PLAIN, LossRule
from bert_cli.heads.model import PLAIN_TRAINING, TextModel, TrainingRule, mean_weights, text_rows
from bert_cli.heads.output_layer import OutputLayer
from bert_cli.model import ops
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.problem_types.registry import PROBLEM_TYPES

# Fixed in the original, whatever the config's own rates say.
CLASSIFIER_DROPOUT = 0.1
HEAD_STDDEV = 0.02


class ClassifierHead(OutputLayer):
    """Logits of texts or tokens: x Wᵀ + b; variables output_weights [n, H] and output_bias [n], at the root."""

    def __init__(self, hidden: int, label_count: int, seed: int):
        super().__init__("classifier", hidden, label_count, HEAD_STDDEV, seed)
        self.checkpoint_names = ["output_weights", "output_bias"]  # the original gives them no scope

    def call(self, pooled, dropout_rate=0.0, seed=None):
        """pooled: float32 [B, H] -> float32 [B, n]."""
        return super().call(ops.dropout(pooled, dropout_rate, seed))


class BertClassifier(TextModel):
    """Encoder and classifier head of run_classifier.py: a dict of int32 [B, S] -> logits float32 [B, n].

    Its variables are the same whatever the `problem_type` makes of the logits:

    single_label  softmax: probabilities of n labels that exclude each other; loss: cross entropy
    multi_label   sigmoid: the probability of each of n labels; loss: the mean of their n binary cross entropies
    regression    a number, n = 1; loss: the squared error
    """

    kind = "a fine-tuned classifier"
    head_dropout = CLASSIFIER_DROPOUT

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        label_count: int,
        compute_dtype: str = "float32",
        seed: int = 0,
        problem_type: str = "single_label",
        text_input: TextInput = POOLED,
        rule: TrainingRule = PLAIN_TRAINING,
    ):
        """problem_type: a key of PROBLEM_TYPES.

        ValueError for an unknown problem_type, or a regression of several numbers.
        """
        known = PROBLEM_TYPES.get(problem_type)
        if known is None or (not known.has_named_outputs and label_count != 1):
            raise ValueError(f"{problem_type} with {label_count} labels")
        super().__init__("classifier_model", config, compute_dtype, seed, rule)
        self.problem_type, self.text_input = known, text_input
        self.formulas = FORMULAS[problem_type]
        self.columns = self.prediction_columns = spec.OF_PROBLEM[problem_type]
        self.head = ClassifierHead(config.hidden_size, label_count, seed)

    def states(self, inputs, training=False, seed=None, packed=False):
        """See TaskModel: float32 [B, W]."""
        return text_rows(self.encoder, self.text_input, inputs, training, seed, packed)

    def loss_terms(self, batch, seed, packed, batch_size, frozen=False):
        """See TaskModel: the mean over the examples, n = B."""
        logits = self.trained_logits(batch, seed, packed, frozen)
        losses = self.losses(batch["label_ids"], logits, self.loss_rule)
        return losses, mean_weights(losses, batch_size)

    def losses(self, labels: tf.Tensor, logits: tf.Tensor, rule: LossRule = PLAIN) -> tf.Tensor:
        """Of each example, float32 [B], in nats but for a regression; labels as `columns` says, logits [B, n]."""
        return self.formulas.losses(labels, logits, rule)

    def predictions(self, batch, packed):
        """`probabilities` [B, n], or `values` [B] of a regression, and `losses` [B], float32."""
        logits = self({name: batch[name] for name in spec.INPUTS}, packed=packed)
        name = self.problem_type.output_name
        return {name: self.activated(logits), "losses": self.losses(batch["label_ids"], logits)}

    def activated(self, logits: tf.Tensor) -> tf.Tensor:
        """The predictions: probabilities float32 [B, n], or the numbers of a regression [B]; logits [B, n]."""
        return self.formulas.activated(logits)
