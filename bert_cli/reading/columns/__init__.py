"""Columns of a table with their roles, and accounts of input files. It imports no TensorFlow."""
