"""The encoder: config, layers, and the layout that skips padding."""
