"""Google's 2018 BERT workflow on current TensorFlow, as commands and as a Python API.

The classes are Callback, Classifier, FeatureExtractor, MaskFiller, QuestionAnswerer, Tagger and Tokenizer
(see bert_cli/api), and the Keras layers in bert_cli.keras.
"""

import importlib
from typing import TYPE_CHECKING

from bert_cli.base.version import __version__
from bert_cli.runtime.early_interrupt import answer_early_interrupts
from bert_cli.runtime.telemetry import turn_off_telemetry

answer_early_interrupts()
# Do this before any other import: TensorFlow's threads may read the environment
# later, while it changes.
turn_off_telemetry()

if TYPE_CHECKING:
    from bert_cli.api.classifier import Classifier
    from bert_cli.api.feature_extractor import FeatureExtractor
    from bert_cli.api.mask_filler import MaskFiller
    from bert_cli.api.question_answerer import QuestionAnswerer
    from bert_cli.api.tagger import Tagger
    from bert_cli.api.tokenizer import Tokenizer
    from bert_cli.api.watching import Callback

_CLASSES = {
    "Callback": "watching",
    "Classifier": "classifier",
    "FeatureExtractor": "feature_extractor",
    "MaskFiller": "mask_filler",
    "QuestionAnswerer": "question_answerer",
    "Tagger": "tagger",
    "Tokenizer": "tokenizer",
}
__all__ = [
    "Callback", "Classifier", "FeatureExtractor", "MaskFiller", "QuestionAnswerer", "Tagger", "Tokenizer",
    "__version__",
]  # fmt: skip


def __getattr__(name: str) -> type:
    # Import the API only if it is used: every command imports this file.
    if name in _CLASSES:
        return getattr(importlib.import_module(f".api.{_CLASSES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
