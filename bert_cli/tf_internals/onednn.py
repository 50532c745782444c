"""TensorFlow's oneDNN kernels for bfloat16 on a CPU, added to the graph that is being traced.

TensorFlow's remapper adds some itself, but does not use them everywhere that they are faster. The operators
are not in tf.raw_ops, so this module imports them as a GraphDef. Checked with TensorFlow 2.21.0, the
version that setup.py pins.
"""

import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2

from bert_cli.runtime.machine import has_fast_bfloat16

DTYPE = tf.bfloat16
# The label of kernels that replace TensorFlow's standard kernels under another name.
_RENAMED = "MklNameChangeOp"


def is_available(dtype: tf.DType) -> bool:
    """Return whether this process can use the kernels for products in `dtype`.

    That needs a CPU with bfloat16 units, no other device, and a TensorFlow with oneDNN turned on.
    """
    return (
        dtype == DTYPE
        and has_fast_bfloat16()
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
    """Return x @ y · factor + added, all in bfloat16.

    Args:
        x, y: batches of matrices, rank 4.
        factor: scalar.
        added: rank 4; broadcast to the result.
        shape: static result shape.
        transpose_y: use the transposed matrices of y.
    """
    attributes = {"adj_y": transpose_y, "num_args": 2, "fused_ops": ["Mul", "Add"]}
    return _kernel("_MklFusedBatchMatMulV2", [x, y, factor, added], shape, attributes)


def constant_product(
    x: tf.Tensor, weights: tf.Tensor, bias: tf.Tensor, activation: str = "", residual: tf.Tensor | None = None
) -> tf.Tensor:
    """Return activation(x W + b) or x W + b + residual, all in bfloat16, for constant weights.

    The first call reorders the weights for the processor's matrix units and keeps that copy. Later
    values of `weights` have no effect.

    Args:
        x: [R, inputs].
        weights: W, [inputs, units].
        bias: b, [units].
        activation: GeluExact, GeluApproximate, Relu or "". The kernel rejects an activation
            together with a residual.
        residual: [R, units], or None.
    """
    residuals = [] if residual is None else [residual]
    steps = ["BiasAdd", *([activation] if activation else []), *(["Add"] if residuals else [])]
    attributes = {"num_args": 1 + len(residuals), "fused_ops": steps, "is_filter_const": True}
    shape = [x.shape[0], weights.shape[1]]
    return _kernel("_MklNativeFusedMatMul", [x, weights, bias, *residuals], shape, attributes, _RENAMED)


def fused_layer_norm(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: float) -> tf.Tensor:
    """Return the layer normalization of x over its last axis, with float32 statistics.

    Args:
        x: bfloat16 [T, H].
        gamma, beta: bfloat16 [H].
        epsilon: added to the variance.
    """
    return _kernel("_MklLayerNorm", [x, gamma, beta], x.shape, {"epsilon": epsilon})


def _kernel(
    operator: str, inputs: Sequence[tf.Tensor], shape: Sequence[int | None], attributes: dict[str, Any], label: str = ""
) -> tf.Tensor:
    """Add an operator with inputs and an output of DTYPE to the graph that is being traced.

    Args:
        operator: name of the TensorFlow operator.
        shape: static output shape.
        attributes: its attributes, without T.
        label: selects one kernel if several exist for the operator and device.
    """
    graph = graph_pb2.GraphDef()
    node = node_def_pb2.NodeDef(name="kernel", op=operator)
    for number in range(len(inputs)):
        placeholder = graph.node.add(name=f"input_{number}", op="Placeholder")
        placeholder.attr["dtype"].type = DTYPE.as_datatype_enum
        node.input.append(placeholder.name)
    node.attr["T"].type = DTYPE.as_datatype_enum
    for name, value in attributes.items():
        node.attr[name].CopyFrom(_attribute(value))
    if label:
        node.attr["_kernel"].s = label.encode()
    graph.node.append(node)
    input_map = {f"input_{number}": tf.identity(value) for number, value in enumerate(inputs)}
    output = tf.graph_util.import_graph_def(graph, input_map, ["kernel:0"], name="onednn")[0]
    output.set_shape(shape)
    return output


def _attribute(value: bool | int | float | Sequence[str]) -> attr_value_pb2.AttrValue:
    if isinstance(value, bool):  # before int: a bool is an int
        return attr_value_pb2.AttrValue(b=value)
    if isinstance(value, int):
        return attr_value_pb2.AttrValue(i=value)
    if isinstance(value, float):
        return attr_value_pb2.AttrValue(f=value)
    return attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(s=[text.encode() for text in value]))
