"""Reader of tables: one probe recognizes the format for all commands. No TensorFlow."""
