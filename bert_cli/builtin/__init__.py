"""Vocabulary and config of the built-in model."""
