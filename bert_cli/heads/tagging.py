"""Word tagging: logits per token."""

from typing import Unpack

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import state_index
from bert_cli.heads.classification import CLASSIFIER_DROPOUT, ClassifierHead
from bert_cli.heads.losses import softmax_losses
from bert_cli.heads.model import NetworkOptions, TaskModel
from bert_cli.model import ops
from bert_cli.model.config import BertConfig, ModuleConfig


class BertTagger(TaskModel):
    """An encoder and a dense classifier of tokens.

    The input is a dict of int32 [B, S], the output is logits, float32 [B, S, L]. The variables,
    output_weights [L, W] and output_bias [L], have a classifier's names, as in forks of the original
    for named entities.

    Args:
        config: config of the encoder.
        label_count: L.
        layers: the classifier reads the outputs of these layers side by side, see
            base.head_types.state_index. W is len(layers)·H.
        options: see NetworkOptions.
    """

    columns = spec.TAGGING
    head_dropout = CLASSIFIER_DROPOUT
    state_columns = spec.TAGGING_STATES

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        label_count: int,
        layers: tuple[int | str, ...] = (-1,),
        **options: Unpack[NetworkOptions],
    ):
        super().__init__("tagging_model", config, **options)
        # Convert to indices of states: -1 and the last layer's number are the same layer.
        self.state_places = tuple(state_index(layer, config.num_hidden_layers) for layer in layers)
        self.head = ClassifierHead(len(layers) * config.hidden_size, label_count, self.seed)

    @property
    def top_layer(self) -> int:
        return max(self.state_places) - 1

    def states(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None, packed: bool = False
    ) -> tf.Tensor:
        """Return float32 [B, S, W], see TaskModel."""
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed)
        states = [outputs.get("embedding_output"), *outputs["encoder_outputs"]]
        return tf.concat([states[place] for place in self.state_places], axis=-1)

    def score(self, rows: tf.Tensor, seed: tf.Tensor | None = None) -> tf.Tensor:
        """Return the logits [M, L] of selected tokens.

        Args:
            rows: states of these tokens, float32 [M, W].
            seed: seed of a training step for dropout; None for no dropout.
        """
        if seed is not None:
            seed = ops.offset_seed(seed, 1, 0)  # the encoder uses even offsets
            # Use a separate seed per replica: the number
            # of tokens in other replicas is unknown here.
            if seed.shape[0] > 2:
                seed = tf.stack([seed[0] + seed[2] * 7919, seed[1]])
        return self.head(rows, dropout_rate=self.head_dropout, seed=seed)

    def call(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None, packed: bool = False
    ) -> tf.Tensor:
        if training and seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        states = self.states(inputs, training, seed, packed)
        shape = tf.shape(states)
        logits = self.score(tf.reshape(states, [-1, self.state_width]), seed if training else None)
        return tf.reshape(logits, [shape[0], shape[1], logits.shape[-1]])

    def loss_terms(
        self, batch: dict, seed: tf.Tensor | None, packed: bool, batch_size: int, frozen: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return losses and weights for the mean over labeled word pieces, see TaskModel.

        The weights are label_weights, see features.tagging. n is the number of labeled pieces, or of
        all pieces if `packed` is False. The batch may have `state_columns`.
        """
        if "states" in batch:
            states = batch["states"]
        else:
            states = self.states(spec.encoder_inputs(batch), not frozen, seed, packed)
        rows = tf.reshape(states, [-1, self.state_width])
        labels = tf.reshape(batch["label_ids"], [-1])
        weights = tf.reshape(batch["label_weights"], [-1])
        if packed:
            # Skip special tokens and the later pieces of words, which have no label.
            labeled = tf.where(labels >= 0)[:, 0]
            rows, labels, weights = (tf.gather(values, labeled) for values in (rows, labels, weights))
        # Without packing, some rows have the label -1. Any label is fine, as their weight is 0.
        return softmax_losses(tf.maximum(labels, 0), self.score(rows, seed), self.loss_rule), weights
