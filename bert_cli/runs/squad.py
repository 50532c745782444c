"""A model that answers questions, on its devices: training, logits for the decoder. Imports TensorFlow."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.squad import SquadFeatures
from bert_cli.features.stream import length_groups, training_rows
from bert_cli.heads.heads import BertSpanModel
from bert_cli.heads.losses import span_loss
from bert_cli.model.config import INPUTS, BertConfig, ModuleConfig
from bert_cli.outputs.squad import Decoder
from bert_cli.runs.session import Session, input_signature, memory_advice
from bert_cli.training.inference import make_runner

_SIGNATURE = input_signature() | {
    "start_positions": tf.TensorSpec([None], tf.int32, name="start_positions"),
    "end_positions": tf.TensorSpec([None], tf.int32, name="end_positions"),
}


class SquadSession(Session):
    """A BertSpanModel with its strategy and precision; `settings` are those of run_squad."""

    kind = "fine-tuned to answer questions"
    optional = ("bert/pooler/",)  # nothing here reads it, and Hugging Face's models of this kind lack it

    def __init__(self, config: BertConfig | ModuleConfig, settings):
        super().__init__(
            settings, settings.do_train, lambda precision: BertSpanModel(config, precision, settings.random_seed)
        )
        self._config, self._frozen = config, not settings.hub_trainable
        self._runner = make_runner(self.strategy, self._forward, input_signature())

    def train(self, features: SquadFeatures, steps: int, state: str | None, folder: str) -> dict:
        """Train up to `steps`, from the checkpoint `state` where there is one; returns figures for the report."""
        settings, sequences = self.settings, features.sequences
        last = self._config.num_hidden_layers - 1
        optimizer, compact, start = self.start_training(steps, state, sequences.token_ids, last, self._frozen)
        if compact:
            sequences = dataclasses.replace(sequences, token_ids=compact.compact_ids(sequences.token_ids))

        def batch(rows: np.ndarray) -> dict[str, np.ndarray]:
            positions = {name: getattr(features, name)[rows] for name in ("start_positions", "end_positions")}
            return self._inputs(sequences, rows, cut=settings.skip_padding) | positions

        rows = training_rows(len(features), settings.train_batch_size, settings.random_seed, start)
        return self.train_steps(self._loss, _SIGNATURE, optimizer, map(batch, rows), start, steps, folder, compact)

    def _inputs(self, sequences: RaggedFeatures, rows: np.ndarray, cut: bool) -> dict[str, np.ndarray]:
        """The windows padded to the longest of them with `cut` (where shapes may change), else to max_seq_length."""
        width = int(sequences.lengths[rows].max()) if cut and self.packed else self.settings.max_seq_length
        return sequences.padded(rows, width)

    def _loss(self, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        """This replica's share of the mean loss over the global batch.

        As in the original all max_seq_length positions are in the softmax, so those of padding are computed;
        --skip_padding takes them out.
        """
        inputs = {name: batch[name] for name in INPUTS}
        skip = self.settings.skip_padding
        logits = self.model(inputs, training=not self._frozen, seed=seed, packed=skip and self.packed)
        if skip:
            # Finite: 0 · -inf in the gradient would be no number.
            logits = [tf.where(batch["input_mask"] > 0, values, -1e9) for values in logits]
        losses = span_loss(batch["start_positions"], batch["end_positions"], *logits)
        return tf.reduce_sum(losses) / self.settings.train_batch_size

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        """Start and end logits, float32 [B, S], -inf for padding."""
        start, end = self.model({name: batch[name] for name in INPUTS}, packed=self.packed)
        real = batch["input_mask"] > 0
        return {"start": tf.where(real, start, -math.inf), "end": tf.where(real, end, -math.inf)}

    def fill(
        self, decoder: Decoder, features: SquadFeatures, advance: Callable[[int], None] = lambda count: None
    ) -> None:
        """Compute the logits of all windows and give them to their decoder, which keeps what answers need.

        Windows are computed in order of length, as many at once as have the tokens of predict_batch_size padded ones.
        advance(n) is called after n more windows.
        """
        size, lengths = self.settings.predict_batch_size, features.sequences.lengths
        if self.packed:
            groups = length_groups(lengths, size * self.settings.max_seq_length)
        else:
            groups = [np.arange(at, min(at + size, len(lengths))) for at in range(0, len(lengths), size)]
        with memory_advice("predict_batch_size"):
            for rows in groups:
                logits = self._runner(rows, lambda rows: self._inputs(features.sequences, rows, cut=True))
                decoder.add(rows, logits["start"], logits["end"])
                advance(len(rows))
