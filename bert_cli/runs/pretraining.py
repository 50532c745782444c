"""A BERT with its pre-training heads on its devices: training and evaluation. Imports TensorFlow."""

import time
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.features.pretraining_batch import model_batch
from bert_cli.features.stream import length_groups
from bert_cli.heads.heads import BertPretrainer
from bert_cli.heads.losses import cross_entropy, tied_cross_entropy
from bert_cli.model.config import INPUTS, BertConfig
from bert_cli.outputs.progress import Progress
from bert_cli.runs.session import Session, input_signature, memory_advice
from bert_cli.training.inference import infer, make_runner
from bert_cli.training.lamb import Lamb
from bert_cli.training.optimizer import AdamWeightDecay
from bert_cli.training.saving import restore_training
from bert_cli.weights.checkpoint import POSITION_NAME, Tf1Reader

_OPTIMIZERS = {"adamw": AdamWeightDecay, "lamb": Lamb}
# Variables that have no gradient where there is no next-sentence loss.
_NEXT_SENTENCE_ONLY = ("bert/pooler/", "cls/seq_relationship/")
_SIGNATURE = input_signature() | {
    "masked_lm_positions": tf.TensorSpec([None, None], tf.int32, name="masked_lm_positions"),
    "masked_lm_ids": tf.TensorSpec([None, None], tf.int32, name="masked_lm_ids"),
    "masked_lm_weights": tf.TensorSpec([None, None], tf.float32, name="masked_lm_weights"),
    "next_sentence_labels": tf.TensorSpec([None], tf.int32, name="next_sentence_labels"),
}


def _read_position(state: str) -> tuple[int, int]:
    reader = Tf1Reader(state)
    if POSITION_NAME not in reader.shapes:
        raise InputError(
            f"{state}: does not say how far its data was read: it was not saved by bert-pretrain; use "
            "--overwrite_output_dir, or another --output_dir with --init_checkpoint"
        )
    shard, taken = reader.read(POSITION_NAME).tolist()
    return shard, taken


class PretrainingSession(Session):
    """A BertPretrainer with its strategy and precision; `settings` are those of run_pretraining."""

    kind = "a pre-trained model with its heads"

    def __init__(self, config: BertConfig, settings):
        super().__init__(
            settings, settings.do_train, lambda precision: BertPretrainer(config, precision, settings.random_seed)
        )
        self._runner = make_runner(self.strategy, self._forward, _SIGNATURE)

    def train(self, make_stream, state: str | None, folder: str) -> dict:
        """Train up to num_train_steps, from the checkpoint `state` where there is one; returns figures for the report.

        make_stream(position) gives, without end, the arrays of spec.pretraining_features of a batch with the position
        behind it, two integers; it starts at `position`, None for the start.
        """
        settings = self.settings
        trained = self.variables
        if settings.no_nsp:
            trained = {name: v for name, v in trained.items() if not name.startswith(_NEXT_SENTENCE_ONLY)}
        with self.strategy.scope():
            optimizer = _OPTIMIZERS[settings.optimizer](
                trained, settings.learning_rate, settings.num_train_steps, settings.num_warmup_steps
            )
        start = restore_training(state, self.variables, optimizer, None) if state else 0
        position = _read_position(state) if state else None

        def batches() -> Iterator[dict[str, np.ndarray]]:
            nonlocal position
            for features, behind in make_stream(position):
                position = behind  # what the next checkpoint holds
                batch = model_batch(features, trim=self.packed)
                # The loss is a mean over the masked tokens of the whole batch, however it is divided over devices.
                weights = batch["masked_lm_weights"]
                yield batch | {"masked_lm_weights": weights / (weights.sum() + 1e-5)}

        return self.train_steps(
            self._loss, _SIGNATURE, optimizer, batches(), start, settings.num_train_steps, folder,
            extra_tensors=lambda: {POSITION_NAME: np.array(position, np.int64)},
        )  # fmt: skip

    def _places(self, batch: dict) -> tuple[tf.Tensor, tf.Tensor]:
        """Places int64 [M, 2] of the predictions in [B, P], and their slots b·S+s, int32 [M]."""
        positions, weights = batch["masked_lm_positions"], batch["masked_lm_weights"]
        # On a TPU, where shapes are static, the empty places are computed too; their weight is 0.
        places = tf.where(weights > 0 if self.packed else tf.ones_like(weights, tf.bool))
        length = tf.shape(batch["input_word_ids"])[1]
        return places, tf.cast(places[:, 0], tf.int32) * length + tf.gather_nd(positions, places)

    def _loss(self, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        """This replica's share of the loss of the global batch; masked_lm_weights are shares of that batch already."""
        places, slots = self._places(batch)
        ids, weights = (tf.gather_nd(batch[name], places) for name in ("masked_lm_ids", "masked_lm_weights"))
        inputs = {name: batch[name] for name in INPUTS}
        rows, next_sentence = self.model.rows_at(inputs, slots, True, seed, self.packed)
        head = self.model.masked_lm
        words = tf.convert_to_tensor(self.model.encoder.embeddings.words.value)
        bias = tf.convert_to_tensor(head.output_bias.value)
        loss = tied_cross_entropy(head.transformed(rows, training=True), words, bias, ids, weights)
        if self.settings.no_nsp:
            return loss
        losses = cross_entropy(batch["next_sentence_labels"], next_sentence)
        return loss + tf.reduce_sum(losses) / self.settings.train_batch_size

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        """Sums over the predictions of each sequence, float32 [B]; see outputs.pretraining."""
        places, slots = self._places(batch)
        masked, next_sentence = self.model.score({name: batch[name] for name in INPUTS}, slots, packed=self.packed)
        ids, weights = (tf.gather_nd(batch[name], places) for name in ("masked_lm_ids", "masked_lm_weights"))
        correct = tf.cast(tf.argmax(masked, axis=-1, output_type=tf.int32) == ids, tf.float32)
        labels = batch["next_sentence_labels"]
        count = tf.shape(labels)[0]

        def per_sequence(values):
            return tf.math.unsorted_segment_sum(values * weights, places[:, 0], count)

        best = tf.argmax(next_sentence, axis=-1, output_type=tf.int32)
        return {
            "masked_lm_losses": per_sequence(cross_entropy(ids, masked)),
            "masked_lm_weights": per_sequence(tf.ones_like(weights)),
            "masked_lm_correct": per_sequence(correct),
            "next_sentence_losses": cross_entropy(labels, next_sentence),
            "next_sentence_correct": tf.cast(best == labels, tf.float32),
        }

    def evaluate(self, chunks: Iterator[dict[str, np.ndarray]], count: int) -> dict[str, np.ndarray]:
        """The sums of `_forward` for all instances, in their order, and examples_per_second.

        chunks: arrays of spec.pretraining_features of some instances each; `count` is how many there are in all.
        """
        parts = []
        with Progress("evaluating", count, every=max(1, count // 4)) as progress:
            began = time.monotonic()
            with memory_advice("eval_batch_size"):
                for features in chunks:
                    parts.append(self._evaluate_chunk(features, progress))
            seconds = time.monotonic() - began
        sums = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return sums | {"examples_per_second": round(count / seconds, 2)}

    def _evaluate_chunk(self, features: dict[str, np.ndarray], progress: Progress) -> dict[str, np.ndarray]:
        lengths = features["input_mask"].sum(axis=1)
        if not self.packed:
            lengths = np.full(len(lengths), self.settings.max_seq_length)
        groups = length_groups(lengths, self.settings.eval_batch_size * self.settings.max_seq_length)
        return infer(
            self._runner,
            groups,
            lambda rows: model_batch({name: values[rows] for name, values in features.items()}, trim=self.packed),
            lambda done: progress.update(progress.position + done),
        )
