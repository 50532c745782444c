"""Kernels of oneDNN that TensorFlow has for bfloat16 on a CPU, put into the graph that is being
traced.

TensorFlow's remapper puts them there itself, but not everywhere where they are the faster ones.
Their operators are not in tf.raw_ops, so they are imported as a GraphDef; checked with TensorFlow
2.21.0, where setup.py holds it.
"""

import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2

from bert_cli.runtime.processor import BFLOAT16_UNITS, processor_flags

DTYPE = tf.bfloat16
# The label of kernels that replace TensorFlow's own ones under another name.
_RENAMED = "MklNameChangeOp"


def is_available(dtype: tf.DType) -> bool:
    """Whether the devices of this process and its TensorFlow have the kernels, for products in
    `dtype`.
    """
    return (
        dtype == DTYPE
        and bool(BFLOAT16_UNITS & processor_flags())
        and os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1") != "0"
        and all(device.device_type == "CPU" for device in tf.config.list_logical_devices())
    )


def batch_product(
    x: tf.Tensor,
    y: tf.Tensor,
    factor: tf.Tensor,
    added: tf.Tensor,
    shape: Sequence[int | None],
    transpose_y: bool = False,
) -> tf.Tensor:
    """x y · factor + added, all bfloat16: matrices in batches of rank 4; `added` is broadcast.
    shape: of the result.
    """
    attributes = {"adj_y": transpose_y, "num_args": 2, "fused_ops": ["Mul", "Add"]}
    return _kernel("_MklFusedBatchMatMulV2", [x, y, factor, added], shape, attributes)


def constant_product(
    x: tf.Tensor, weights: tf.Tensor, bias: tf.Tensor, activation: str = "", residual: tf.Tensor | None = None
) -> tf.Tensor:
    """activation(x W + b) or x W + b + residual, [R, inputs] -> [R, units], all bfloat16, of
    weights that never change.

    activation: GeluExact, GeluApproximate, Relu or none; the kernel refuses an activation and a
    residual together. The first call reorders the weights for the processor's units for matrices
    and keeps the result, whatever `weights` holds later.
    """
    added = [] if residual is None else [residual]
    steps = ["BiasAdd", *([activation] if activation else []), *(["Add"] if added else [])]
    attributes = {"num_args": 1 + len(added), "fused_ops": steps, "is_filter_const": True}
    shape = [x.shape[0], weights.shape[1]]
    return _kernel("_MklNativeFusedMatMul", [x, weights, bias, *added], shape, attributes, _RENAMED)


def layer_norm(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: float) -> tf.Tensor:
    """Layer normalisation over the last axis, of bfloat16 [T, H], gamma and beta too; its
    statistics are float32.
    """
    return _kernel("_MklLayerNorm", [x, gamma, beta], x.shape, {"epsilon": epsilon})


def _kernel(
    operator: str, inputs: Sequence[tf.Tensor], shape: Sequence[int | None], attributes: dict[str, Any], label: str = ""
) -> tf.Tensor:
    """Put an operator with inputs and an output of DTYPE into the graph that is being traced."""
    graph = graph_pb2.GraphDef()
    node = node_def_pb2.NodeDef(name="kernel", op=operator)
    for number in range(len(inputs)):
        placeholder = graph.node.add(name=f"input_{number}", op="Placeholder")
        placeholder.attr["dtype"].type = DTYPE.as_datatype_enum
        node.input.append(placeholder.name)
    node.attr["T"].type = DTYPE.as_datatype_enum
    for name, value in attributes.items():
        node.attr[name].CopyFrom(_attribute(value))
    # The label chooses among several kernels of one operator and device.
    if label:
        node.attr["_kernel"].s = label.encode()
    graph.node.append(node)
    given = {f"input_{number}": tf.identity(value) for number, value in enumerate(inputs)}
    made = tf.graph_util.import_graph_def(graph, given, ["kernel:0"], name="onednn")[0]
    made.set_shape(shape)
    return made


def _attribute(value: bool | int | float | Sequence[str]) -> attr_value_pb2.AttrValue:
    if isinstance(value, bool):  # before int, which a bool is too
        return attr_value_pb2.AttrValue(b=value)
    if isinstance(value, int):
        return attr_value_pb2.AttrValue(i=value)
    if isinstance(value, float):
        return attr_value_pb2.AttrValue(f=value)
    return attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(s=[text.encode() for text in value]))
