"""Inference: trained networks compute batches on an engine, TensorFlow or another one.

An engine returns logits or layers. The following steps use NumPy for all engines.
"""
