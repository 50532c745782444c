"""A classifier on its devices: weights in, training, probabilities out. Imports TensorFlow."""

import dataclasses
import math
import time

import numpy as np
import tensorflow as tf

from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.stream import length_groups, training_rows
from bert_cli.heads.heads import BertClassifier
from bert_cli.heads.losses import cross_entropy
from bert_cli.model.config import INPUTS, BertConfig, ModuleConfig
from bert_cli.outputs.progress import Progress
from bert_cli.runs.session import Session, input_signature, memory_advice
from bert_cli.training.inference import infer, make_runner

_SIGNATURE = input_signature() | {"label_ids": tf.TensorSpec([None], tf.int32, name="label_ids")}


class ClassifierSession(Session):
    """A BertClassifier with its strategy and precision; `settings` are those of run_classifier."""

    kind = "a fine-tuned classifier"

    def __init__(self, config: BertConfig | ModuleConfig, label_count: int, settings):
        super().__init__(
            settings,
            settings.do_train,
            lambda precision: BertClassifier(config, label_count, precision, settings.random_seed),
        )
        self._frozen = not settings.hub_trainable
        self._runner = make_runner(self.strategy, self._forward, _SIGNATURE)

    def _batch(self, sequences: RaggedFeatures, label_ids: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
        width = int(sequences.lengths[rows].max()) if self.packed else self.settings.max_seq_length
        return sequences.padded(rows, width) | {"label_ids": label_ids[rows]}

    def train(self, features: ClassificationFeatures, steps: int, state: str | None, folder: str) -> dict:
        """Train up to `steps`, from the checkpoint `state` where there is one; returns figures for the report."""
        settings, sequences = self.settings, features.sequences
        optimizer, compact, start = self.start_training(steps, state, sequences.token_ids, None, self._frozen)
        if compact:
            sequences = dataclasses.replace(sequences, token_ids=compact.compact_ids(sequences.token_ids))
        rows = training_rows(len(features), settings.train_batch_size, settings.random_seed, start)
        batches = (self._batch(sequences, features.label_ids, chosen) for chosen in rows)
        return self.train_steps(self._loss, _SIGNATURE, optimizer, batches, start, steps, folder, compact)

    def _loss(self, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        """This replica's share of the mean cross entropy over the global batch."""
        inputs = {name: batch[name] for name in INPUTS}
        logits = self.model(inputs, training=True, seed=seed, packed=self.packed, frozen=self._frozen)
        return tf.reduce_sum(cross_entropy(batch["label_ids"], logits)) / self.settings.train_batch_size

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        logits = self.model({name: batch[name] for name in INPUTS}, packed=self.packed)
        return {"probabilities": tf.nn.softmax(logits), "losses": cross_entropy(batch["label_ids"], logits)}

    def infer(self, features: ClassificationFeatures, batch_size: int, title: str) -> dict:
        """Run over all examples: `probabilities` float32 [n, labels], `losses` float32 [n], and examples_per_second.

        Examples are computed in order of length, as many at once as have the tokens of `batch_size` padded ones; the
        results are in file order.
        """

        lengths = features.sequences.lengths
        if self.packed:
            groups = length_groups(lengths, batch_size * self.settings.max_seq_length)
        else:
            size = math.ceil(batch_size / self.strategy.num_replicas_in_sync) * self.strategy.num_replicas_in_sync
            groups = np.array_split(np.arange(len(lengths)), range(size, len(lengths), size))
        with Progress(title, len(features), every=max(1, len(features) // 4)) as progress:
            began = time.monotonic()
            with memory_advice("eval_batch_size and --predict_batch_size"):
                results = infer(
                    self._runner,
                    groups,
                    lambda rows: self._batch(features.sequences, features.label_ids, rows),
                    lambda count: progress.update(progress.position + count),
                )
            seconds = time.monotonic() - began
        return results | {"examples_per_second": round(len(features) / seconds, 2)}
