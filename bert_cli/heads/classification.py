"""Classifiers of texts: one label, several labels or a number for each, also of texts in windows."""

from typing import Unpack

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import FIRST, MEAN, POOLED, TextInput
from bert_cli.heads.losses import FORMULAS, PLAIN, Distillation
from bert_cli.heads.model import NetworkOptions, OutputLayer, TaskModel, mean_weights
from bert_cli.model import ops
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.problem_types.registry import PROBLEM_TYPES

# Fixed in the original, whatever the config's own rates say.
CLASSIFIER_DROPOUT = 0.1
HEAD_STDDEV = 0.02


def _mean(outputs: dict[str, tf.Tensor], mask: tf.Tensor) -> tf.Tensor:
    """The mean over the tokens without padding, float32 [B, H]; mask: int32 [B, S]."""
    # Padding would pull the mean of a short text towards 0.
    real = tf.cast(mask, tf.float32)[:, :, tf.newaxis]  # [B, S, 1]
    return tf.reduce_sum(outputs["sequence_output"] * real, axis=1) / tf.reduce_sum(real, axis=1)


# What the head of a text reads, float32 [B, H], from the encoder's outputs and input_mask; by the
# name of a TextInput.
TEXT_ROWS = {
    POOLED.name: lambda outputs, mask: outputs["pooled_output"],
    FIRST.name: lambda outputs, mask: outputs["first_output"],
    MEAN.name: _mean,
}


class ClassifierHead(OutputLayer):
    """Logits of texts or tokens: x Wᵀ + b; variables output_weights [n, H] and output_bias [n], at
    the root.
    """

    def __init__(self, hidden: int, label_count: int, seed: int):
        super().__init__("classifier", hidden, label_count, HEAD_STDDEV, seed)
        # Set after the weights were made: their seeds are drawn from the scope, which names in the
        # checkpoint lack.
        self.checkpoint_names = ["output_weights", "output_bias"]  # the original gives them no scope

    def call(self, pooled, dropout_rate=0.0, seed=None):
        """pooled: float32 [B, H] -> float32 [B, n]."""
        return super().call(ops.dropout(pooled, dropout_rate, seed))


class BertClassifier(TaskModel):
    """Encoder and classifier head of run_classifier.py: a dict of int32 [B, S] -> logits float32
    [B, n].

    Its variables are the same whatever the `problem_type` makes of the logits:

    single_label  softmax over n labels; loss: cross-entropy
    multi_label   sigmoid: the probability of each of n labels; loss: the mean of their n binary cross entropies
    regression    a number, n = 1; loss: the squared error
    """

    kind = "a fine-tuned classifier"
    head_dropout = CLASSIFIER_DROPOUT

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        label_count: int,
        problem_type: str = "single_label",
        text_input: TextInput = POOLED,
        distillation: Distillation | None = None,
        temperatures: tuple[float, ...] = (),
        **options: Unpack[NetworkOptions],
    ):
        """problem_type: a key of PROBLEM_TYPES. distillation: for a teacher, with its logits in the
        batches. temperatures: that `activated` divides logits by, see HeadSpec; commands that predict calibrate in
        NumPy.

        ValueError for an unknown problem_type, a regression of several numbers, or a distilled one.
        """
        known = PROBLEM_TYPES.get(problem_type)
        if known is None or (not known.has_named_outputs and label_count != 1):
            raise ValueError(f"{problem_type} with {label_count} labels")
        super().__init__("classifier_model", config, **options)
        self.problem_type = known
        self.text_input = text_input
        self.formulas = FORMULAS[problem_type]
        self.columns = self.prediction_columns = known.batch_columns
        self.distillation = distillation
        self.temperatures = temperatures
        if distillation:
            if self.formulas.divergence is None:
                raise ValueError(f"{problem_type} has no distillation")
            self.columns = (*self.columns, *spec.DISTILLATION)
        self.head = ClassifierHead(config.hidden_size, label_count, self.seed)

    @property
    def state_columns(self):
        return spec.stated(self.columns)

    def states(self, inputs, training=False, seed=None, packed=False):
        """See TaskModel: float32 [B, W]."""
        only_first = not self.text_input.reads_tokens
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed, pooled_only=only_first)
        return TEXT_ROWS[self.text_input.name](outputs, inputs["input_mask"])

    def call(self, inputs, training=False, seed=None, packed=False, frozen=False):
        """Logits; frozen: no dropout in the encoder, as it is not trained."""
        # A training step passes its own seed; this is for calls of the model by hand.
        if training and seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        return self.head_logits(self.states(inputs, training and not frozen, seed, packed), seed if training else None)

    def head_logits(self, states: tf.Tensor, seed: tf.Tensor | None = None) -> tf.Tensor:
        """Logits [B, n] of states float32 [B, W]. `seed` of a training step makes the dropout; None
        for none.
        """
        if seed is not None:
            seed = ops.offset_seed(seed, 1, 0)  # a row of its own, away from the encoder's
        return self.head(states, dropout_rate=self.head_dropout, seed=seed)

    def trained_logits(self, batch: dict, seed: tf.Tensor | None, packed: bool, frozen: bool) -> tf.Tensor:
        """Of a training batch, see loss_terms; one of `state_columns` has its states."""
        if "states" in batch:
            return self.head_logits(batch["states"], seed)
        return self(spec.encoder_inputs(batch), training=True, seed=seed, packed=packed, frozen=frozen)

    def loss_terms(self, batch, seed, packed, batch_size, frozen=False):
        """See TaskModel: the mean over the examples, n = B."""
        logits = self.trained_logits(batch, seed, packed, frozen)
        losses = self.formulas.losses(batch["label_ids"], logits, self.loss_rule)
        if self.distillation:
            # A row without a label has label_ids of zeros; has_label = 0 takes its loss out again.
            hard = losses * batch["has_label"]
            losses = self.distillation.losses(self.formulas, batch["teacher_logits"], logits, hard)
        return losses, mean_weights(losses, batch_size)

    def predictions(self, batch, packed):
        """`probabilities` [B, n], or `values` [B] of a regression, `losses` [B] and `logits` [B, n],
        float32.
        """
        logits = self(spec.encoder_inputs(batch), packed=packed)
        losses = self.formulas.losses(batch["label_ids"], logits, PLAIN)
        return {self.problem_type.output_name: self.activated(logits), "losses": losses, "logits": logits}

    def activated(self, logits: tf.Tensor) -> tf.Tensor:
        """The predictions: probabilities float32 [B, n], or the numbers of a regression [B]; logits
        [B, n].
        """
        return self.formulas.activated(logits / self.temperatures if self.temperatures else logits)


class BertWindowsClassifier(BertClassifier):
    """A BertClassifier of a dict of int32 [B, K, S] -> logits float32 [B, n]: the loss sees a text
    once, as predictions do.

    A window without tokens is none. It has the variables and arguments of BertClassifier.
    """

    state_columns = ()  # a text has as many states as windows

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.columns = spec.windowed(self.columns)
        self.prediction_columns = spec.windowed(self.prediction_columns)

    def call(self, inputs, training=False, seed=None, packed=False, frozen=False):
        mask = inputs["input_mask"]  # [B, K, S]
        shape = tf.shape(mask)
        if packed:  # of the places, as many for each text as the longest needs, the W that hold a window
            there = tf.where(mask[:, :, 0] > 0)
            rows = {name: tf.gather_nd(values, there) for name, values in inputs.items()}  # [W, S]
            logits = super().call(rows, training=training, seed=seed, packed=packed, frozen=frozen)  # [W, n]
            return tf.math.unsorted_segment_mean(logits, there[:, 0], shape[0])
        # Where nothing is packed, as on a TPU, the places without a window are computed, too, and
        # then count nothing.
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in inputs.items()}  # [B·K, S]
        logits = super().call(rows, training=training, seed=seed, packed=packed, frozen=frozen)  # [B·K, n]
        return mean_of_windows(tf.reshape(logits, [shape[0], shape[1], logits.shape[-1]]), mask[:, :, 0])


def mean_of_windows(logits: tf.Tensor, is_there: tf.Tensor) -> tf.Tensor:
    """float32 [B, K, n], of which is_there, int32 [B, K], says which windows count -> their mean,
    [B, n].
    """
    weights = tf.cast(is_there, logits.dtype)
    # The weights are 0 or 1, so this is the mean over the windows that are there.
    return tf.einsum("bkn,bk->bn", logits, weights) / tf.reduce_sum(weights, axis=1, keepdims=True)
