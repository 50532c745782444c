"""Inference engines, which compute trained networks on the CPU without TensorFlow.

Each engine is a module, and `table` lists them.
"""
