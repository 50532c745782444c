"""Modules of sentence-transformers after an encoder: pooling, dense layers, normalization.

It uses NumPy and imports no TensorFlow.
"""
