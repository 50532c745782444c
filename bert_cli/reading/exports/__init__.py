"""Readers of labeled texts in files of annotation tools, and of members in nested JSON."""
