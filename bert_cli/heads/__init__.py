"""What stands on the encoder: one file per kind, with its variables, columns, loss and predictions."""
