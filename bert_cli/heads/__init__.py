"""The heads on the encoder: each file has a head type's variables, columns, loss and predictions."""
