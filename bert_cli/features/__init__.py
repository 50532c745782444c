"""Records and a vocabulary into integer arrays; spec has the table of all columns. No TensorFlow."""
