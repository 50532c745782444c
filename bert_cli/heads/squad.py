"""Answers in texts: the first and the last token of each."""

import math
from collections.abc import Sequence
from typing import Unpack

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import POOLER
from bert_cli.heads.classification import HEAD_STDDEV
from bert_cli.heads.losses import PLAIN, LossRule, softmax_losses
from bert_cli.heads.model import NetworkOptions, OutputLayer, TaskModel, mean_weights
from bert_cli.model.config import BertConfig, ModuleConfig


def span_loss(
    positions: Sequence[tf.Tensor],
    logits: Sequence[tf.Tensor],
    rule: LossRule = PLAIN,
    is_token: tf.Tensor | None = None,
) -> tf.Tensor:
    """Mean of the losses of start and end over all S positions, padding included: int32 [B],
    float32 [B, S] -> [B].

    positions, logits: of the starts and of the ends. is_token: bool [B, S], False for padding, over
    which the rule's smoothing spreads nothing.
    """
    losses = [softmax_losses(*each, rule, is_token) for each in zip(positions, logits, strict=True)]
    # The original halves the sum, so that the loss is of the size of one softmax.
    return (losses[0] + losses[1]) / 2.0


class SpanHead(OutputLayer):
    """Start and end logits for each token: variables cls/squad/output_weights [2, H], output_bias
    [2].
    """

    def __init__(self, hidden: int, seed: int):
        super().__init__("cls/squad", hidden, 2, HEAD_STDDEV, seed)

    def call(self, sequence):
        """sequence: float32 [B, S, H] -> (start, end), each float32 [B, S]."""
        # [2, B, S] at once: start and end are each contiguous, as their losses read them.
        logits = tf.einsum("bsh,nh->nbs", sequence, self.output_weights.value)
        logits += tf.convert_to_tensor(self.output_bias.value)[:, tf.newaxis, tf.newaxis]
        return logits[0], logits[1]


class BertSpanModel(TaskModel):
    """Encoder and span head of run_squad.py: a dict of int32 [B, S] -> (start, end) logits, each
    float32 [B, S].

    As in the original all max_seq_length positions are in the softmax of the loss, so training
    computes padding too; skip_padding takes them out. Predictions leave padding out, unless
    keep_padding has it computed like all else.
    """

    kind = "fine-tuned to answer questions"
    optional = (POOLER,)  # nothing here reads it, and Hugging Face's models of this kind lack it
    columns = spec.SQUAD
    prediction_columns = spec.ENCODER

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        skip_padding: bool = False,
        keep_padding: bool = False,
        **options: Unpack[NetworkOptions],
    ):
        super().__init__("span_model", config, **options)
        self.head = SpanHead(config.hidden_size, self.seed)
        self.padding_counts = not skip_padding
        self.predicts_padding = keep_padding

    @property
    def top_layer(self):
        return self.encoder.config.num_hidden_layers - 1

    def call(self, inputs, training=False, seed=None, packed=False):
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed)
        return self.head(outputs["sequence_output"])

    def loss_terms(self, batch, seed, packed, batch_size, frozen=False):
        """See TaskModel: the mean over the windows, n = B."""
        packed = packed and not self.padding_counts
        logits = self(spec.encoder_inputs(batch), training=not frozen, seed=seed, packed=packed)
        is_token = batch["input_mask"] > 0
        if not self.padding_counts:
            # Finite: 0 · -inf in the gradient would be no number.
            logits = [tf.where(is_token, values, -1e9) for values in logits]
        positions = batch["start_positions"], batch["end_positions"]
        losses = span_loss(positions, logits, self.loss_rule, is_token)
        return losses, mean_weights(losses, batch_size)

    def predictions(self, batch, packed):
        """`start` and `end`: logits, float32 [B, S], -inf for padding unless it is kept."""
        start, end = self(spec.encoder_inputs(batch), packed=packed and not self.predicts_padding)
        if self.predicts_padding:
            return {"start": start, "end": end}
        # -inf, not the -1e9 of training: no answer begins or ends in padding, and nothing is
        # differentiated here.
        real = batch["input_mask"] > 0
        return {"start": tf.where(real, start, -math.inf), "end": tf.where(real, end, -math.inf)}
