"""Built-in models: a pre-trained one, and a smaller config and vocabulary for random weights."""
