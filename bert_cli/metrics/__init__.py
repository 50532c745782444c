"""Scores of each task, and their order: which of two values is better."""
