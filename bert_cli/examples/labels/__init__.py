"""The label cells of a user's table: rows without a label, problem type, label names. No TensorFlow."""
