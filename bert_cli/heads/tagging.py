"""Tags of words: a row of logits for each token."""

from typing import Unpack

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import POOLER, state_place
from bert_cli.heads.classification import CLASSIFIER_DROPOUT, ClassifierHead
from bert_cli.heads.losses import softmax_losses
from bert_cli.heads.model import NetworkOptions, TaskModel
from bert_cli.model import ops
from bert_cli.model.config import BertConfig, ModuleConfig


class BertTagger(TaskModel):
    """Encoder and a dense classifier of each token: a dict of int32 [B, S] -> logits float32 [B, S,
    L].

    The classifier reads the outputs of the encoder's `layers` (see state_place) side by side, in
    the order given: W = len(layers)·H numbers for each token. Its variables are output_weights [L,
    W] and output_bias [L] at the root, the names of a classifier, which forks of the original for
    named entities keep.
    """

    kind = "a model that bert-tag trained"
    optional = (POOLER,)  # Hugging Face's token classifiers have none
    columns = spec.TAGGING
    prediction_columns = spec.ENCODER
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
        # -1 and the number of the last layer are the same layer: from here on only places among the
        # states.
        self.state_places = tuple(state_place(layer, config.num_hidden_layers) for layer in layers)
        self.head = ClassifierHead(len(layers) * config.hidden_size, label_count, self.seed)

    @property
    def top_layer(self):
        return max(self.state_places) - 1

    def states(self, inputs, training=False, seed=None, packed=False):
        """See TaskModel: float32 [B, S, W]."""
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed)
        states = [outputs.get("embedding_output"), *outputs["encoder_outputs"]]
        return tf.concat([states[place] for place in self.state_places], axis=-1)

    def score(self, rows: tf.Tensor, seed: tf.Tensor | None = None) -> tf.Tensor:
        """Logits of chosen tokens: float32 [M, W] -> [M, L]. `seed` of a training step makes the
        dropout.
        """
        if seed is not None:
            seed = ops.offset_seed(seed, 1, 0)  # a row of its own, away from the encoder's
            if seed.shape[0] > 2:  # how many tokens other replicas chose is not known: a seed for each replica
                seed = tf.stack([seed[0] + seed[2] * 7919, seed[1]])
        return self.head(rows, dropout_rate=self.head_dropout, seed=seed)

    def call(self, inputs, training=False, seed=None, packed=False):
        if training and seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        states = self.states(inputs, training, seed, packed)
        shape = tf.shape(states)
        logits = self.score(tf.reshape(states, [-1, self.state_width]), seed if training else None)
        return tf.reshape(logits, [shape[0], shape[1], logits.shape[-1]])

    def loss_terms(self, batch, seed, packed, batch_size, frozen=False):
        """See TaskModel: the mean over the labelled pieces, weighted by label_weights
        (features.tagging).

        n counts the labelled pieces, or all where nothing is packed. A batch of `state_columns` has
        its states.
        """
        if "states" in batch:
            states = batch["states"]
        else:
            states = self.states(spec.encoder_inputs(batch), not frozen, seed, packed)
        rows = tf.reshape(states, [-1, self.state_width])
        labels = tf.reshape(batch["label_ids"], [-1])
        weights = tf.reshape(batch["label_weights"], [-1])
        if packed:
            # Further pieces of a word and special tokens have no label: the head computes nothing
            # of them.
            labelled = tf.where(labels >= 0)[:, 0]
            rows, labels, weights = (tf.gather(values, labelled) for values in (rows, labels, weights))
        # Rows without a label, -1, are there only where nothing is packed; any label will do, as
        # their weight is 0.
        return softmax_losses(tf.maximum(labels, 0), self.score(rows, seed), self.loss_rule), weights

    def predictions(self, batch, packed):
        """`log_probabilities` float32 [B, S, L], meaningless at padding."""
        return {"log_probabilities": tf.nn.log_softmax(self(spec.encoder_inputs(batch), packed=packed))}
