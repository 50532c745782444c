"""Table files into rows of cells: one probe per file recognizes its format, for every command. No TensorFlow."""
