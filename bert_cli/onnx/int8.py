"""The encoder with int8 matrix products, for --precision=int8 and exported models.

bert-export writes it to model_int8.onnx. Weights are quantized per column. Activations are
quantized at run time, with one scale for a whole batch, because processors have fast products for
this. Two corrections make up for the single scale:

- LayerNorm outputs have a few channels with large values. These channels are divided by factors, and rows in the next
  kernel are multiplied by them, so that both have a similar range (SmoothQuant, Xiao et al. 2023, section 4). The
  division is part of gamma and beta. It needs the channels' ranges; random tokens show them as well as texts do.
- GELU outputs have different ranges per token. Each row is divided by its largest value before the product, and
  multiplied by it afterwards.

LayerNorm, softmax, residuals, pooler and heads stay float32.

onnxruntime's quantize_dynamic has neither correction. With the built-in model on 500 lines from its
corpus, the cosines between mean vectors and float32 are 0.99976 in the median and 0.99956 for the
worst hundredth (quantize_dynamic: 0.99923 and 0.99875). On the quickstart classifier's 1,000 dev
examples, probabilities change by 0.0033 on average (quantize_dynamic: 0.0053).
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from bert_cli.base.spec import INPUTS
from bert_cli.model.config import PROJECTION, BertConfig
from bert_cli.onnx.bert import EMBEDDINGS_NORM, FLAT, ONE_LENGTH, PADDED, WORDS, Bert
from bert_cli.onnx.graph import FLOAT, Graph, activation_nodes
from bert_cli.onnx.runners import embedded_runner
from bert_cli.runtime.machine import processor_flags

# Share of the range difference that moves from activation channels to kernel rows. Mean vectors of
# all-MiniLM-L6-v2 lose least at 0.6 to 0.7.
_MIGRATION = 0.6
_LEAST_RANGE = 1e-5
# Lower bound for a row's largest value, so that GELU's minimum, -0.17, is small in comparison.
_LEAST_PEAK = 0.5
_CALIBRATION = (8, 32)  # number of random sequences, and their length in tokens
# Largest weight in a model for any processor: x86 without VNNI adds pairs of products in 16 bits,
# which would overflow with 8-bit weights.
_PORTABLE_LEVELS = 63


def _levels() -> int:
    """Return the largest weight for this processor."""
    flags = processor_flags()
    return _PORTABLE_LEVELS if "avx2" in flags and not {"avx512_vnni", "avx_vnni"} & flags else 127


def quantized_columns(kernel: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a kernel [m, n] as int8 values and their float32 scales [n]."""
    largest = np.maximum(kernel.max(axis=0), -kernel.min(axis=0))
    scales = np.maximum(largest, np.finfo(np.float32).tiny) / levels
    return np.rint(kernel / scales).astype(np.int8), scales.astype(np.float32)


def channel_ranges(tensors: Mapping[str, np.ndarray], config: BertConfig) -> dict[str, np.ndarray]:
    """Return each channel's largest magnitude for random tokens, float32 [H] by scope.

    The scopes are the LayerNorms and the projection after the embeddings.
    """
    bert = Bert(Graph(), tensors, config, ONE_LENGTH)
    bert.states()
    graph = bert.graph
    outputs = {node.input[1].removesuffix("/gamma"): node.output[0] for node in graph.nodes if "Norm" in node.op_type}
    if bert.projects:
        outputs[PROJECTION] = next(node.output[0] for node in graph.nodes if f"{PROJECTION}/bias" in node.input)
    for scope, output in outputs.items():
        sizes = graph.add("Abs", output)
        graph.output(f"{scope}:range", ["channels"], "ReduceMax", sizes, graph.numbers(0, 1), keepdims=0)
    size = (_CALIBRATION[0], min(_CALIBRATION[1], config.max_position_embeddings))
    ids = np.random.default_rng(0).integers(0, config.vocab_size, size).astype(np.int32)
    batch = dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
    ranges = embedded_runner(bert)(batch)
    return {scope: ranges[f"{scope}:range"] for scope in outputs}


class Int8Encoder:
    """A network's embeddings and layers with int8 products; states are close to float32 states.

    Attributes:
        bert: network that gets the layers.
        ranges: result from channel_ranges.
        levels: largest int8 weight.
    """

    def __init__(self, bert: Bert, levels: int):
        self.bert = bert
        self.graph = bert.graph
        self.ranges = channel_ranges(bert.tensors, bert.config)
        self.levels = levels

    def product(self, x: str, kernel: np.ndarray, bias: np.ndarray | None, scope: str) -> str:
        """Return x · kernel + bias over the last axis, quantized.

        Args:
            x: activations.
            kernel: float32 [m, n].
            bias: float32 [n], None if there is no bias.
            scope: scope used in the constants' names.
        """
        graph = self.graph
        values, scales = quantized_columns(kernel, self.levels)
        quantized, scale, zero = graph.add_outputs("DynamicQuantizeLinear", x, count=3)
        total = graph.add("MatMulInteger", quantized, graph.constant(f"{scope}:int8", values), zero)
        factors = graph.add("Mul", scale, graph.constant(f"{scope}:scales", scales))
        # Use standard operators, so that any program can read the file. onnxruntime fuses them,
        # including the bias, into its DynamicQuantizeMatMul, with the same bits as that operator.
        result = graph.add("Mul", graph.add("Cast", total, to=FLOAT), factors)
        return result if bias is None else graph.add("Add", result, graph.constant(f"{scope}:bias", bias))

    def smooth_norm(self, x: str, scope: str, kernel: np.ndarray) -> tuple[str, np.ndarray, str]:
        """Apply a LayerNorm with smoothed channels for the next product.

        Args:
            x: input for the LayerNorm.
            scope: the LayerNorm's scope.
            kernel: the next product's kernel.

        Returns:
            The product's input, the kernel to use in the product, and the output in float32.
        """
        factors = self.factors(scope, kernel)
        smooth = self.bert.layer_norm(x, *self.divide_weights(scope, ("gamma", "beta"), factors))
        return smooth, kernel * factors[:, np.newaxis], self.undo_division(smooth, scope, factors)

    def smooth_embeddings(self, kernel: np.ndarray) -> tuple[str, np.ndarray, str]:
        """Return the same as smooth_norm, for the embeddings."""
        if not self.bert.projects:
            return self.smooth_norm(self.bert.embed(), EMBEDDINGS_NORM, kernel)
        # Stay in float32: these are E·H weights, but each layer has 12·H·H.
        factors = self.factors(PROJECTION, kernel)
        dense, bias = self.divide_weights(PROJECTION, ("kernel", "bias"), factors)
        normalized = self.bert.norm(self.bert.embed(), EMBEDDINGS_NORM)
        smooth = self.graph.add("Add", self.graph.add("MatMul", normalized, dense), bias)
        return smooth, kernel * factors[:, np.newaxis], self.undo_division(smooth, PROJECTION, factors)

    def factors(self, scope: str, kernel: np.ndarray) -> np.ndarray:
        """Return the factors that divide a product's input channels, float32 [m].

        Args:
            scope: scope that computes the input.
            kernel: the product's kernel.
        """
        weights = np.maximum(np.abs(kernel).max(axis=1), _LEAST_RANGE)
        factors = np.maximum(self.ranges[scope], _LEAST_RANGE) ** _MIGRATION / weights ** (1 - _MIGRATION)
        return factors.astype(np.float32)

    def divide_weights(self, scope: str, names: Sequence[str], factors: np.ndarray) -> list[str]:
        """Return constants with a scope's weights, divided per channel.

        Args:
            names: weight names in the scope.
            factors: divisors per channel.
        """
        return [
            self.graph.constant(f"{scope}/{name}:smooth", self.bert.tensors[f"{scope}/{name}"] / factors)
            for name in names
        ]

    def undo_division(self, smooth: str, scope: str, factors: np.ndarray) -> str:
        """Return float32 values: `smooth` times the `factors` that belong to `scope`."""
        return self.graph.add("Mul", smooth, self.graph.constant(f"{scope}:factors", factors))

    def peaked_product(self, x: str, scope: str) -> str:
        """Return a dense layer with each input row divided by its largest value for the product."""
        graph = self.graph
        sizes = x if self.bert.config.activation.startswith(("gelu", "relu")) else graph.add("Abs", x)
        peaks = graph.add("ReduceMax", sizes, graph.numbers(-1), keepdims=1)
        peaks = graph.add("Max", peaks, graph.number(_LEAST_PEAK))
        product = self.product(graph.add("Div", x, peaks), self.bert.tensors[f"{scope}/kernel"], None, scope)
        return graph.add("Add", graph.add("Mul", product, peaks), self.bert.weight(f"{scope}/bias"))

    def int8_dense(self, x: str, scope: str, kernel: np.ndarray | None = None) -> str:
        """Return a quantized dense layer.

        Args:
            x: activations.
            scope: the layer's scope.
            kernel: kernel from smooth_norm if x is its result, else None.
        """
        kernel = self.bert.tensors[f"{scope}/kernel"] if kernel is None else kernel
        return self.product(x, kernel, self.bert.tensors[f"{scope}/bias"], scope)

    def states(self) -> list[str]:
        add = self.graph.add
        key_bias = self.bert.key_bias()
        last = self.bert.config.num_hidden_layers - 1
        smooth, kernel, x = self.smooth_embeddings(self.bert.projection(0, "kernel"))
        states = [x]
        for number in range(last + 1):
            scope = f"bert/encoder/layer_{number}"
            wide, norm = f"{scope}/intermediate/dense", f"{scope}/output/LayerNorm"
            projected = self.product(smooth, kernel, self.bert.projection(number, "bias"), f"{scope}/attention/self")
            context = self.bert.attend_projected(projected, key_bias)
            total = add("Add", self.int8_dense(context, f"{scope}/attention/output/dense"), x)
            smooth, kernel, x = self.smooth_norm(
                total, f"{scope}/attention/output/LayerNorm", self.bert.tensors[f"{wide}/kernel"]
            )
            activated = activation_nodes(self.graph, self.int8_dense(smooth, wide, kernel), self.bert.config.activation)
            total = add("Add", self.peaked_product(activated, f"{scope}/output/dense"), x)
            # Heads use the last layer in float32, so there is no next kernel for the factors.
            if number == last:
                x = self.bert.norm(total, norm)
            else:
                smooth, kernel, x = self.smooth_norm(total, norm, self.bert.projection(number + 1, "kernel"))
            states.append(x)
        return states


def _int8_words(bert: Bert) -> str:
    """Return the word embeddings [B, S, E], looked up in an int8 table with a scale per row.

    If a model is small, they make up most of its file.
    """
    graph = bert.graph
    # Use 127 levels on any processor: rows are looked up, not multiplied in 16 bits.
    values, scales = quantized_columns(bert.tensors[WORDS].T, 127)
    rows = graph.add("Gather", graph.constant(f"{WORDS}:int8", np.ascontiguousarray(values.T)), INPUTS[0])
    row_scales = graph.add("Gather", graph.constant(f"{WORDS}:scales", scales[:, np.newaxis]), INPUTS[0])  # [B, S, 1]
    return graph.add("Mul", graph.add("Cast", rows, to=FLOAT), row_scales)


# int8 for this processor.
FLAT_INT8 = dataclasses.replace(FLAT, add_layers=lambda bert: Int8Encoder(bert, _levels()).states())
# int8 for an exported file. Do not use _levels(): another processor may compute it.
PADDED_INT8 = dataclasses.replace(
    PADDED, look_up_words=_int8_words, add_layers=lambda bert: Int8Encoder(bert, _PORTABLE_LEVELS).states()
)
