"""Several runs by one command: seeds, grid search, cross-validation."""
