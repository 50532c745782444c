"""Extraction of vectors from texts: input, computation and output."""
