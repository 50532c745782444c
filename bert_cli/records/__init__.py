"""TFRecord files. No TensorFlow."""
