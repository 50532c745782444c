"""Readers and writers for weight files, without TensorFlow and without running code in the files."""
