"""The linear layer that a head ends with."""

import tensorflow as tf

from bert_cli.model.layers import Scoped


class OutputLayer(Scoped):
    """x Wᵀ + b: [R, inputs] -> [R, units], float32; variables output_weights [units, inputs], output_bias [units]."""

    def __init__(self, scope: str, inputs: int, units: int, stddev: float, seed: int):
        super().__init__(scope)
        self.output_weights = self.add_normal("output_weights", (units, inputs), stddev, seed)
        self.output_bias = self.add_scoped("output_bias", (units,), "zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.bias_add(tf.matmul(x, self.output_weights.value, transpose_b=True), self.output_bias.value)
