"""Records and a vocabulary into integer arrays. No TensorFlow."""
