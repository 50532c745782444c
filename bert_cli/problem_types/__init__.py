"""Problem types as values with four parts: single-label, multi-label, regression, multiple choice."""
