"""Files into records; every error says file:line. No TensorFlow."""
