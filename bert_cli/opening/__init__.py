"""Opening of models: a command's checkpoint, vocabulary, config and labels, and their checks."""
