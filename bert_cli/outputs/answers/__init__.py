"""Conversion of arrays to answers: tags and spans of contexts; it writes no files."""
