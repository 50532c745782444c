"""Arrays and records into answers, metrics and files. No TensorFlow."""
