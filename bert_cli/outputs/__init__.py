"""Conversion of arrays and records to answers, metrics and files; imports no TensorFlow."""
