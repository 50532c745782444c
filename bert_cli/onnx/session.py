"""Runner of ONNX graphs with onnxruntime, on the CPU."""

from collections.abc import Callable, Mapping

import numpy as np

from bert_cli.onnx.graph import Graph, assemble

Runner = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]
# A function from a graph and its external constants to a runner; see compile_graph.
RunnerMaker = Callable[[Graph, Mapping[str, np.ndarray]], Runner]
_OUT_OF_MEMORY = ("Failed to allocate memory", "bad_alloc")
# Disabled fusions: this one's operator takes twice as long as an addition and a LayerNormalization.
_SLOWER = ["SkipLayerNormFusion"]
_ERRORS = 3  # onnxruntime logs only errors


class _Running:
    """An onnxruntime session, and the memory that it reads."""

    def __init__(self, model: str | bytes, external: Mapping[str, np.ndarray]):
        import onnxruntime

        # Keep these as long as the session, which has pointers into this memory but does not own
        # it.
        self._external = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value))
            for name, value in external.items()
        }
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS
        # Stop spinning between batches: the threads would take the processor from the code that
        # prepares the next batch. A server answered 843 short texts per second with spinning, and
        # 1,092 without.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if external:
            options.add_external_initializers(list(self._external), list(self._external.values()))
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
        )
        self._outputs = [output.name for output in self._session.get_outputs()]
        self._input_names = {model_input.name for model_input in self._session.get_inputs()}

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        fed = {name: values for name, values in inputs.items() if name in self._input_names}
        try:
            return dict(zip(self._outputs, self._session.run(self._outputs, fed), strict=True))
        except Exception as error:  # onnxruntime has no public exception class
            if any(sign in str(error) for sign in _OUT_OF_MEMORY):
                raise MemoryError("onnxruntime gets no more") from None
            raise


def make_runner(model: str | bytes, external: Mapping[str, np.ndarray] | None = None) -> Runner:
    """Return a function from a model's inputs, by name, to its outputs.

    Inputs that the model does not have are ignored.

    Args:
        model: path to the file, or its bytes.
        external: values for constants that the model names without values; they are not copied.
    """
    return _Running(model, external or {})


def compile_graph(graph: Graph, external: Mapping[str, np.ndarray]) -> Runner:
    """Return make_runner's result for a graph.

    Args:
        graph: the graph.
        external: its large constants. If they were copied into the protobuf message, it could exceed
            its limit of 2 GB.
    """
    location = {"location": "memory"}
    return make_runner(assemble(graph, dict.fromkeys(external, location)), external)
