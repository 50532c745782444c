"""Running an ONNX graph with onnxruntime, of the extra onnx, on the CPU."""

import importlib.util
from collections.abc import Callable, Mapping

import numpy as np

from bert_cli.base.errors import InputError

Runner = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]
_PACKAGES = ("onnx", "onnxruntime")
_OUT_OF_MEMORY = ("Failed to allocate memory", "bad_alloc")
# Fusions that cost time: this one's operator takes twice as long as an addition and a LayerNormalization.
_SLOWER = ["SkipLayerNormFusion"]
_ERRORS = 3  # the level of severity from which onnxruntime writes to the log


def check_packages(flag: str) -> None:
    """InputError, naming the flag, where the extra is not installed."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"{flag} needs the package {missing[0]}: pip install 'bert_cli[onnx]'")


def make_runner(model: str | bytes, apart: Mapping[str, np.ndarray] | None = None) -> Runner:
    """A function of the inputs, by name, that gives the outputs of a model: the path of its file, or its bytes.

    apart: constants that the model names without their values; they are read where they are. Inputs that the model does not
    have are left aside.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS
    if apart:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value)) for value in apart.values()]
        options.add_external_initializers(list(apart), values)
    session = onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
    )
    outputs = [output.name for output in session.get_outputs()]
    taken = {each.name for each in session.get_inputs()}

    def run(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        fed = {name: values for name, values in inputs.items() if name in taken}
        try:
            return dict(zip(outputs, session.run(outputs, fed), strict=True))
        except Exception as error:  # onnxruntime has no public class of them
            if any(sign in str(error) for sign in _OUT_OF_MEMORY):
                raise MemoryError("onnxruntime gets no more") from None
            raise

    return run
