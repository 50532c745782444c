"""Data before training: four-column files, vocabularies, tokenized corpora, pre-training instances."""
