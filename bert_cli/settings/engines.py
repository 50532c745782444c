"""Inference engines as --engine and --precision know them: names, precisions and descriptions."""

import dataclasses
from typing import NamedTuple

from bert_cli.base.errors import InputError

FLOAT32, BFLOAT16, INT8 = "float32", "bfloat16", "int8"
AUTO, TENSORFLOW = "auto", "tensorflow"  # TensorFlow also trains, so it is not in ENGINES
ONNXRUNTIME, OPENVINO = "onnxruntime", "openvino"


@dataclasses.dataclass(frozen=True)
class EngineFacts:
    """An engine that computes trained networks on the CPU, without TensorFlow.

    Attributes:
        name: spelling in --engine; see also inference.rows.open_engine.
        precisions: precisions of matrix products; --precision=auto uses the first.
        description: text in the help of --engine.
    """

    name: str
    precisions: tuple[str, ...]
    description: str


ENGINES = {
    engine.name: engine
    for engine in (
        # onnxruntime has no bfloat16 on the CPU.
        EngineFacts(ONNXRUNTIME, (FLOAT32, INT8), "onnxruntime starts in a second, on the CPU"),
        EngineFacts(
            OPENVINO,
            (BFLOAT16, FLOAT32),
            "openvino (an extra) is the fastest in bfloat16, on CPUs with AMX or AVX-512 bf16",
        ),
    )
}
ANSWERING = ONNXRUNTIME  # engine that --engine=auto uses to answer new texts, see Devices.for_answers
OF_TENSORFLOW = (FLOAT32, BFLOAT16, "float16")
# For precisions that TensorFlow does not have: the engine that --engine=auto uses.
_FURTHER = {
    precision: engine
    for engine in reversed(ENGINES.values())
    for precision in engine.precisions
    if precision not in OF_TENSORFLOW
}
PRECISIONS = (*OF_TENSORFLOW, *_FURTHER)


class Inference(NamedTuple):
    """An engine and precision chosen with flags, and the flag (with its value) that chose them."""

    engine: str
    precision: str
    flag: str


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
    return Inference(chosen.name, precision, f"--precision={precision}" if further else f"--engine={engine}")
