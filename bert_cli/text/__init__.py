"""Text into pieces and back. No TensorFlow."""
