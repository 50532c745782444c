"""Questions about contexts, of SQuAD files or one per line, into records. No TensorFlow."""
