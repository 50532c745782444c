"""bert_cli: Google's 2018 BERT workflow, on today's TensorFlow, as command-line programs.

From Python: `from bert_cli import Classifier, FeatureExtractor, QuestionAnswerer, Tagger` (see bert_cli/api).
"""

import importlib
from typing import TYPE_CHECKING

from bert_cli.base.version import __version__

if TYPE_CHECKING:
    from bert_cli.api.classifier import Classifier
    from bert_cli.api.feature_extractor import FeatureExtractor
    from bert_cli.api.question_answerer import QuestionAnswerer
    from bert_cli.api.tagger import Tagger

_CLASSES = {
    "Classifier": "classifier",
    "FeatureExtractor": "feature_extractor",
    "QuestionAnswerer": "question_answerer",
    "Tagger": "tagger",
}
__all__ = ["Classifier", "FeatureExtractor", "QuestionAnswerer", "Tagger", "__version__"]


def __getattr__(name: str) -> type:
    # Only who asks for a class pays for what it imports: every command imports this file.
    if name in _CLASSES:
        return getattr(importlib.import_module(f".api.{_CLASSES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
