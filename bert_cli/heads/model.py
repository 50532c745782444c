"""The interface of task models: an encoder with a head. The other files in heads/ implement it."""

import dataclasses
from collections.abc import Iterable
from typing import TypedDict

import keras
import tensorflow as tf

from bert_cli.base.head_types import POOLED
from bert_cli.base.spec import BatchColumn
from bert_cli.heads.losses import PLAIN, LossRule
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import Scoped
from bert_cli.model.lora import Lora
from bert_cli.tf_internals.keras_layers import mark_built
from bert_cli.weights.hub_encoder import ModuleEncoder


@dataclasses.dataclass(frozen=True)
class TrainingRule:
    """Options that affect only training, not evaluations and predictions.

    Attributes:
        loss: options for the loss.
        head_dropout: dropout rate before the head; None for the head type's rate.
        hidden_dropout, attention_dropout: rates in the encoder; None for the config's rates.
        recomputes: use gradient checkpointing, see BertEncoder.
        lora: adapters to train, or None.
    """

    loss: LossRule = PLAIN
    head_dropout: float | None = None
    hidden_dropout: float | None = None
    attention_dropout: float | None = None
    recomputes: bool = False
    lora: Lora | None = None

    def config(self, config: BertConfig) -> BertConfig:
        """Return the config with the dropout rates for training."""
        hidden = config.hidden_dropout_prob if self.hidden_dropout is None else self.hidden_dropout
        attention = config.attention_probs_dropout_prob if self.attention_dropout is None else self.attention_dropout
        return dataclasses.replace(config, hidden_dropout_prob=hidden, attention_probs_dropout_prob=attention)


PLAIN_TRAINING = TrainingRule()


class NetworkOptions(TypedDict, total=False):
    """Arguments that all task models accept; TaskModel's constructor has the defaults."""

    compute_dtype: str
    seed: int
    rule: TrainingRule


class TaskModel(keras.Model):
    """An encoder with a head.

    `loss_terms` and `sequence_logits` compute the results. model.layers.named_weights returns the
    variables by Google's names.

    Attributes:
        encoder: the encoder.
        columns: columns of training batches.
        padding_counts: whether the loss includes padding. If so, training batches are padded to
            max_seq_length.
        head_dropout: dropout rate before the head in training, see TrainingRule.
        text_input: the encoder output that a text head reads.
    """

    columns: tuple[BatchColumn, ...] = ()
    padding_counts = False
    head_dropout = 0.0
    text_input = POOLED

    def __init__(
        self,
        name: str,
        config: BertConfig | ModuleConfig,
        compute_dtype: str = "float32",
        seed: int = 0,
        rule: TrainingRule = PLAIN_TRAINING,
    ):
        """Create the encoder.

        Args:
            name: the model's name in Keras.
            config: config of the encoder.
            compute_dtype: see BertEncoder.
            seed: seed for random initial weights.
            rule: options for training.
        """
        super().__init__(name=name, autocast=False)
        self.seed = seed
        self.loss_rule = rule.loss
        # This instance attribute hides the class attribute.
        if rule.head_dropout is not None:
            self.head_dropout = rule.head_dropout
        # The dropout rates in a module's graph cannot be changed.
        encoder_config = config if isinstance(config, ModuleConfig) else rule.config(config)
        self.encoder = make_encoder(encoder_config, compute_dtype, seed, rule.recomputes, rule.lora)
        mark_built(self)

    @property
    def state_columns(self) -> tuple[BatchColumn, ...]:
        """Return the columns of training batches with states instead of tokens.

        A frozen encoder computes the states once. Empty if the head type does not support that.
        """
        return ()

    @property
    def state_width(self) -> int:
        """Return W, the number of values that the head reads per token or text."""
        return self.head.output_weights.shape[1]

    def states(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None, packed: bool = False
    ) -> tf.Tensor:
        """Return the head's input, float32 [..., W], if the head type has `state_columns`.

        Args:
            inputs: dict of int32 [B, S].
            training: apply dropout.
            seed: seed of dropout.
            packed: skip padding.
        """
        raise NotImplementedError

    @property
    def top_layer(self) -> int | None:
        """Return the highest encoder layer that the loss uses, 0-based; None for the pooled output."""
        return None if self.text_input.reads_pooler else self.encoder.config.num_hidden_layers - 1

    def without_gradient(self, frozen: bool = False) -> set[str]:
        """Return the names of variables that do not influence the loss.

        Variables in a `frozen` encoder are not included.
        """
        return set() if frozen else self.encoder.without_gradient(self.top_layer)

    def loss_terms(
        self, batch: dict, seed: tf.Tensor | None, packed: bool, batch_size: int, frozen: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return losses in nats and weights, each float32 [n], for one replica.

        The loss of the global batch is Σ losses · weights, summed over all replicas.

        Args:
            batch: the replica's rows, with `columns`.
            seed: seed of dropout, int32 [2].
            packed: skip padding.
            batch_size: number of rows in the global batch.
            frozen: the encoder is not trained, so it has no dropout.
        """
        raise NotImplementedError

    def sequence_logits(self, inputs: dict[str, tf.Tensor], packed: bool) -> tf.Tensor:
        """Return logits for predictions, float32 [B, n] per sequence, or [B, S, n] per token.

        Args:
            inputs: dict of int32 [B, S]; windows and choices are separate sequences.
            packed: skip padding.
        """
        return self(inputs, packed=packed)


def make_encoder(
    config: BertConfig | ModuleConfig,
    compute_dtype: str = "float32",
    seed: int = 0,
    recomputes: bool = False,
    lora: Lora | None = None,
) -> BertEncoder | ModuleEncoder:
    """Return a BertEncoder or a module for tensorflow-hub.

    A module has a fixed precision, gradient and initial weights, so it ignores the other arguments.

    Args:
        config: its type selects the encoder.
        compute_dtype, seed, recomputes, lora: see BertEncoder.
    """
    if isinstance(config, ModuleConfig):
        return ModuleEncoder(config)
    return BertEncoder(config, compute_dtype, seed, recomputes, lora)


def tensor_specs(columns: Iterable[BatchColumn], **sizes: int) -> dict[str, tf.TensorSpec]:
    """Return the signature of a batch.

    Sizes are variable, so that a new length needs no new trace, except for `sizes` (letter=size).
    """
    return {
        column.name: tf.TensorSpec([sizes.get(letter) for letter in column.shape], column.dtype, name=column.name)
        for column in columns
    }


def mean_weights(losses: tf.Tensor, batch_size: int) -> tf.Tensor:
    """Return weights, float32 [n], that make a sum over replicas the mean over the global batch.

    Args:
        losses: a replica's losses, [n].
        batch_size: number of rows in the global batch.
    """
    # Divide by the global batch size: replica losses are summed later.
    return tf.ones_like(losses) / batch_size


class OutputLayer(Scoped):
    """A layer x Wᵀ + b from [R, inputs] to [R, units], in float32.

    Its variables are output_weights [units, inputs] and output_bias [units].
    """

    def __init__(self, scope: str, inputs: int, units: int, stddev: float, seed: int):
        super().__init__(scope)
        # The original stores head weights as [units, inputs], the transpose of a Dense kernel.
        self.output_weights = self.add_normal("output_weights", (units, inputs), stddev, seed)
        self.output_bias = self.add_scoped("output_bias", (units,), "zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.bias_add(tf.matmul(x, self.output_weights.value, transpose_b=True), self.output_bias.value)
