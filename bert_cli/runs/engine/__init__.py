"""Computation: sessions for TensorFlow and for inference engines, and the training run."""
