"""HTML report for a run: curves, tables and texts in one file without scripts.

It imports no TensorFlow.
"""
