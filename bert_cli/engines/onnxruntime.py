"""The engine onnxruntime: ONNX graphs in float32 or int8 (see onnx.models and onnx.int8)."""

from typing import TYPE_CHECKING

from bert_cli.engines.engine import FLOAT32, INT8, InferenceEngine
from bert_cli.onnx.session import RunnerMaker, make_runner

if TYPE_CHECKING:
    from bert_cli.onnx.bert import Form


class OnnxRuntime(InferenceEngine):
    """The engine onnxruntime, which has no bfloat16 on the CPU."""

    name = "onnxruntime"
    precisions = (FLOAT32, INT8)
    description = "onnxruntime starts in a second, on the CPU"

    def versions(self) -> dict[str, str]:
        import onnxruntime

        return {self.name: onnxruntime.__version__}

    def compiler(self, precision: str) -> RunnerMaker:
        return make_runner

    def form(self, precision: str) -> "Form":
        from bert_cli.onnx.int8 import FLAT_INT8

        return FLAT_INT8 if precision == INT8 else super().form(precision)
