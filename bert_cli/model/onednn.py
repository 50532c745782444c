"""Kernels of oneDNN that TensorFlow has for bfloat16 on a CPU, put into the graph that is being traced.

TensorFlow puts them there itself, but not everywhere where they are the faster ones. They are not part of its interface:
setup.py holds it at the version that this was written for.
"""

import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2

from bert_cli.runtime.processor import BFLOAT16_UNITS, processor_flags

DTYPE = tf.bfloat16
# The label of kernels that stand in for TensorFlow's own ones under another name.
RENAMED = "MklNameChangeOp"
BATCH_PRODUCT = "_MklFusedBatchMatMulV2"  # of two batches of matrices, times a number, plus a third one


def is_available(dtype: tf.DType) -> bool:
    """Whether the devices of this process and its TensorFlow have the kernels, for products in `dtype`."""
    return (
        dtype == DTYPE
        and bool(BFLOAT16_UNITS & processor_flags())
        and os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1") != "0"
        and all(device.device_type == "CPU" for device in tf.config.list_logical_devices())
    )


def _attribute(value: bool | int | float | Sequence[str]) -> attr_value_pb2.AttrValue:
    if isinstance(value, bool):
        return attr_value_pb2.AttrValue(b=value)
    if isinstance(value, int):
        return attr_value_pb2.AttrValue(i=value)
    if isinstance(value, float):
        return attr_value_pb2.AttrValue(f=value)
    texts = [text.encode() for text in value]
    return attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(s=texts))


def kernel(
    operation: str, inputs: Sequence[tf.Tensor], shape: Sequence[int | None], label: str = "", **attributes: Any
) -> tf.Tensor:
    """Put a kernel, all of whose inputs and whose output are of DTYPE, into the graph that is being traced."""
    graph = graph_pb2.GraphDef()
    node = node_def_pb2.NodeDef(name="kernel", op=operation)
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
    given = {f"input_{number}": tf.identity(value) for number, value in enumerate(inputs)}
    made = tf.graph_util.import_graph_def(graph, given, ["kernel:0"], name="onednn")[0]
    made.set_shape(shape)
    return made


@tf.custom_gradient
def biased_product(x: tf.Tensor, factor: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """x W + b, [R, inputs] -> [R, units], all bfloat16.

    Where W may change, the kernel that TensorFlow takes for a product and a bias is 1.1 to 1.6 times as slow as that of
    products of batches, which can add as well.
    """

    def gradient(dy: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        dx, dw = tf.matmul(dy, factor, transpose_b=True), tf.matmul(x, dy, transpose_a=True)
        return dx, dw, tf.reduce_sum(dy, axis=0)

    inputs = [
        x[tf.newaxis, tf.newaxis],
        factor[tf.newaxis, tf.newaxis],
        tf.ones([], DTYPE),
        bias[tf.newaxis, tf.newaxis, tf.newaxis],
    ]
    made = kernel(BATCH_PRODUCT, inputs, [1, 1, None, factor.shape[1]], num_args=2, fused_ops=["Mul", "Add"])
    return tf.reshape(made, [-1, factor.shape[1]]), gradient
