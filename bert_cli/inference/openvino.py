"""OpenVINO as the backend of an engine for ONNX graphs, imported only when it is used."""

import functools
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.inference.engine import Network
from bert_cli.inference.onnx import OnnxEngine
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.onnx.session import Runner, RunnerMaker
from bert_cli.runtime.tensorflow_setup import hidden_packages
from bert_cli.settings.engines import BFLOAT16, FLOAT32, Inference

_PRECISIONS = {BFLOAT16: "bf16", FLOAT32: "f32"}  # OpenVINO's names
_HINT = "INFERENCE_PRECISION_HINT"


def open_openvino(network: Network, config: BertConfig | ModuleConfig, inference: Inference) -> OnnxEngine:
    """Return an engine with OpenVINO for `network`, `config` and `inference`, see OnnxEngine."""
    open_backend = functools.partial(_open_backend, inference.precision)
    return OnnxEngine(network, config, inference, open_backend, lambda: _openvino().__version__)


def _open_backend(precision: str) -> RunnerMaker:
    """Return the function that makes a graph's runner."""
    core = _openvino().Core()
    # Compute one batch at a time on all cores, which uses the least memory.
    hints = {"PERFORMANCE_HINT": "LATENCY", _HINT: _PRECISIONS[precision]}

    def compile_graph(model: bytes, external: Mapping[str, np.ndarray]) -> Runner:
        compiled_model = core.compile_model(core.read_model(_with_values(model, external)), "CPU", hints)
        if compiled_model.get_property(_HINT).get_type_name() != hints[_HINT]:
            LOG.warning("warning: this processor has no units for bfloat16: openvino computes in float32")
        return _Running(compiled_model)

    return compile_graph


def _openvino() -> Any:
    """Import the package without its telemetry; raise InputError if it is not installed."""
    try:
        # Importing OpenVINO sends an event to Google Analytics and stores a client id in the home
        # directory. It does neither if this package is missing.
        with hidden_packages(["openvino_telemetry"]):
            import openvino
    except ImportError:
        raise InputError("--engine=openvino needs the package openvino: pip install 'bert_cli[openvino]'") from None
    return openvino


def _with_values(model: bytes, external: Mapping[str, np.ndarray]) -> bytes:
    """Return the model with the values of its external constants.

    OpenVINO reads external constants only from files.
    """
    import onnx
    from onnx import numpy_helper

    loaded = onnx.load_model_from_string(model)
    for tensor in loaded.graph.initializer:
        if tensor.name in external:
            tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(external[tensor.name]), tensor.name))
    return loaded.SerializeToString()


class _Running:
    """A compiled model that any thread can call."""

    def __init__(self, compiled: Any):
        self._compiled = compiled
        # An output has several names if its last node is an Identity.
        self._outputs = {name: output for output in compiled.outputs for name in output.names}
        self._input_names = {name for model_input in compiled.inputs for name in model_input.names}
        self._local = threading.local()

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        # A request handles one call at a time, so each thread uses a separate one.
        if not hasattr(self._local, "request"):
            self._local.request = self._compiled.create_infer_request()
        fed = {name: values for name, values in inputs.items() if name in self._input_names}
        results = self._local.request.infer(fed, share_inputs=True)
        return {name: results[output] for name, output in self._outputs.items()}
