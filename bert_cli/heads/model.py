"""What each kind of task has on top of the encoder: the four questions that its model answers, in
heads/<kind>.py.
"""

import dataclasses
from collections.abc import Iterable
from typing import TypedDict

import keras
import tensorflow as tf

from bert_cli.base.head_types import POOLED
from bert_cli.base.spec import Column
from bert_cli.heads.losses import PLAIN, LossRule
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import Scoped
from bert_cli.tf_internals.keras_layers import mark_built
from bert_cli.weights.hub_encoder import ModuleEncoder


@dataclasses.dataclass(frozen=True)
class TrainingRule:
    """What training alone computes: its loss, its rates of dropout, and the way to its gradient.
    Evaluations and predictions have none of them.

    head_dropout: before the head; hidden_dropout and attention_dropout: in the encoder. None for
    the rate of the head type, and for the rates of the config. recomputes: gradient checkpointing,
    see BertEncoder.
    """

    loss: LossRule = PLAIN
    head_dropout: float | None = None
    hidden_dropout: float | None = None
    attention_dropout: float | None = None
    recomputes: bool = False

    def config(self, config: BertConfig) -> BertConfig:
        """The config of the encoder that is trained."""
        hidden = config.hidden_dropout_prob if self.hidden_dropout is None else self.hidden_dropout
        attention = config.attention_probs_dropout_prob if self.attention_dropout is None else self.attention_dropout
        return dataclasses.replace(config, hidden_dropout_prob=hidden, attention_probs_dropout_prob=attention)


PLAIN_TRAINING = TrainingRule()


class NetworkOptions(TypedDict, total=False):
    """The arguments that the models of all tasks take; its constructor has their defaults."""

    compute_dtype: str
    seed: int
    rule: TrainingRule


class TaskModel(keras.Model):
    """An encoder, as the attribute `encoder`, and a head.

    Its variables: model.layers.named_weights gives them under Google's names. Its batches:
    `columns` for training, `prediction_columns` for predictions. Its loss: `loss_terms`. Its
    predictions: `predictions`.
    """

    kind = "a trained model"  # what a checkpoint should be, for error messages
    optional: tuple[str, ...] = ()  # beginnings of the names that a trained checkpoint may lack
    columns: tuple[Column, ...] = ()
    prediction_columns: tuple[Column, ...] = ()
    # True where padding is in the loss, so that training batches must be padded to max_seq_length.
    padding_counts = False
    # True where predictions are asked for padding too, so that their batches must be padded as
    # well.
    predicts_padding = False
    # The head type's own rate of dropout in training, see TrainingRule.
    head_dropout = 0.0
    text_input = POOLED  # of a head of texts

    def __init__(
        self,
        name: str,
        config: BertConfig | ModuleConfig,
        compute_dtype: str = "float32",
        seed: int = 0,
        rule: TrainingRule = PLAIN_TRAINING,
    ):
        """name: Keras' name of the model. compute_dtype: see BertEncoder; seed: of the first random
        weights.
        """
        super().__init__(name=name, autocast=False)
        self.seed = seed
        self.loss_rule = rule.loss
        # An attribute of the instance hides the attribute of the head type.
        if rule.head_dropout is not None:
            self.head_dropout = rule.head_dropout
        # The graph of a module has its own rates of dropout, which nothing can change.
        own_config = config if isinstance(config, ModuleConfig) else rule.config(config)
        self.encoder = make_encoder(own_config, compute_dtype, seed, rule.recomputes)
        mark_built(self)

    @property
    def state_columns(self) -> tuple[Column, ...]:
        """Training batches on what a frozen encoder says, which is computed once; empty for a kind
        that has no such.
        """
        return ()

    @property
    def state_width(self) -> int:
        """W, the numbers that the head reads of a token or a text."""
        return self.head.output_weights.shape[1]

    def states(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None, packed: bool = False
    ) -> tf.Tensor:
        """What the head reads of int32 [B, S] or [B, K, S], of a kind with state_columns: float32,
        W numbers for each.
        """
        raise NotImplementedError

    @property
    def top_layer(self) -> int | None:
        """The highest layer of the encoder that the loss reads, 0-based; None for the pooled
        output.
        """
        return None if self.text_input.reads_pooler else self.encoder.config.num_hidden_layers - 1

    def without_gradient(self, frozen: bool = False) -> set[str]:
        """Names of the variables that the loss does not depend on, without the variables of a
        `frozen` encoder.
        """
        return set() if frozen else self.encoder.without_gradient(self.top_layer)

    def loss_terms(
        self, batch: dict, seed: tf.Tensor | None, packed: bool, batch_size: int, frozen: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(losses in nats, weights), each float32 [n], of a replica's share of a training batch,
        given as `columns`.

        Σ losses · weights, summed over all replicas, is the loss of the global batch of
        `batch_size` rows. seed: int32 [2], for dropout; packed: padding is skipped; frozen: the
        encoder is not trained, so it has no dropout.
        """
        raise NotImplementedError

    def predictions(self, batch: dict, packed: bool) -> dict[str, tf.Tensor]:
        """The outputs for a batch, given as `prediction_columns`: tensors with a row for each of
        its rows.
        """
        raise NotImplementedError


def make_encoder(
    config: BertConfig | ModuleConfig,
    compute_dtype: str = "float32",
    seed: int = 0,
    recomputes: bool = False,
) -> BertEncoder | ModuleEncoder:
    """A BertEncoder, or a module for tensorflow-hub, which keeps its own precision and gradient,
    and starts from its own weights.
    """
    if isinstance(config, ModuleConfig):
        return ModuleEncoder(config)
    return BertEncoder(config, compute_dtype, seed, recomputes)


def tensor_specs(columns: Iterable[Column], **sizes: int) -> dict[str, tf.TensorSpec]:
    """The signature of a batch, of any sizes but those given (letter=size), so that no new length
    is a new trace.
    """
    return {
        column.name: tf.TensorSpec([sizes.get(letter) for letter in column.shape], column.dtype, name=column.name)
        for column in columns
    }


def mean_weights(losses: tf.Tensor, batch_size: int) -> tf.Tensor:
    """What each of a replica's losses [n] counts in the mean over the rows of the global batch:
    float32 [n].
    """
    # By the global batch, not by this replica's rows: the losses of all replicas are summed
    # afterwards.
    return tf.ones_like(losses) / batch_size


class OutputLayer(Scoped):
    """x Wᵀ + b: [R, inputs] -> [R, units], float32; variables output_weights [units, inputs],
    output_bias [units].
    """

    def __init__(self, scope: str, inputs: int, units: int, stddev: float, seed: int):
        super().__init__(scope)
        # [units, inputs], the transpose of a Dense kernel: the original stores the weights of its
        # heads in this way.
        self.output_weights = self.add_normal("output_weights", (units, inputs), stddev, seed)
        self.output_bias = self.add_scoped("output_bias", (units,), "zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.bias_add(tf.matmul(x, self.output_weights.value, transpose_b=True), self.output_bias.value)
