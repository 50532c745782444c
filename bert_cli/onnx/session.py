"""Running an ONNX graph with onnxruntime, on the CPU."""

from collections.abc import Callable, Mapping

import numpy as np

Runner = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]
# Of a model's bytes, and the constants that it names without their values: see make_runner.
RunnerMaker = Callable[[bytes, Mapping[str, np.ndarray]], Runner]
_OUT_OF_MEMORY = ("Failed to allocate memory", "bad_alloc")
# Fusions that cost time: this one's operator takes twice as long as an addition and a
# LayerNormalization.
_SLOWER = ["SkipLayerNormFusion"]
_ERRORS = 3  # the level of severity from which onnxruntime writes to the log


class _Running:
    """A session of onnxruntime, and the memory that it reads."""

    def __init__(self, model: str | bytes, external: Mapping[str, np.ndarray]):
        import onnxruntime

        # To be kept as long as the session, which has pointers into this memory but does not own
        # it.
        self._external = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value))
            for name, value in external.items()
        }
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS
        # Between two batches its threads would go on spinning, and take the processor from what
        # makes the next batch: a server answered 843 short texts a second with them, 1,092 without.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if external:
            options.add_external_initializers(list(self._external), list(self._external.values()))
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
        )
        self._outputs = [output.name for output in self._session.get_outputs()]
        self._taken = {each.name for each in self._session.get_inputs()}

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        fed = {name: values for name, values in inputs.items() if name in self._taken}
        try:
            return dict(zip(self._outputs, self._session.run(self._outputs, fed), strict=True))
        except Exception as error:  # onnxruntime has no public class of them
            if any(sign in str(error) for sign in _OUT_OF_MEMORY):
                raise MemoryError("onnxruntime gets no more") from None
            raise


def make_runner(model: str | bytes, external: Mapping[str, np.ndarray] | None = None) -> Runner:
    """A function of the inputs, by name, that gives the outputs of a model: the path of its file,
    or its bytes.

    external: constants that the model names without their values; they are read where they are.
    Inputs that the model does not have are left aside.
    """
    return _Running(model, external or {})
