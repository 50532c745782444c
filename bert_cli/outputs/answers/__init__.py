"""Conversion of arrays to answers: tags, spans of contexts and masked words; it writes no files."""
