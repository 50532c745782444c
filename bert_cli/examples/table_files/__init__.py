"""Reader for table files: one probe recognizes the format for all commands. No TensorFlow."""
