"""TensorFlow as an engine: a model with its distribution strategy, which also can be trained.

runs.engine.training_run trains it. Everything specific to a task is in its model (heads/) and features.
"""

import functools
import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import count_parameters
from bert_cli.base.log import inform_once
from bert_cli.base.spec import BatchColumn
from bert_cli.features.row_batches import length_groups
from bert_cli.heads.model import make_encoder, tensor_specs
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.inference.engine import (
    LOGITS,
    MASKS,
    NEXT_SENTENCE_LOGITS,
    POOLED,
    Arrays,
    BackgroundCall,
    EncoderNetwork,
    FineTunedNetwork,
    MaskedWordsNetwork,
    Network,
    PretrainingEvaluationNetwork,
    has_small_outputs,
)
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.deferred_initialization import DeferredInitialization
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import DenseLayer, Scoped, named_weights
from bert_cli.runtime.machine import num_processors
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import LEAST_TOKENS
from bert_cli.tf_internals.keras_layers import layers_inside
from bert_cli.training.batch_distribution import check_batch_size, compile_runner
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
from bert_cli.weights.path import HUB, CheckpointPath
from bert_cli.weights.variables import STEP_NAME, Reader, is_lora_variable

# Tokens per batch with attention, which takes layers * heads * length numbers per token.
_ATTENTION_TOKENS = 1024
# Network -> columns of its batches, and the flag to lower if memory runs out.
_COLUMNS_AND_FLAGS = {
    FineTunedNetwork: (spec.ENCODER, "eval_batch_size and --predict_batch_size"),
    PretrainingEvaluationNetwork: (spec.PRETRAINING, "eval_batch_size and --predict_batch_size"),
    MaskedWordsNetwork: (spec.FILL_MASK, "batch_size"),
    EncoderNetwork: (spec.ENCODER, "batch_size"),
}


class TensorFlowEngine:
    """A model with its distribution strategy and precision; see engine.Engine.

    Attributes:
        strategy: distribution strategy.
        model: the model.
        variables: Google's name -> variable; for adapters the names in model.lora.
        deferred: variables without random values yet, if a checkpoint was to be loaded.
        packed: whether the model skips padding.
        max_seq_length: maximum number of tokens in a sequence.
    """

    compilation: BackgroundCall[Any] | None = None  # TensorFlow compiles the network when it gets its first batch

    def __init__(
        self,
        network: Network,
        make_model: Callable[[str], keras.layers.Layer],
        devices: Devices,
        max_seq_length: int,
        train_batch_size: int | None = None,
        accumulation_steps: int = 1,
        loads_checkpoint: bool = False,
    ):
        """Create the strategy and the model.

        Args:
            network: the outputs of `run`.
            make_model: make_model(compute dtype) returns the model. It is called in the strategy's
                scope.
            max_seq_length: maximum number of tokens in a sequence.
            train_batch_size: rows per training batch; None if the model is not trained.
            accumulation_steps: micro-batches per training batch and replica.
            loads_checkpoint: whether a checkpoint will be loaded before any computation. Random
                values are then only drawn for variables that it lacks.

        Raises:
            InputError: if the devices are missing, or cannot share such a batch.
        """
        self._network = network
        self.deferred = DeferredInitialization()
        self.strategy = make_strategy(
            devices.distribution_strategy,
            devices.use_tpu,
            devices.tpu_name,
            devices.tpu_zone,
            devices.gcp_project,
            devices.num_virtual_devices,
            devices.worker_timeout,
            devices.num_threads,
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
            with self.deferred.deferring(loads_checkpoint):
                self.model = make_model(self.precision)
        self.variables = named_weights(self.model)
        self._adapted = {
            f"{layer.scope}/kernel": (layer, layer.adapter)
            for layer in layers_inside(self.model)
            if isinstance(layer, DenseLayer) and layer.adapter
        }
        # All calls share TensorFlow's threads, which wait
        # for one another after each operator of a call.
        is_shared = on_one_cpu(self.strategy) and num_processors() > 1
        self.concurrency = 2 if is_shared and has_small_outputs(network) else 1
        self._runner: Callable[[Arrays], Arrays] | None = None
        self._making_runner = threading.Lock()
        inform_once(f"devices: {describe(self.strategy)}, precision {self.precision}")

    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "devices": describe(self.strategy),
            "versions": {"tensorflow": tf.__version__, "keras": keras.__version__},
            "parameters": count_parameters({name: tuple(value.shape) for name, value in self._merged.items()}),
        }
        peak_bytes = peak_device_memory()
        return facts if peak_bytes is None else facts | {"peak_device_memory_bytes": peak_bytes}

    def load(self, checkpoint: CheckpointPath) -> tuple[LoadReport, int]:
        # A module that is not a BERT already has its weights.
        if checkpoint.kind == HUB and isinstance(self.model, ModuleEncoder):
            return LoadReport(checkpoint.name, [], [], []), 0
        reader = open_checkpoint(checkpoint)
        report = self.load_weights(reader)
        report.check_whole(self._network.missing_advice, self._network.optional, checkpoint.is_strict)
        self.freeze_for_inference()
        return report, saved_step(reader)

    def load_weights(self, reader: Reader) -> LoadReport:
        """Load a checkpoint's weights, and draw random values for variables that it lacks."""
        report = load_weights(self._merged, reader)
        self.deferred.initialize_except(self.variables[name] for name in report.loaded)
        self._reset_adapters()
        return report

    @property
    def _merged(self) -> dict[str, keras.Variable]:
        """Return the variables without the variables of adapters."""
        return {name: variable for name, variable in self.variables.items() if not is_lora_variable(name)}

    def _reset_adapters(self) -> None:
        """Set the product of each adapter to 0, as checkpoints have the sum in the kernel."""
        for _, adapter in self._adapted.values():
            adapter.b.assign(tf.zeros(adapter.b.shape))

    @property
    def sums(self) -> dict[str, Callable[[], np.ndarray]]:
        """Return the name of each adapted kernel with a function that returns its sum, float32."""
        return {name: functools.partial(_sum, layer) for name, (layer, _) in self._adapted.items()}

    def random_values(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the random values of these variables, before a checkpoint is loaded."""
        self.deferred.draw(self.variables[name] for name in names)
        return {name: self.variables[name].numpy() for name in names}

    def weights(self, step: int) -> dict[str, np.ndarray]:
        """Return the contents of a checkpoint without moments: all weights, and global_step."""
        sums = self.sums
        values = {name: variable.numpy() for name, variable in self.variables.items() if name not in sums}
        return values | {name: read() for name, read in sums.items()} | {STEP_NAME: np.int64(step)}

    def set_weights(self, values: Mapping[str, np.ndarray]) -> None:
        """Assign values from `weights`."""
        for name, variable in self._merged.items():
            variable.assign(values[name])
        self._reset_adapters()
        self.freeze_for_inference()

    def freeze_for_inference(self, is_frozen: bool = True) -> None:
        """Freeze or unfreeze the model's encoders on a CPU, see BertEncoder."""
        if on_one_cpu(self.strategy):
            for layer in layers_inside(self.model):
                if isinstance(layer, BertEncoder):
                    layer.freeze_for_inference(is_frozen)
            self._runner = None  # the compiled function uses the previous weights

    @property
    def training_width(self) -> int | None:
        """Return the width of training batches in tokens; None: as wide as the longest row."""
        return None if self.packed and not self.model.padding_counts else self.max_seq_length

    @property
    def _trims(self) -> bool:
        """Return whether batches for `run` are only as wide as their longest sequence."""
        return self.packed and not (isinstance(self._network, FineTunedNetwork) and self._network.keeps_padding)

    def groups(self, lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
        if not self._trims:
            replicas = self.strategy.num_replicas_in_sync
            size = math.ceil(max(1, max_tokens // self.max_seq_length) / replicas) * replicas
            return np.array_split(np.arange(len(lengths)), range(size, len(lengths), size))
        if isinstance(self._network, FineTunedNetwork | PretrainingEvaluationNetwork):
            max_tokens = max(max_tokens, LEAST_TOKENS)
        elif isinstance(self._network, EncoderNetwork) and self._network.with_attention:
            max_tokens = min(max_tokens, _ATTENTION_TOKENS)
        return length_groups(lengths, max_tokens)

    def width(self, longest: int) -> int:
        return longest if self._trims else self.max_seq_length

    def make_runner(self, forward: Callable[[dict], dict], columns: Iterable[BatchColumn], flag: str) -> Callable:
        """Compile forward(batch) for these columns; `flag`: see batch_distribution.memory_advice."""
        return compile_runner(self.strategy, forward, tensor_specs(columns), flag)

    def run(self, batch: Arrays) -> Arrays:
        # Each runner traces the network, so threads share one.
        with self._making_runner:
            if self._runner is None:
                self._runner = self.make_runner(self._forward, *_COLUMNS_AND_FLAGS[type(self._network)])
            runner = self._runner
        outputs = runner(batch)
        if isinstance(self._network, MaskedWordsNetwork):
            # Position 0 is [CLS], so it can mark padding.
            outputs[LOGITS] = outputs[LOGITS][batch[MASKS] > 0]
        return outputs

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        """Return the network's outputs; TensorFlow drops operations without effect on these."""
        inputs = spec.encoder_inputs(batch)
        network = self._network
        if isinstance(network, FineTunedNetwork):
            return {LOGITS: self.model.sequence_logits(inputs, packed=self._trims)}
        if isinstance(network, PretrainingEvaluationNetwork):
            return self.model.evaluation_sums(batch, self.packed)
        if isinstance(network, MaskedWordsNetwork):
            outputs = self.model(inputs | {MASKS: batch[MASKS]}, packed=self.packed)
            return {
                LOGITS: outputs["masked_lm_logits"][..., : network.num_words],  # [B, P, words]
                NEXT_SENTENCE_LOGITS: outputs[NEXT_SENTENCE_LOGITS],
            }
        assert isinstance(network, EncoderNetwork), network
        has_states = bool(network.indices)
        # With only the pooler, the last layer computes one row per text.
        only_pooler = not has_states and not network.with_attention
        attends = network.with_attention
        outputs = self.model(inputs, packed=self.packed, pooled_only=only_pooler, return_attention=attends)
        # A module has no embedding, but plan.check_attention has refused this layer then.
        layers = [outputs.get("embedding_output"), *outputs["encoder_outputs"]] if has_states else []
        results = {f"state_{number}": layers[index] for number, index in enumerate(network.indices)}
        results |= {} if has_states else {POOLED: outputs[POOLED]}
        attention = outputs["attention_probs"] if attends else ()
        return results | {f"attention_{number}": layer for number, layer in enumerate(attention)}


def _sum(layer: DenseLayer) -> np.ndarray:
    return layer.sum.numpy()


def restart_engine(engine: TensorFlowEngine, seed: int, loads_checkpoint: bool = False) -> None:
    """Set the weights that a new engine has for a model with this seed.

    Traced functions stay valid. A module for tensorflow-hub cannot be restarted.

    Args:
        engine: the engine of an earlier run.
        seed: seed for random values.
        loads_checkpoint: see TensorFlowEngine.
    """
    engine.deferred = DeferredInitialization()
    with engine.strategy.scope(), engine.deferred.deferring(loads_checkpoint):
        for layer in layers_inside(engine.model):
            if isinstance(layer, Scoped):
                layer.restart(seed)
    engine.freeze_for_inference(False)


def open_tensorflow(
    network: Network,
    config: BertConfig | ModuleConfig,
    devices: Devices,
    max_seq_length: int,
    make_model: Callable[[str], keras.layers.Layer] | None = None,
) -> TensorFlowEngine:
    """Return an engine for a checkpoint's network, without its weights.

    See TensorFlowEngine for the arguments. Only a head needs `make_model`.
    """
    if isinstance(network, EncoderNetwork):
        make_model = functools.partial(make_encoder, config)
    elif isinstance(network, MaskedWordsNetwork) and isinstance(config, BertConfig):
        make_model = functools.partial(_make_pretrainer, config)
    assert make_model, "the caller makes the model with a head"
    return TensorFlowEngine(network, make_model, devices, max_seq_length, loads_checkpoint=True)


def _make_pretrainer(config: BertConfig, precision: str) -> BertPretrainer:
    return BertPretrainer(config, compute_dtype=precision)
