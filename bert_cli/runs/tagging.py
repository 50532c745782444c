"""A tagger on its devices: weights in, training, log-probabilities of pieces out. Imports TensorFlow."""

import dataclasses
import logging
import os
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.features.stream import length_groups, training_rows
from bert_cli.features.tagging import NOTHING, TaggingFeatures
from bert_cli.heads.losses import cross_entropy
from bert_cli.heads.tagging import BertTagger
from bert_cli.model.config import INPUTS, BertConfig, ModuleConfig
from bert_cli.outputs.progress import Progress
from bert_cli.runs.session import Session, input_signature, memory_advice
from bert_cli.training.inference import make_runner

LOG = logging.getLogger("bert_cli")
_LABELS = {
    "label_ids": tf.TensorSpec([None, None], tf.int32, name="label_ids"),
    "label_weights": tf.TensorSpec([None, None], tf.float32, name="label_weights"),
}


def _padded(values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, width: int, fill) -> np.ndarray:
    """Sequences of flat values [t, …] (see RaggedFeatures) -> [len(rows), width, …], `fill` behind their ends."""
    places = offsets[rows][:, None] + np.arange(width)
    inside = places < offsets[rows + 1][:, None]
    padded = np.full((*inside.shape, *values.shape[1:]), fill, values.dtype)
    padded[inside] = values[places[inside]]
    return padded


def _label_batch(label_ids: np.ndarray) -> dict[str, np.ndarray]:
    """label_ids int32 [B, S], and what each piece counts in the mean over the labelled ones, float32 [B, S]."""
    is_labelled = label_ids != NOTHING
    return {"label_ids": label_ids, "label_weights": (is_labelled / is_labelled.sum()).astype(np.float32)}


@dataclasses.dataclass(frozen=True)
class _FrozenStates:
    """What a frozen encoder says of the m labelled pieces of all windows.

    states float32 [m, W], label_ids int32 [m]; those of window i stand at offsets[i]:offsets[i + 1].
    """

    states: np.ndarray
    label_ids: np.ndarray
    offsets: np.ndarray

    def batch(self, rows: np.ndarray, width: int | None) -> dict[str, np.ndarray]:
        """`width`: pieces to pad to; None for as many as the longest of these windows has."""
        width = width or int(np.diff(self.offsets)[rows].max())
        labels = _label_batch(_padded(self.label_ids, self.offsets, rows, width, NOTHING))
        return labels | {"states": _padded(self.states, self.offsets, rows, width, 0.0)}


class TaggingSession(Session):
    """A BertTagger with its strategy and precision; `settings` are those of run_tagging, with their `layers`."""

    optional = ("bert/pooler/",)  # Hugging Face's token classifiers have none
    kind = "a model that bert-tag trained"

    def __init__(self, config: BertConfig | ModuleConfig, label_count: int, settings):
        super().__init__(
            settings,
            settings.do_train,
            lambda precision: BertTagger(config, label_count, settings.layers, precision, settings.random_seed),
        )
        self._runner = make_runner(self.strategy, self._forward, input_signature())

    def train(self, features: TaggingFeatures, steps: int, state: str | None, folder: str) -> dict:
        """Train up to `steps`, from the checkpoint `state` where there is one; returns figures for the report.

        With --freeze_encoder only the classifier is trained, on states that are computed once, without dropout in the
        encoder. A batch is of windows.
        """
        settings = self.settings
        token_ids, top = features.sequences.token_ids, max(self.model.state_layers)
        optimizer, compact, start = self.start_training(steps, state, token_ids, top, settings.freeze_encoder)
        rows = training_rows(len(features), settings.train_batch_size, settings.random_seed, start)
        if settings.freeze_encoder:
            known = self._frozen_states(features)
            width = None if self.packed else settings.max_seq_length
            batches = (known.batch(chosen, width) for chosen in rows)
            signature = _LABELS | {"states": tf.TensorSpec([None, None, self.model.state_width], tf.float32, "states")}
            return self.train_steps(self._frozen_loss, signature, optimizer, batches, start, steps, folder)
        if compact:
            sequences = dataclasses.replace(features.sequences, token_ids=compact.compact_ids(token_ids))
            features = dataclasses.replace(features, sequences=sequences)
        batches = (self._training_batch(features, chosen) for chosen in rows)
        signature = input_signature() | _LABELS
        return self.train_steps(self._loss, signature, optimizer, batches, start, steps, folder, compact)

    def _inputs(self, features: TaggingFeatures, rows: np.ndarray) -> dict[str, np.ndarray]:
        sequences = features.sequences
        width = int(sequences.lengths[rows].max()) if self.packed else self.settings.max_seq_length
        return sequences.padded(rows, width)

    def _training_batch(self, features: TaggingFeatures, rows: np.ndarray) -> dict[str, np.ndarray]:
        inputs = self._inputs(features, rows)
        width = inputs["input_word_ids"].shape[1]
        return inputs | _label_batch(_padded(features.label_ids, features.sequences.offsets, rows, width, NOTHING))

    def _loss(self, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        inputs = {name: batch[name] for name in INPUTS}
        return self._head_loss(self.model.states(inputs, True, seed, self.packed), batch, seed)

    def _frozen_loss(self, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        return self._head_loss(batch["states"], batch, seed)

    def _head_loss(self, states: tf.Tensor, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        """This replica's share of the mean cross entropy over the labelled pieces of the global batch.

        states: float32 [B, S, W].
        """
        rows = tf.reshape(states, [-1, self.model.state_width])
        labels = tf.reshape(batch["label_ids"], [-1])
        weights = tf.reshape(batch["label_weights"], [-1])
        if self.packed:
            labelled = tf.where(labels != NOTHING)[:, 0]
            rows, labels, weights = (tf.gather(values, labelled) for values in (rows, labels, weights))
        logits = self.model.score(rows, seed)
        return tf.reduce_sum(weights * cross_entropy(tf.maximum(labels, 0), logits))

    def _frozen_states(self, features: TaggingFeatures) -> _FrozenStates:
        is_labelled = features.label_ids != NOTHING
        counts = np.add.reduceat(is_labelled, features.sequences.offsets[:-1], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        size = int(offsets[-1]) * self.model.state_width * 4
        _check_memory(size)
        LOG.info("computing the frozen encoder once: %d labelled pieces, %.1f MB", offsets[-1], size / 1e6)
        states = np.empty((offsets[-1], self.model.state_width), np.float32)
        runner = make_runner(self.strategy, self._encode, input_signature())
        found = self._over_windows(runner, features, self.settings.eval_batch_size, "encoding", "eval_batch_size")
        for window, values in found:
            own = np.flatnonzero(is_labelled[slice(*features.sequences.offsets[window : window + 2])])
            states[offsets[window] : offsets[window + 1]] = values[own]
        return _FrozenStates(states, features.label_ids[is_labelled], offsets)

    def _encode(self, batch: dict) -> dict[str, tf.Tensor]:
        return {"values": self.model.states(batch, packed=self.packed)}

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        return {"values": tf.nn.log_softmax(self.model(batch, packed=self.packed))}

    def log_probabilities(
        self, features: TaggingFeatures, batch_size: int, title: str
    ) -> Iterator[tuple[int, np.ndarray]]:
        """(number of the window, float32 [S, L]) of every window, longest first; rows behind its tokens mean nothing."""
        return self._over_windows(self._runner, features, batch_size, title, "eval_batch_size and --predict_batch_size")

    def _over_windows(
        self, runner, features: TaggingFeatures, batch_size: int, title: str, flag: str
    ) -> Iterator[tuple[int, np.ndarray]]:
        """As many windows are computed at once as have the tokens of `batch_size` padded ones."""
        longest = self.settings.max_seq_length
        lengths = features.sequences.lengths if self.packed else np.full(len(features), longest)
        with Progress(title, len(features), every=max(1, len(features) // 4)) as progress:
            for rows in length_groups(lengths, batch_size * longest):
                with memory_advice(flag):
                    values = runner(rows, lambda chosen: self._inputs(features, chosen))["values"]
                yield from zip(rows.tolist(), values, strict=True)
                progress.update(progress.position + len(rows))


def _check_memory(size: int) -> None:
    """InputError where an array of `size` bytes does not fit into the machine's memory."""
    if not hasattr(os, "sysconf"):  # Windows
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > 0.8 * memory:
        raise InputError(
            f"--freeze_encoder: the encoder's outputs take {size / 1e9:.1f} GB, the machine has {memory / 1e9:.1f} GB of "
            "memory; give fewer --layers, or fewer sentences"
        )
