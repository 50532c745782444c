"""Reader for questions about contexts, in SQuAD files or JSON lines. No TensorFlow."""
