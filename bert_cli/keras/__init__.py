"""Keras 3 layers: the encoder and the preprocessor for its texts."""

from bert_cli.runtime.tensorflow_setup import setup_tensorflow

setup_tensorflow()  # before the layers import Keras, which may be set up for another backend

from bert_cli.keras.encoder import Encoder  # noqa: E402
from bert_cli.keras.preprocessor import Preprocessor  # noqa: E402

__all__ = ["Encoder", "Preprocessor"]
