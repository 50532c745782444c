"""Reader and writer of TFRecord files that imports no TensorFlow."""
