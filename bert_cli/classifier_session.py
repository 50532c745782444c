"""A classifier on its devices: weights in, training, probabilities out. Imports TensorFlow."""

import contextlib
import dataclasses
import logging
import math
import time

import numpy as np
import tensorflow as tf

from bert_cli.batches.stream import length_groups, training_rows
from bert_cli.errors import InputError
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.checkpoint import STEP_NAME, LoadReport, load_weights, open_checkpoint
from bert_cli.model.checkpoint_path import CheckpointPath
from bert_cli.model.config import BertConfig
from bert_cli.model.heads import BertClassifier
from bert_cli.model.layers import named_weights
from bert_cli.outputs.progress import Progress
from bert_cli.training.compact import WORDS, CompactWords
from bert_cli.training.feeding import check_batch_size, place
from bert_cli.training.inference import infer, make_runner
from bert_cli.training.loop import run_steps
from bert_cli.training.losses import cross_entropy
from bert_cli.training.optimizer import AdamWeightDecay
from bert_cli.training.saving import restore_training, save_checkpoint, training_tensors
from bert_cli.training.step import LossScale, make_train_step
from bert_cli.training.strategy import compute_dtype, describe, is_chief, is_tpu, make_strategy

LOG = logging.getLogger("bert_cli")
_INPUTS = ("input_word_ids", "input_mask", "input_type_ids")
_SIGNATURE = {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in _INPUTS} | {
    "label_ids": tf.TensorSpec([None], tf.int32, name="label_ids")
}


@contextlib.contextmanager
def _memory_advice(flag: str):
    """Turn a device's lack of memory into advice."""
    try:
        yield
    except tf.errors.ResourceExhaustedError:
        raise InputError(f"out of memory: lower --{flag}, or --max_seq_length, or use --precision=bfloat16") from None


class ClassifierSession:
    """A BertClassifier with its strategy and precision; `settings` are those of run_classifier."""

    def __init__(self, config: BertConfig, label_count: int, settings):
        self.settings = settings
        self.strategy = make_strategy(
            settings.distribution_strategy, settings.use_tpu, settings.tpu_name, settings.tpu_zone, settings.gcp_project
        )
        self.precision = compute_dtype(settings.precision, self.strategy)
        self.is_chief = is_chief(self.strategy)
        # A TPU wants static shapes: there, everything is padded to max_seq_length and nothing is packed.
        self.packed = not is_tpu(self.strategy)
        with self.strategy.scope():
            if settings.do_train:
                check_batch_size(settings.train_batch_size, self.strategy, "train_batch_size")
            self.model = BertClassifier(config, label_count, self.precision, settings.random_seed)
        self.variables = named_weights(self.model)
        self._runner = make_runner(self.strategy, self._forward, _SIGNATURE)
        LOG.info("devices: %s, precision %s", describe(self.strategy), self.precision)

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        """Take all weights of a fine-tuned checkpoint; returns its global_step, 0 where it has none."""
        reader = open_checkpoint(checkpoint)
        report = load_weights(self.variables, reader)
        if report.missing:
            raise InputError(
                f"{report.source}: lacks {', '.join(report.missing[:3])}: it is not a fine-tuned classifier; add --do_train or "
                "give the model.ckpt-N of a training run"
            )
        self._log(report)
        return int(reader.read(STEP_NAME)) if STEP_NAME in reader.shapes else 0

    def load_initial(self, checkpoint: CheckpointPath | None, is_builtin: bool, state: str | None) -> None:
        """Take the weights that a new run starts from, and say where they come from."""
        if state:
            LOG.info("going on from %s", state)
        elif checkpoint:
            self._log(load_weights(self.variables, open_checkpoint(checkpoint)))
        elif is_builtin:
            LOG.info("no model was given: the small built-in one is used, which starts from RANDOM weights")
        else:
            LOG.warning(
                "warning: no --init_checkpoint: training starts from RANDOM weights, not from a pre-trained model"
            )

    @staticmethod
    def _log(report: LoadReport) -> None:
        for line in report.lines():
            LOG.info(line)

    def _batch(self, sequences: RaggedFeatures, label_ids: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
        width = int(sequences.lengths[rows].max()) if self.packed else self.settings.max_seq_length
        return sequences.padded(rows, width) | {"label_ids": label_ids[rows]}

    def train(self, features: ClassificationFeatures, steps: int, state: str | None, folder: str) -> dict:
        """Train up to `steps`, from the checkpoint `state` where there is one; returns figures for the report."""
        settings = self.settings
        with self.strategy.scope():
            compact = CompactWords(self.model.encoder, features.sequences.token_ids)
            trained = self.variables | {WORDS: compact.table}
            optimizer = AdamWeightDecay(trained, settings.learning_rate, steps, int(steps * settings.warmup_proportion))
            loss_scale = LossScale() if self.precision == "float16" else None
        start = restore_training(state, self.variables, optimizer, compact) if state else 0
        signature = _SIGNATURE if self.strategy.num_replicas_in_sync == 1 else None
        step_fn = make_train_step(self.strategy, self._loss, optimizer, settings.random_seed, loss_scale, signature)
        sequences = dataclasses.replace(features.sequences, token_ids=compact.compact_ids(features.sequences.token_ids))
        rows = training_rows(len(features), settings.train_batch_size, settings.random_seed, start)
        batches = (place(self._batch(sequences, features.label_ids, chosen), self.strategy) for chosen in rows)

        def save(step: int) -> None:
            tensors = training_tensors(self.variables, optimizer, compact)
            if self.is_chief:
                path = save_checkpoint(folder, step, tensors, settings.keep_checkpoint_max)
                LOG.info("saved %s", path)

        with Progress("training", steps, start, settings.log_steps, settings.train_batch_size) as progress:

            def report(step: int, loss: float, rate: float) -> None:
                progress.update(step, {"loss": f"{loss:.4f}", "learning rate": f"{rate:.3g}"})

            began = time.monotonic()
            with _memory_advice("train_batch_size"):
                losses = run_steps(
                    step_fn, batches, start, steps, save, settings.save_checkpoints_steps, report, settings.log_steps
                )
            seconds = time.monotonic() - began
        compact.close(optimizer)
        return {
            "global_step": steps,
            "train_seconds": round(seconds, 3),
            "train_examples_per_second": round((steps - start) * settings.train_batch_size / seconds, 2),
            "first_loss": losses[0],
            "last_loss": losses[-1],
        }

    def _loss(self, batch: dict, seed: tf.Tensor) -> tf.Tensor:
        """This replica's share of the mean cross entropy over the global batch."""
        inputs = {name: batch[name] for name in _INPUTS}
        logits = self.model(inputs, training=True, seed=seed, packed=self.packed)
        return tf.reduce_sum(cross_entropy(batch["label_ids"], logits)) / self.settings.train_batch_size

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        logits = self.model({name: batch[name] for name in _INPUTS}, packed=self.packed)
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
            with _memory_advice("eval_batch_size and --predict_batch_size"):
                results = infer(
                    self._runner,
                    groups,
                    lambda rows: self._batch(features.sequences, features.label_ids, rows),
                    lambda count: progress.update(progress.position + count),
                )
            seconds = time.monotonic() - began
        return results | {"examples_per_second": round(len(features) / seconds, 2)}
