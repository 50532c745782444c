"""Data preparation: four-column files, vocabularies, tokenized corpora, pre-training instances."""
