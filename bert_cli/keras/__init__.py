"""Layers of Keras 3: the encoder, and the preprocessor of its texts."""

from bert_cli.keras.encoder import Encoder
from bert_cli.keras.preprocessor import Preprocessor

__all__ = ["Encoder", "Preprocessor"]
