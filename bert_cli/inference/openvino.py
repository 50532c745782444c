"""OpenVINO as the backend of an engine for ONNX graphs, imported only when it is used."""

import functools
import queue
from collections.abc import Mapping
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError, first_line
from bert_cli.base.log import LOG
from bert_cli.inference.engine import Network
from bert_cli.inference.onnx import BatchParallelism, OnnxEngine, share_processors
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.onnx.graph import Graph, assemble
from bert_cli.onnx.runners import ALL_THREADS, Runner, RunnerMaker
from bert_cli.runtime.installing import how_to_install
from bert_cli.runtime.process import PROCESS
from bert_cli.runtime.tensorflow_setup import hidden_packages
from bert_cli.settings.devices import BFLOAT16, FLOAT32, EngineChoice

_PRECISIONS = {BFLOAT16: "bf16", FLOAT32: "f32"}  # OpenVINO's names
_HINT = "INFERENCE_PRECISION_HINT"
# This location means that a constant's offset is an address. onnxruntime defined it for its
# OpenVINO provider, and OpenVINO 2026.4 supports it.
_IN_MEMORY = "*/_ORT_MEM_ADDR_/*"


def open_openvino(
    network: Network, config: BertConfig | ModuleConfig, inference: EngineChoice, many: bool = False
) -> OnnxEngine:
    """Return an engine with OpenVINO; see OnnxEngine, and rows.open_trained for `many`."""
    shares = share_processors(many, inference.num_threads)
    open_backend = functools.partial(_open_backend, inference.precision, shares)
    return OnnxEngine(network, config, inference, open_backend, lambda: _openvino().__version__, shares.batches)


def _open_backend(precision: str, shares: BatchParallelism) -> RunnerMaker:
    """Return the function that makes a graph's runner."""
    openvino = _openvino()
    # OpenVINO fills its tables of element types when they are first needed, and needs Python's lock for that. If two
    # threads did this together, one could wait for the lock and the other for the table, forever.
    openvino.Tensor(np.zeros(1, np.float32), shared_memory=True).element_type.to_dtype()
    core = openvino.Core()
    hints = {"PERFORMANCE_HINT": "LATENCY", _HINT: _PRECISIONS[precision]}
    if shares.threads != ALL_THREADS:
        hints["INFERENCE_NUM_THREADS"] = str(shares.batches * shares.threads)
    if shares.batches > 1:
        # A stream computes one batch at a time.
        hints["NUM_STREAMS"] = str(shares.batches)

    def compile_graph(graph: Graph, external: Mapping[str, np.ndarray]) -> Runner:
        constants = {name: np.ascontiguousarray(value) for name, value in external.items()}
        compiled_model = core.compile_model(_read_model(core, graph, constants), "CPU", hints)
        if compiled_model.get_property(_HINT).get_type_name() != hints[_HINT]:
            LOG.warning("warning: this processor has no units for bfloat16: openvino computes in float32")
        return _Running(compiled_model, constants)

    return compile_graph


def _openvino() -> Any:
    """Import the package without its telemetry; raise InputError if it is not installed."""
    try:
        # Importing OpenVINO sends an event to Google Analytics and stores a client id in the home
        # directory. It does neither if this package is missing.
        hidden_names = ["openvino_telemetry"]
        # Its converter for other formats takes a quarter
        # of the import; a user's program may need it.
        if PROCESS.is_command:
            hidden_names.append("openvino.tools.ovc")
        with hidden_packages(hidden_names):
            import openvino
    except ImportError:
        raise InputError(f"--engine=openvino needs the package openvino: {how_to_install('openvino')}") from None
    return openvino


def _read_model(core: Any, graph: Graph, constants: Mapping[str, np.ndarray]) -> Any:
    """Return OpenVINO's model, which uses the external constants without a copy.

    Args:
        core: openvino.Core.
        constants: contiguous values for external constants; they must live as long as the model.
    """
    locations = {
        name: {"location": _IN_MEMORY, "offset": str(value.ctypes.data), "length": str(value.nbytes)}
        for name, value in constants.items()
    }
    try:
        return core.read_model(assemble(graph, locations))
    except RuntimeError as error:
        # A version of OpenVINO that looks for a file with this name.
        LOG.debug("openvino reads no constants in memory: %s", first_line(error))
        return core.read_model(assemble(graph))


class _Running:
    """A compiled model that any thread can call."""

    def __init__(self, compiled: Any, constants: Mapping[str, np.ndarray]):
        self._compiled = compiled
        self._constants = constants  # the compiled model may read this memory
        # An output has several names if its last node is an Identity.
        self._outputs = {name: output for output in compiled.outputs for name in output.names}
        self._input_names = {name for model_input in compiled.inputs for name in model_input.names}
        self._idle: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        fed = {name: values for name, values in inputs.items() if name in self._input_names}
        # A request handles one call at a time. It keeps
        # its memory for activations, so use it again.
        try:
            request = self._idle.get_nowait()
        except queue.Empty:
            request = self._compiled.create_infer_request()
        try:
            results = request.infer(fed, share_inputs=True)
            return {name: results[output] for name, output in self._outputs.items()}
        finally:
            self._idle.put(request)
