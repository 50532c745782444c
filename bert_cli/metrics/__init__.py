"""Scores of each task, and the order that decides which of two values is better."""
