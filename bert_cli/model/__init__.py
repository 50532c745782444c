"""The encoder: its config, its layers, and how padding is left out."""
