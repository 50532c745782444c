"""Flags for all commands, declared as fields in groups; imports no TensorFlow."""
