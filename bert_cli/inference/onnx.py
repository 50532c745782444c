"""Engine for ONNX graphs on the CPU, with onnxruntime as its usual backend.

Importing TensorFlow takes seconds, so a single text is answered faster without it.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import count_parameters
from bert_cli.base.log import inform_once
from bert_cli.features.row_batches import equal_length_groups, similar_length_groups
from bert_cli.inference.engine import (
    LOGITS,
    MASKS,
    Arrays,
    BackgroundCall,
    EncoderNetwork,
    FineTunedNetwork,
    MaskedWordsNetwork,
    Network,
)
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.onnx.runners import (
    Runner,
    RunnerMaker,
    compile_graph,
    encoder_runner,
    logits_runner,
    masked_words_runner,
)
from bert_cli.runtime.machine import num_processors, pool_size
from bert_cli.settings.devices import INT8, ONNXRUNTIME, EngineChoice
from bert_cli.weights.checkpoint import LoadReport, open_checkpoint, read_weights, saved_step
from bert_cli.weights.path import CheckpointPath

# Tokens per batch: with more, the activations do not stay in the processor's cache.
_MAX_TOKENS = 1024
# Batches at a time: each takes memory for its activations.
_MOST_BATCHES = 4


class BatchParallelism(NamedTuple):
    """The number of batches that are computed at a time, and the threads for each."""

    batches: int
    threads: int


def share_processors(many: bool, num_threads: int) -> BatchParallelism:
    """Return how batches share this process's processors.

    One batch by all threads is computed soonest. But threads wait for one another after each
    operator. With few threads per batch, they compute more batches in the same time.

    Args:
        many: see rows.open_trained.
        num_threads: value of --num_threads.
    """
    processors = num_threads or num_processors()
    if not many or processors == 1:
        return BatchParallelism(1, pool_size(num_threads))
    threads = -(-processors // _MOST_BATCHES)
    return BatchParallelism(processors // threads, threads)


class OnnxEngine:
    """A network as an ONNX graph; see engine.Engine for its methods."""

    is_chief = True
    compilation: BackgroundCall[Runner] | None = None
    _runner: Runner
    _parameters: Mapping[str, int]

    def __init__(
        self,
        network: Network,
        config: BertConfig | ModuleConfig,
        inference: EngineChoice,
        open_backend: Callable[[], RunnerMaker],
        backend_version: Callable[[], str],
        concurrency: int,
    ):
        """Prepare an engine without weights; `load` reads them.

        Args:
            inference: engine and precision.
            open_backend: function that returns the function that makes a graph's runner.
            backend_version: function that returns the version of the backend's package.
            concurrency: see engine.Engine.

        Raises:
            InputError: if the model is a tensorflow-hub module.
        """
        if isinstance(config, ModuleConfig):
            raise InputError(f"{config.hub_module}: {inference.flag} is for a BERT, not for a module; leave it out")
        if isinstance(network, FineTunedNetwork) and network.keeps_padding:
            raise InputError(f"--keep_padding: {inference.flag} computes no padding; leave one of them out")
        inform_once(f"devices: 1 CPU, precision {inference.precision}, by {inference.engine}")
        self.precision = inference.precision
        self.concurrency = concurrency
        self._name = inference.engine
        self._network = network
        self._config = config
        self._open_backend = open_backend
        self._backend_version = backend_version
        # Attention and masked words use graphs without padding.
        self._skips_padding = isinstance(network, FineTunedNetwork) or (
            isinstance(network, EncoderNetwork) and not network.with_attention
        )

    def facts(self) -> dict[str, Any]:
        versions = {self._name: self._backend_version()}
        return {"devices": "1 CPU", "versions": versions, "parameters": self._parameters}

    def load(self, checkpoint: CheckpointPath) -> tuple[LoadReport, int]:
        tensors, report, step = self._read(checkpoint)
        self.set_weights(tensors)
        return report, step

    def start_loading(self, checkpoint: CheckpointPath) -> None:
        """Load trained weights in a thread; `compilation.wait` raises its errors."""
        reading = BackgroundCall(lambda: self._read(checkpoint))
        # Open the backend here, because an error should be reported immediately.
        make = self._open_backend()

        def compile_read() -> Runner:
            # Log after the backend is opened: its error must be the last line.
            tensors, report, _ = reading.wait()
            report.log()
            return self._compile(tensors, make)

        self.compilation = BackgroundCall(compile_read)

    def set_weights(self, tensors: Mapping[str, np.ndarray]) -> None:
        """Build the graph with these weights, Google's name -> float32, and compile it."""
        self._runner = self._compile(tensors, self._open_backend())

    def _read(self, checkpoint: CheckpointPath) -> tuple[dict[str, np.ndarray], LoadReport, int]:
        """Return the network's weights in float32, a report, and the global_step or 0."""
        reader = open_checkpoint(checkpoint)
        values, report = read_weights(self._network.shapes(self._config), reader)
        report.check_whole(self._network.missing_advice, self._network.optional, checkpoint.is_strict)
        tensors = {name: np.asarray(value, np.float32) for name, value in values.items()}
        if isinstance(self._network, MaskedWordsNetwork) and report.missing:
            # Without a part of the next-sentence head, leave out all of it.
            tensors = {name: value for name, value in tensors.items() if not name.startswith(self._network.optional)}
        return tensors, report, saved_step(reader)

    def _compile(self, tensors: Mapping[str, np.ndarray], make: RunnerMaker) -> Runner:
        """Return the runner of the network's graph."""
        from bert_cli.onnx.bert import FLAT, WITH_ATTENTION
        from bert_cli.onnx.int8 import FLAT_INT8

        self._parameters = count_parameters({name: value.shape for name, value in tensors.items()})
        network, config = self._network, self._config
        form = FLAT_INT8 if self.precision == INT8 else FLAT
        if isinstance(network, MaskedWordsNetwork):
            return masked_words_runner(tensors, config, network.num_words, make)
        if isinstance(network, FineTunedNetwork):
            return logits_runner(form, tensors, config, network.spec, make)
        assert isinstance(network, EncoderNetwork), network
        form = WITH_ATTENTION if network.with_attention else form
        return encoder_runner(form, tensors, config, network.indices, make)

    def groups(self, lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
        group = similar_length_groups if self._skips_padding else equal_length_groups
        return group(lengths, min(_MAX_TOKENS, max_tokens))

    def width(self, longest: int) -> int:
        return longest

    def run(self, batch: Arrays) -> Arrays:
        run = self.compilation.wait() if self.compilation else self._runner
        if MASKS not in batch:
            return run(batch)
        # Position 0 is [CLS], so it can mark padding.
        rows, columns = np.nonzero(batch[MASKS])
        masked = np.stack([rows, batch[MASKS][rows, columns]], axis=1).astype(np.int64)
        # Pass at least one row: operators handle empty inputs differently.
        outputs = run(batch | {"masked": masked if len(masked) else np.zeros((1, 2), np.int64)})
        return outputs | {LOGITS: outputs[LOGITS][: len(masked)]}


def open_onnxruntime(
    network: Network, config: BertConfig | ModuleConfig, inference: EngineChoice, many: bool = False
) -> OnnxEngine:
    """Return an engine with onnxruntime; see OnnxEngine, and rows.open_trained for `many`."""
    shares = share_processors(many, inference.num_threads)

    def version() -> str:
        import onnxruntime

        return onnxruntime.__version__

    def open_backend() -> RunnerMaker:
        # Import it here, while a thread reads weights: importing takes Python's lock.
        import onnxruntime  # noqa: F401

        return functools.partial(compile_graph, threads=shares.threads)

    assert inference.engine == ONNXRUNTIME, inference
    return OnnxEngine(network, config, inference, open_backend, version, shares.batches)
