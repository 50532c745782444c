"""Vectors of texts: what is read and written, and what computes them."""
