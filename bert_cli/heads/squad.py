"""Question answering: the first and last token of the answer in a text."""

from collections.abc import Sequence
from typing import Unpack

import tensorflow as tf

from bert_cli.base import spec
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
    """Return the mean of start loss and end loss, float32 [B].

    The softmax covers all S positions, including padding.

    Args:
        positions: start and end positions, each int32 [B].
        logits: start and end logits, each float32 [B, S].
        rule: options.
        is_token: bool [B, S], False for padding, which label smoothing skips; None for all True.
    """
    losses = [softmax_losses(*pair, rule, is_token) for pair in zip(positions, logits, strict=True)]
    # The original halves the sum, so that the loss has the size of a single softmax.
    return (losses[0] + losses[1]) / 2.0


class SpanHead(OutputLayer):
    """The start and end logits per token.

    Its variables are cls/squad/output_weights [2, H] and cls/squad/output_bias [2].
    """

    def __init__(self, hidden: int, seed: int):
        super().__init__("cls/squad", hidden, 2, HEAD_STDDEV, seed)

    def call(self, sequence: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return start and end logits, each float32 [B, S], for float32 [B, S, H]."""
        # Compute [2, B, S] directly: start and end are then contiguous, as the losses need them.
        logits = tf.einsum("bsh,nh->nbs", sequence, self.output_weights.value)
        logits += tf.convert_to_tensor(self.output_bias.value)[:, tf.newaxis, tf.newaxis]
        return logits[0], logits[1]


class BertSpanModel(TaskModel):
    """The encoder and span head for run_squad.py.

    The input is a dict of int32 [B, S], the output is start and end logits, each float32 [B, S].

    Args:
        config: config of the encoder.
        skip_padding: exclude padding from the loss. By default its softmax covers all
            max_seq_length positions, as in the original, so training computes padding.
        options: see NetworkOptions.
    """

    columns = spec.SQUAD

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        skip_padding: bool = False,
        **options: Unpack[NetworkOptions],
    ):
        super().__init__("span_model", config, **options)
        self.head = SpanHead(config.hidden_size, self.seed)
        self.padding_counts = not skip_padding

    @property
    def top_layer(self) -> int:
        return self.encoder.config.num_hidden_layers - 1

    def call(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None, packed: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed)
        return self.head(outputs["sequence_output"])

    def loss_terms(
        self, batch: dict, seed: tf.Tensor | None, packed: bool, batch_size: int, frozen: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return losses and weights for the mean over windows, see TaskModel; n = B."""
        packed = packed and not self.padding_counts
        logits = self(spec.encoder_inputs(batch), training=not frozen, seed=seed, packed=packed)
        is_token = batch["input_mask"] > 0
        if not self.padding_counts:
            # Use a finite number: 0 · -inf in the gradient would be NaN.
            logits = [tf.where(is_token, values, -1e9) for values in logits]
        positions = batch["start_positions"], batch["end_positions"]
        losses = span_loss(positions, logits, self.loss_rule, is_token)
        return losses, mean_weights(losses, batch_size)

    def sequence_logits(self, inputs: dict[str, tf.Tensor], packed: bool) -> tf.Tensor:
        return tf.stack(self(inputs, packed=packed), axis=-1)  # [B, S, 2]
