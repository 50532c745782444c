"""Reader for label cells: problem type, label names and labels of user tables. No TensorFlow."""
