"""SavedModels of models with the tokenizer inside: one module per head, from texts to results."""
