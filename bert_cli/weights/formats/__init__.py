"""Layouts of weight files, read under the names that they store. No TensorFlow, and no code in them is run."""
