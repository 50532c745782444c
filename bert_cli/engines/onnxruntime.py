"""onnxruntime: the network as an ONNX graph, in float32 or int8 (see onnx.models and onnx.int8)."""

from collections.abc import Sequence

from bert_cli.base.head_types import HeadSpec
from bert_cli.engines.engine import FLOAT32, INT8, InferenceEngine, Network, Tensors
from bert_cli.model.config import BertConfig


class OnnxRuntime(InferenceEngine):
    """See InferenceEngine; it has no bfloat16 on the CPU."""

    name = "onnxruntime"
    precisions = (FLOAT32, INT8)
    description = "onnxruntime starts in a second, on the CPU"

    def versions(self) -> dict[str, str]:
        import onnxruntime

        return {self.name: onnxruntime.__version__}

    def encoder(
        self, precision: str, tensors: Tensors, config: BertConfig, layers: Sequence[int], attention: bool = False
    ) -> Network:
        from bert_cli.onnx.models import AttentionBert, encoder_runner

        return encoder_runner(AttentionBert if attention else self._network(precision), tensors, config, layers)

    def logits(self, precision: str, tensors: Tensors, config: BertConfig, head: HeadSpec) -> Network:
        from bert_cli.onnx.models import logits_runner

        return logits_runner(self._network(precision), tensors, config, head)

    def _network(self, precision: str) -> type:
        """What builds the graph of this precision, an onnx.models.UnpaddedBert."""
        from bert_cli.onnx.int8 import Int8Bert
        from bert_cli.onnx.models import FlatBert

        return FlatBert if precision == FLOAT32 else Int8Bert

    def masked_words(self, precision: str, tensors: Tensors, config: BertConfig, words: int) -> Network:
        from bert_cli.onnx.models import masked_words_runner

        return masked_words_runner(tensors, config, words)
