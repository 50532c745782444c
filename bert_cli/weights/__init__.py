"""Checkpoints in and out: Google's, Hugging Face's, Keras', modules for tensorflow-hub."""
