"""Readers and writers for checkpoints from Google, Hugging Face, Keras and tensorflow-hub."""
