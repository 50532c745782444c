"""What all rooms may use: errors, files, lines, JSON, the names and marks that several places use. No TensorFlow."""
