"""Readers of data files: rows become records, and errors name file and line. No TensorFlow."""
