"""Problem types as values with parts: single-label, multi-label, regression, multiple choice."""
