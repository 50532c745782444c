"""The table of engines, used by --engine and --precision, their help and their checks."""

from bert_cli.base.errors import InputError
from bert_cli.engines.engine import FLOAT32, Inference
from bert_cli.engines.onnxruntime import OnnxRuntime
from bert_cli.engines.openvino import OpenVino

AUTO, TENSORFLOW = "auto", "tensorflow"  # TensorFlow also trains, so it is not an InferenceEngine
ENGINES = {engine.name: engine for engine in (OnnxRuntime(), OpenVino())}
ANSWERING = OnnxRuntime.name  # engine that --engine=auto uses to answer new texts, see Devices.for_answers
OF_TENSORFLOW = (FLOAT32, "bfloat16", "float16")
# For precisions that TensorFlow does not have: the engine that --engine=auto uses.
_FURTHER = {
    precision: engine
    for engine in reversed(ENGINES.values())
    for precision in engine.precisions
    if precision not in OF_TENSORFLOW
}
PRECISIONS = (*OF_TENSORFLOW, *_FURTHER)


def chosen_inference(engine: str, precision: str) -> Inference | None:
    """Return the engine and precision for --engine and --precision, None for TensorFlow.

    Raises:
        InputError: the engine does not have the precision.
    """
    further = _FURTHER.get(precision)
    if further and engine == TENSORFLOW:
        raise InputError(
            f"--precision={precision} is computed by {further.name}, not by {TENSORFLOW}; leave --engine out"
        )
    chosen = ENGINES.get(engine, further)
    if chosen is None:
        return None
    precision = chosen.precisions[0] if precision == AUTO else precision
    if precision not in chosen.precisions:
        able = " or ".join(chosen.precisions)
        raise InputError(f"--engine={engine} computes in {able}, not in {precision}; leave --precision out")
    return Inference(chosen, precision, f"--precision={precision}" if further else f"--engine={engine}")
