"""Conversion of records to integer arrays, using a vocabulary; imports no TensorFlow."""
