"""The table of the engines, which the flags --engine and --precision, their help and their checks
are read from.
"""

from bert_cli.base.errors import InputError
from bert_cli.engines.engine import FLOAT32, Inference
from bert_cli.engines.onnxruntime import OnnxRuntime
from bert_cli.engines.openvino import OpenVino

AUTO, TENSORFLOW = "auto", "tensorflow"  # TensorFlow also trains, so it is no InferenceEngine
ENGINES = {engine.name: engine for engine in (OnnxRuntime(), OpenVino())}
ANSWERING = OnnxRuntime.name  # what --engine=auto takes for the answers to new texts, see Devices.for_answers
_OF_TENSORFLOW = (FLOAT32, "bfloat16", "float16")
# Of a precision that TensorFlow does not have, the engine that --engine=auto takes.
_FURTHER = {
    precision: engine
    for engine in reversed(ENGINES.values())
    for precision in engine.precisions
    if precision not in _OF_TENSORFLOW
}
PRECISIONS = (*_OF_TENSORFLOW, *_FURTHER)


def chosen_inference(engine: str, precision: str) -> Inference | None:
    """What the values of --engine and --precision ask for; None for TensorFlow. InputError where
    they do not go together.
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
