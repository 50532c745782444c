"""Readers for annotation tools: texts with spans become tagged sentences. No TensorFlow."""
