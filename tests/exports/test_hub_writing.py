"""Writing SavedModels."""

import numpy as np
import tensorflow as tf

from bert_cli.exports.hub_writing import write_saved_model


def test_saving_logs_no_warning_of_autograph(tmp_path, caplog):
    """TensorFlow traces gradients and signatures with AutoGraph, which fails on Python 3.13 if warnings are errors."""

    @tf.custom_gradient
    def double(x):
        return 2 * x, lambda upstream: 3 * upstream

    module = tf.train.Checkpoint()
    module.double = tf.function(double, [tf.TensorSpec([None])], autograph=False)
    write_saved_model(str(tmp_path), module, {"serving_default": module.double.get_concrete_function()})
    assert "AutoGraph" not in caplog.text
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.saved_model.load(str(tmp_path)).double(x)
    np.testing.assert_array_equal(y, [2, 4])
    np.testing.assert_array_equal(tape.gradient(y, x), [3, 3])
