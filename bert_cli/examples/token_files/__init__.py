"""Readers for files with words and tags: columns, tables and JSON. No TensorFlow."""
