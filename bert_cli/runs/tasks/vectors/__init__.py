"""bert-train-vectors: pairs of texts, losses, metrics, and modules of vectors."""
