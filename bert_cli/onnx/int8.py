"""The encoder with int8 matrix products: for --precision=int8 and for the model_int8.onnx of
bert-export.

Weights are quantized for each column. Activations are quantized as they come, with one scale for a
whole batch, for which processors have fast products; two things make up for the one scale:

- What a LayerNorm gives has a few channels of large values. Its channels are divided by factors that the rows of the next
  kernel are multiplied by, so that both have about the same range (SmoothQuant, Xiao et al. 2023, section 4). The division
  is part of gamma and beta. It needs to know the channels' ranges, which random tokens show as well as texts do.
- Rows of what GELU gives differ in their range from token to token. Each is divided by its largest value, which the product
  is multiplied by.

LayerNorm, softmax, residuals, pooler and heads stay float32.

onnxruntime's own quantize_dynamic has neither correction. Measured with the built-in model on 500
lines of its corpus, the mean vectors' cosines to float32 are 0.99976 in the median and 0.99956 for
the worst hundredth here, 0.99923 and 0.99875 there; on the 1,000 dev examples of the quickstart
classifier, probabilities move by 0.0033 on average here and by 0.0053 there.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import TensorProto

from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.model.shapes import PROJECTION
from bert_cli.onnx.bert import Bert
from bert_cli.onnx.graph import Graph, activate
from bert_cli.onnx.models import FlatBert, UnpaddedBert, embedded_runner
from bert_cli.runtime.processor import processor_flags

# How much of the difference in range goes from the channels of activations to the rows of kernels.
# Mean vectors of all-MiniLM-L6-v2 lose least at 0.6 to 0.7.
_MIGRATION = 0.6
_LEAST_RANGE = 1e-5
# A row's largest value counts as at least this, so that GELU's smallest value, -0.17, is small in
# comparison.
_LEAST_PEAK = 0.5
_CALIBRATION = (8, 32)  # random sequences, and tokens of each
# The largest weight of a model that any processor may compute: x86 without VNNI adds pairs of
# products in 16 bits, which weights of 8 bits overflow.
_PORTABLE_LEVELS = 63


def _levels() -> int:
    """The largest weight on this processor."""
    flags = processor_flags()
    return _PORTABLE_LEVELS if "avx2" in flags and not {"avx512_vnni", "avx_vnni"} & flags else 127


def quantized_columns(kernel: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """(int8 of the same shape, float32 scales [n]) of a kernel [m, n]."""
    largest = np.maximum(kernel.max(axis=0), -kernel.min(axis=0))
    scales = np.maximum(largest, np.finfo(np.float32).tiny) / levels
    return np.rint(kernel / scales).astype(np.int8), scales.astype(np.float32)


def channel_ranges(tensors: Mapping[str, np.ndarray], config: BertConfig) -> dict[str, np.ndarray]:
    """The largest magnitude of each channel, float32 [H], of what each LayerNorm, and the projection
    of the embeddings, gives for random tokens, by its scope.
    """
    bert = UnpaddedBert(Graph(), tensors, config)
    bert.states()
    graph = bert.graph
    places = {node.input[1].removesuffix("/gamma"): node.output[0] for node in graph.nodes if "Norm" in node.op_type}
    if bert.projects:
        places[PROJECTION] = next(node.output[0] for node in graph.nodes if f"{PROJECTION}/bias" in node.input)
    for scope, output in places.items():
        sizes = graph.add("Abs", output)
        graph.output(f"{scope}:range", ["channels"], "ReduceMax", sizes, graph.numbers(0, 1), keepdims=0)
    size = (_CALIBRATION[0], min(_CALIBRATION[1], config.max_position_embeddings))
    ids = np.random.default_rng(0).integers(0, config.vocab_size, size).astype(np.int32)
    batch = dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
    found = embedded_runner(bert)(batch)
    return {scope: found[f"{scope}:range"] for scope in places}


class Int8Products(Bert):
    """The parts of a Bert that have products, in 8 bits; `states` gives nearly what float32 would.

    A mixin before the class that has the embeddings and attention, as in Int8Bert.
    """

    def __init__(self, graph: Graph, tensors: Mapping[str, np.ndarray], config: BertConfig):
        super().__init__(graph, tensors, config)
        self.ranges = channel_ranges(tensors, config)
        self.levels = _levels()

    def product(self, x: str, kernel: np.ndarray, bias: np.ndarray | None, scope: str) -> str:
        """x · kernel + bias over the last axis, quantized."""
        graph = self.graph
        values, scales = quantized_columns(kernel, self.levels)
        quantized, scale, zero = graph.add_outputs("DynamicQuantizeLinear", x, count=3)
        total = graph.add("MatMulInteger", quantized, graph.constant(f"{scope}:int8", values), zero)
        factors = graph.add("Mul", scale, graph.constant(f"{scope}:scales", scales))
        # Standard operators, so that any program computes the file. onnxruntime fuses all of them,
        # the bias too, into its DynamicQuantizeMatMul, which gives the same bits as that operator
        # written by hand.
        result = graph.add("Mul", graph.add("Cast", total, to=TensorProto.FLOAT), factors)
        return result if bias is None else graph.add("Add", result, graph.constant(f"{scope}:bias", bias))

    def smooth_norm(self, x: str, scope: str, kernel: np.ndarray) -> tuple[str, np.ndarray, str]:
        """(what goes into a product, the kernel of this product, what float32 would give) of a
        LayerNorm and a `kernel`.
        """
        factors = self.factors(scope, kernel)
        smooth = self.normalized(x, *self.divided(scope, ("gamma", "beta"), factors))
        return smooth, kernel * factors[:, np.newaxis], self.multiplied(smooth, scope, factors)

    def smooth_embeddings(self, kernel: np.ndarray) -> tuple[str, np.ndarray, str]:
        """As smooth_norm, of the embeddings."""
        norm = "bert/embeddings/LayerNorm"
        if not self.projects:
            return self.smooth_norm(self.embedded(), norm, kernel)
        # In float32: E·H weights, where each layer has 12·H·H.
        factors = self.factors(PROJECTION, kernel)
        dense, bias = self.divided(PROJECTION, ("kernel", "bias"), factors)
        smooth = self.graph.add("Add", self.graph.add("MatMul", self.norm(self.embedded(), norm), dense), bias)
        return smooth, kernel * factors[:, np.newaxis], self.multiplied(smooth, PROJECTION, factors)

    def factors(self, scope: str, kernel: np.ndarray) -> np.ndarray:
        """What the channels that go into a product are divided by, float32 [m]; scope: of what gives
        them.
        """
        weights = np.maximum(np.abs(kernel).max(axis=1), _LEAST_RANGE)
        factors = np.maximum(self.ranges[scope], _LEAST_RANGE) ** _MIGRATION / weights ** (1 - _MIGRATION)
        return factors.astype(np.float32)

    def divided(self, scope: str, names: Sequence[str], factors: np.ndarray) -> list[str]:
        """Weights of a scope with their channels divided."""
        return [
            self.graph.constant(f"{scope}/{name}:smooth", self.tensors[f"{scope}/{name}"] / factors) for name in names
        ]

    def multiplied(self, smooth: str, scope: str, factors: np.ndarray) -> str:
        """What float32 would give."""
        return self.graph.add("Mul", smooth, self.graph.constant(f"{scope}:factors", factors))

    def peaked_product(self, x: str, scope: str) -> str:
        """A dense layer; its rows are divided by their largest values for the product."""
        graph = self.graph
        sizes = x if self.config.activation.startswith(("gelu", "relu")) else graph.add("Abs", x)
        peaks = graph.add("ReduceMax", sizes, graph.numbers(-1), keepdims=1)
        peaks = graph.add("Max", peaks, graph.number(_LEAST_PEAK))
        product = self.product(graph.add("Div", x, peaks), self.tensors[f"{scope}/kernel"], None, scope)
        return graph.add("Add", graph.add("Mul", product, peaks), self.weight(f"{scope}/bias"))

    def int8_dense(self, x: str, scope: str, kernel: np.ndarray | None = None) -> str:
        """A dense layer; kernel: the kernel of smooth_norm, where x comes from it."""
        kernel = self.tensors[f"{scope}/kernel"] if kernel is None else kernel
        return self.product(x, kernel, self.tensors[f"{scope}/bias"], scope)

    def states(self) -> list[str]:
        add = self.graph.add
        key_bias = self.key_bias()
        last = self.config.num_hidden_layers - 1
        smooth, kernel, x = self.smooth_embeddings(self.projection(0, "kernel"))
        states = [x]
        for number in range(last + 1):
            scope = f"bert/encoder/layer_{number}"
            wide, norm = f"{scope}/intermediate/dense", f"{scope}/output/LayerNorm"
            projected = self.product(smooth, kernel, self.projection(number, "bias"), f"{scope}/attention/self")
            context = self.attend_projected(projected, key_bias)
            total = add("Add", self.int8_dense(context, f"{scope}/attention/output/dense"), x)
            smooth, kernel, x = self.smooth_norm(
                total, f"{scope}/attention/output/LayerNorm", self.tensors[f"{wide}/kernel"]
            )
            made = activate(self.graph, self.int8_dense(smooth, wide, kernel), self.config.activation)
            total = add("Add", self.peaked_product(made, f"{scope}/output/dense"), x)
            # Heads read the last layer in float32, so no product follows with a kernel that could
            # take the factors.
            if number == last:
                x = self.norm(total, norm)
            else:
                smooth, kernel, x = self.smooth_norm(total, norm, self.projection(number + 1, "kernel"))
            states.append(x)
        return states


class Int8Bert(Int8Products, FlatBert):
    """For this processor."""


class PaddedInt8Bert(Int8Products):
    """For an exported file: of padded texts, with weights that any processor computes.

    Word embeddings are int8 with a scale for each row, as they are most of the file of a small
    model.
    """

    def __init__(self, graph: Graph, tensors: Mapping[str, np.ndarray], config: BertConfig):
        super().__init__(graph, tensors, config)
        # Not _levels(): the file may be computed on another processor than this one.
        self.levels = _PORTABLE_LEVELS

    def word_embeddings(self) -> str:
        graph = self.graph
        name = "bert/embeddings/word_embeddings"
        # 127 levels on any processor: rows are looked up, not multiplied in 16 bits.
        values, scales = quantized_columns(self.tensors[name].T, 127)
        rows = graph.add("Gather", graph.constant(f"{name}:int8", np.ascontiguousarray(values.T)), INPUTS[0])
        row_scales = graph.constant(f"{name}:scales", scales[:, np.newaxis])
        row_scales = graph.add("Gather", row_scales, INPUTS[0])  # [B, S, 1]
        return graph.add("Mul", graph.add("Cast", rows, to=TensorProto.FLOAT), row_scales)
