"""A model on its devices, for all commands that train: weights in, the training loop, a folder of checkpoints out.

Imports TensorFlow. What differs from task to task (model, loss, batches) comes in as arguments.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable

import keras
import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.model.config import INPUTS
from bert_cli.model.layers import named_weights
from bert_cli.outputs.progress import Progress
from bert_cli.training.compact import WORDS, CompactWords
from bert_cli.training.feeding import check_batch_size, place
from bert_cli.training.loop import run_steps
from bert_cli.training.optimizer import AdamWeightDecay
from bert_cli.training.saving import restore_training, save_checkpoint, training_tensors
from bert_cli.training.step import LossScale, make_train_step
from bert_cli.training.strategy import compute_dtype, describe, is_chief, is_tpu, make_strategy
from bert_cli.weights.checkpoint import STEP_NAME, LoadReport, load_weights, open_checkpoint
from bert_cli.weights.hub_encoder import ModuleEncoder
from bert_cli.weights.path import CheckpointPath

LOG = logging.getLogger("bert_cli")


def input_signature() -> dict[str, tf.TensorSpec]:
    """The encoder's inputs, int32 [B, S], of any batch size and length, so that no new length is a new trace."""
    return {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in INPUTS}


@contextlib.contextmanager
def memory_advice(flag: str):
    """Turn a device's lack of memory into advice."""
    try:
        yield
    except tf.errors.ResourceExhaustedError:
        raise InputError(f"out of memory: lower --{flag}, or --max_seq_length, or use --precision=bfloat16") from None


class Session:
    """A model with its strategy and precision.

    `settings` are those of a command: it has the flags of flags.define_device_flags, and for training train_batch_size,
    random_seed, save_checkpoints_steps, keep_checkpoint_max and log_steps.
    """

    kind = "a trained model"  # what a checkpoint should be, for error messages
    optional: tuple[str, ...] = ()  # beginnings of the names that a trained checkpoint may lack

    def __init__(self, settings, do_train: bool, make_model: Callable[[str], keras.Model]):
        """make_model(compute dtype) is called in the scope of the strategy."""
        self.settings = settings
        self.strategy = make_strategy(
            settings.distribution_strategy, settings.use_tpu, settings.tpu_name, settings.tpu_zone, settings.gcp_project
        )
        self.precision = compute_dtype(settings.precision, self.strategy)
        self.is_chief = is_chief(self.strategy)
        # A TPU wants static shapes: there, everything is padded to max_seq_length and nothing is packed.
        self.packed = not is_tpu(self.strategy)
        with self.strategy.scope():
            if do_train:
                check_batch_size(settings.train_batch_size, self.strategy, "train_batch_size")
            self.model = make_model(self.precision)
        self.variables = named_weights(self.model)
        LOG.info("devices: %s, precision %s", describe(self.strategy), self.precision)

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        """Take all weights of a trained checkpoint; returns its global_step, 0 where it has none.

        InputError where it lacks a variable that is not `optional`.
        """
        reader = open_checkpoint(checkpoint)
        report = load_weights(self.variables, reader)
        missing = [name for name in report.missing if not name.startswith(self.optional)]
        if missing:
            raise InputError(
                f"{report.source}: lacks {', '.join(missing[:3])}: it is not {self.kind}; add --do_train or give the "
                "model.ckpt-N of a training run"
            )
        self._log(report)
        return int(reader.read(STEP_NAME)) if STEP_NAME in reader.shapes else 0

    def load_initial(self, checkpoint: CheckpointPath | None, is_builtin: bool, state: str | None) -> None:
        """Take the weights that a new run starts from, and say where they come from."""
        if state:
            LOG.info("going on from %s", state)
        elif checkpoint and isinstance(self.model.encoder, ModuleEncoder):
            count = len(self.model.encoder.named())
            LOG.info("%s: is no BERT of Google's form, so it is used as it is: %d variables", checkpoint.name, count)
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

    def start_training(
        self, steps: int, state: str | None, token_ids: np.ndarray, layer: int | None, frozen: bool = False
    ) -> tuple[AdamWeightDecay, CompactWords | None, int]:
        """Optimizer, compact word embeddings (None where they are not trained), and the number of finished steps.

        steps: of the whole training; state: prefix of the checkpoint to go on from; token_ids: all that batches will
        hold; layer: the encoder's highest one that the loss reads, None for the pooled output; frozen: train nothing
        of the encoder. `settings` has learning_rate, warmup_proportion and bias_correction.
        """
        settings, encoder = self.settings, self.model.encoder
        with self.strategy.scope():
            left_out = set(named_weights(encoder)) if frozen else encoder.without_gradient(layer)
            trained = {name: weight for name, weight in self.variables.items() if name not in left_out}
            compact = CompactWords(encoder, token_ids) if WORDS in trained else None
            if compact:
                trained[WORDS] = compact.table
            warmup = int(steps * settings.warmup_proportion)
            optimizer = AdamWeightDecay(trained, settings.learning_rate, steps, warmup, settings.bias_correction)
        start = restore_training(state, self.variables, optimizer, compact) if state else 0
        return optimizer, compact, start

    def train_steps(
        self,
        loss_fn: Callable,
        signature: dict[str, tf.TensorSpec],
        optimizer: AdamWeightDecay,
        batches: Iterable[dict[str, np.ndarray]],
        start: int,
        steps: int,
        folder: str,
        compact: CompactWords | None = None,
        extra_tensors: Callable[[], dict[str, np.ndarray]] = dict,
    ) -> dict:
        """Run the updates start … steps − 1 and save into `folder`; returns figures for the report.

        loss_fn(batch, seed) as make_train_step has it; `signature` describes a batch; `batches` are those of step
        `start` and the following ones. extra_tensors() are further tensors for each checkpoint.
        """
        settings = self.settings
        with self.strategy.scope():
            loss_scale = LossScale() if self.precision == "float16" else None
        shown = signature if self.strategy.num_replicas_in_sync == 1 else None
        step_fn = make_train_step(self.strategy, loss_fn, optimizer, settings.random_seed, loss_scale, shown)
        placed = (place(batch, self.strategy) for batch in batches)

        def save(step: int) -> None:
            tensors = training_tensors(self.variables, optimizer, compact) | extra_tensors()
            if self.is_chief:
                path = save_checkpoint(folder, step, tensors, settings.keep_checkpoint_max)
                LOG.info("saved %s", path)

        with Progress("training", steps, start, settings.log_steps, settings.train_batch_size) as progress:

            def report(step: int, loss: float, rate: float) -> None:
                progress.update(step, {"loss": f"{loss:.4f}", "learning rate": f"{rate:.3g}"})

            began = time.monotonic()
            with memory_advice("train_batch_size"):
                losses = run_steps(
                    step_fn, placed, start, steps, save, settings.save_checkpoints_steps, report, settings.log_steps
                )
            seconds = time.monotonic() - began
        if compact:
            compact.close(optimizer)
        return {
            "global_step": steps,
            "train_seconds": round(seconds, 3),
            "train_examples_per_second": round((steps - start) * settings.train_batch_size / seconds, 2),
            "first_loss": losses[0],
            "last_loss": losses[-1],
        }
