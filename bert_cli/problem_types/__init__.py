"""Problem types as one object each: single-label, multi-label, regression and multiple choice."""
