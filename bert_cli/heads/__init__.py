"""The heads over the encoder: one file per head type, with its variables, columns, loss and
predictions.
"""
