"""Session: a model on its devices with TensorFlow, which loads weights and predicts.

engine.training_run trains it. Everything specific to a task is in its model (heads/) and features.
"""

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import count_parameters
from bert_cli.base.log import LOG
from bert_cli.base.spec import Column
from bert_cli.features.pretraining_batch import model_batch
from bert_cli.features.ragged import Features, row_lengths
from bert_cli.features.row_batches import length_groups
from bert_cli.heads.classification import BertWindowsClassifier
from bert_cli.heads.model import TaskModel, tensor_specs
from bert_cli.model.deferred_initialization import DeferredInitialization
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.outputs.progress import Progress
from bert_cli.runs.engine.predictor import Predictions, Predictor
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.runs.loading.checkpoints import builtin_message, random_start_message
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.runtime.forks import refuse_lost_tensorflow
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import LEAST_TOKENS
from bert_cli.tf_internals.keras_layers import layers_inside
from bert_cli.training.batch_distribution import check_batch_size, make_runner
from bert_cli.training.scatter import infer
from bert_cli.training.several_processes import check_agreement
from bert_cli.training.strategy import (
    compute_dtype,
    describe,
    is_chief,
    is_tpu,
    make_strategy,
    on_one_cpu,
    peak_device_memory,
    use_exact_float32,
)
from bert_cli.weights.checkpoint import LoadReport, load_weights, open_checkpoint, saved_step
from bert_cli.weights.hub_encoder import ModuleEncoder
from bert_cli.weights.names import STEP_NAME
from bert_cli.weights.path import CheckpointPath
from bert_cli.weights.reader import Reader


@contextlib.contextmanager
def memory_advice(flag: str) -> Iterator[None]:
    """Turn a device's lack of memory into advice, for computations inside the block.

    Args:
        flag: the flag to lower, such as "train_batch_size".

    Raises:
        InputError: if memory ran out, or if TensorFlow cannot compute in this process (see forks).
    """
    refuse_lost_tensorflow()
    try:
        yield
    except (tf.errors.ResourceExhaustedError, MemoryError):
        in_training = ""
        if flag == "train_batch_size":
            in_training = (
                ", or raise --gradient_accumulation_steps, or add --recompute=layers (--auto_batch does both by itself)"
            )
        raise InputError(
            f"out of memory: lower --{flag}, or --max_seq_length{in_training}, or use --precision=bfloat16"
        ) from None


class Session(Predictor):
    """A model with its distribution strategy and precision.

    Attributes:
        strategy: distribution strategy.
        model: the model.
        variables: Google's name -> variable.
        packed: whether the model skips padding.
    """

    def __init__(
        self,
        make_model: Callable[[str], TaskModel],
        devices: Devices,
        max_seq_length: int,
        train_batch_size: int | None = None,
        accumulation_steps: int = 1,
        loads_checkpoint: bool = False,
        check_pairs: PairCheck | None = None,
    ):
        """Create the strategy and the model.

        Args:
            make_model: make_model(compute dtype) returns the model. It is called in the strategy's
                scope.
            devices: flag values.
            max_seq_length: maximum number of tokens in a sequence.
            train_batch_size: rows per training batch; None if the session does not train.
            accumulation_steps: micro-batches per training batch and replica.
            loads_checkpoint: whether a checkpoint will be loaded before any computation. Random
                values are then only drawn for variables that it lacks.
            check_pairs: see Predictor.

        Raises:
            InputError: if the devices are missing, or cannot share such a batch.
        """
        self.check_pairs = check_pairs
        self._deferred = DeferredInitialization()
        self.strategy = make_strategy(
            devices.distribution_strategy,
            devices.use_tpu,
            devices.tpu_name,
            devices.tpu_zone,
            devices.gcp_project,
            devices.num_virtual_devices,
            devices.worker_timeout,
        )
        self.precision = compute_dtype(devices.precision, self.strategy)
        use_exact_float32(self.precision)
        self.is_chief = is_chief(self.strategy)
        # A TPU needs static shapes, so everything is padded to max_seq_length.
        self.packed = not is_tpu(self.strategy)
        self.max_seq_length = max_seq_length
        with self.strategy.scope():
            if train_batch_size is not None:
                check_batch_size(train_batch_size, self.strategy, "train_batch_size", accumulation_steps)
            with self._deferred.deferring(loads_checkpoint):
                self.model = make_model(self.precision)
        self.has_windows = isinstance(self.model, BertWindowsClassifier)
        self.variables = named_weights(self.model)
        LOG.info("devices: %s, precision %s", describe(self.strategy), self.precision)

    def check_agreement(self, facts: dict[str, Any]) -> None:
        """Check that all processes have the same facts, see several_processes.check_agreement."""
        check_agreement(self.strategy, facts)

    def parameters(self) -> dict[str, int]:
        """Return the number of parameters per part, see count_parameters."""
        return count_parameters({name: tuple(variable.shape) for name, variable in self.variables.items()})

    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "devices": describe(self.strategy),
            "versions": {"tensorflow": tf.__version__, "keras": keras.__version__},
            "parameters": self.parameters(),
        }
        peak_bytes = peak_device_memory()
        return facts if peak_bytes is None else facts | {"peak_device_memory_bytes": peak_bytes}

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        """Load trained weights; variables that are `optional` for the model may be missing."""
        reader = open_checkpoint(checkpoint)
        reason = f"it is not {self.model.description}; add --do_train or give the model.ckpt-N of a training run"
        report = self._load_for_inference(reader, reason, self.model.optional)
        for line in report.lines():
            LOG.info(line)
        return saved_step(reader)

    def load_initial(self, model: ModelBundle, init_checkpoint: str, state: str | None) -> None:
        """Load the weights that a run starts from, and log their source.

        Args:
            model: the model's files.
            init_checkpoint: flag value.
            state: checkpoint prefix to resume from; None for a new run.
        """
        checkpoint = model.checkpoint
        if state:
            LOG.info("resuming from %s", state)
            # The checkpoint holds all variables.
            self._deferred.initialize_except(self.variables.values())
        elif checkpoint and isinstance(self.model.encoder, ModuleEncoder):
            count = len(self.model.encoder.named_variables())
            LOG.info("%s: not a Google BERT checkpoint; its %d variables are used unchanged", checkpoint.name, count)
            self._deferred.initialize_except([])
        elif checkpoint:
            report = self._load_weights(open_checkpoint(checkpoint))
            message = builtin_message(checkpoint, self.model.encoder.config)
            for line in [message] if message else report.lines():
                LOG.info(line)
        else:
            LOG.log(*random_start_message(init_checkpoint, model.is_builtin))

    def _load_weights(self, reader: Reader) -> LoadReport:
        """Load a checkpoint's weights, and draw random values for variables that it lacks."""
        report = load_weights(self.variables, reader)
        self._deferred.initialize_except(self.variables[name] for name in report.loaded)
        return report

    def _load_for_inference(self, reader: Reader, reason: str, optional: str | tuple[str, ...]) -> LoadReport:
        """Load weights that will not be trained; `reason`, `optional`: see LoadReport.check_whole."""
        report = self._load_weights(reader)
        report.check_whole(reason, optional)
        self.freeze_for_inference()
        return report

    def weights(self, step: int) -> dict[str, np.ndarray]:
        """Return the contents of a checkpoint without moments: all weights, and global_step."""
        return {name: variable.numpy() for name, variable in self.variables.items()} | {STEP_NAME: np.int64(step)}

    def set_weights(self, values: Mapping[str, np.ndarray]) -> None:
        """Assign values from `weights`."""
        for name, variable in self.variables.items():
            variable.assign(values[name])
        self.freeze_for_inference()

    def freeze_for_inference(self, is_frozen: bool = True) -> None:
        """Freeze or unfreeze the model's encoders on a CPU, see BertEncoder."""
        if on_one_cpu(self.strategy):
            for layer in layers_inside(self.model):
                if isinstance(layer, BertEncoder):
                    layer.freeze_for_inference(is_frozen)
            self.__dict__.pop("_predict", None)  # the compiled function uses the previous weights

    def make_runner(self, forward: Callable[[dict], dict], columns: Iterable[Column]) -> Callable:
        """Compile forward(batch) for these columns, see batch_distribution.make_runner."""
        return make_runner(self.strategy, forward, tensor_specs(columns))

    @property
    def training_width(self) -> int | None:
        """Return the width of training batches in tokens; None: as wide as the longest row."""
        return None if self.packed and not self.model.padding_counts else self.max_seq_length

    @property
    def _trims(self) -> bool:
        """Return whether prediction batches are only as wide as their longest row."""
        return self.packed and not self.model.predicts_padding

    @functools.cached_property
    def _predict(self) -> Callable:
        return self.make_runner(lambda batch: self.model.predictions(batch, self.packed), self.model.prediction_columns)

    def _compute_batches(self, features: Features, batch_size: int, runner: Callable | None) -> Predictions:
        flag = "eval_batch_size" if runner else "eval_batch_size and --predict_batch_size"
        runner = runner or self._predict
        names = [column.name for column in self.model.prediction_columns]

        def make_batch(rows: np.ndarray) -> dict[str, np.ndarray]:
            batch = features.batch(rows, None if self._trims else self.max_seq_length)
            return {name: batch[name] for name in names}

        for rows in self._groups(row_lengths(features), batch_size):
            with memory_advice(flag):
                predictions = runner(rows, make_batch)
            yield rows, predictions

    def _groups(self, lengths: np.ndarray, batch_size: int) -> list[np.ndarray]:
        if self._trims:
            return length_groups(lengths, max(batch_size * self.max_seq_length, LEAST_TOKENS))
        replicas = self.strategy.num_replicas_in_sync
        size = math.ceil(batch_size / replicas) * replicas
        return np.array_split(np.arange(len(lengths)), range(size, len(lengths), size))

    def infer_chunks(
        self, chunks: Iterable[dict[str, np.ndarray]], count: int, batch_size: int, title: str
    ) -> dict[str, Any]:
        """Predict with a BertPretrainer, and return arrays like `infer`.

        Args:
            chunks: arrays named in spec.pretraining_features, for some instances each.
            count: number of instances in all chunks.
            batch_size: see `predict_batches`.
            title: title used for the progress.
        """
        chunk_results = []
        with Progress(title, count, every=max(1, count // 4), is_shown=not self.is_quiet) as progress:
            start = time.monotonic()
            with memory_advice("eval_batch_size"):
                for features in chunks:
                    chunk_results.append(self._infer_chunk(features, batch_size, progress))
            seconds = time.monotonic() - start
        joined = {
            name: np.concatenate([chunk_result[name] for chunk_result in chunk_results]) for name in chunk_results[0]
        }
        return joined | {"examples_per_second": round(count / seconds, 2)}

    def _infer_chunk(self, features: dict, batch_size: int, progress: Progress) -> dict[str, np.ndarray]:
        return infer(
            self._predict,
            self._groups(features["input_mask"].sum(axis=1), batch_size),
            lambda rows: model_batch({name: values[rows] for name, values in features.items()}, trim=self.packed),
            lambda done: progress.update(progress.position + done),
        )
