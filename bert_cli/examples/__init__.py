"""Readers of data files: rows become records, and errors use file and line. No TensorFlow."""
