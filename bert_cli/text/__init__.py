"""Tokenization: text into word pieces and back.

Nothing here imports TensorFlow.
"""
