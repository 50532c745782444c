"""Google's 2018 BERT workflow on current TensorFlow, as commands and as a Python API.

The classes are Callback, Classifier, Ensemble, FeatureExtractor, MaskFiller, QuestionAnswerer, Tagger and Tokenizer
(see bert_cli/api), and the Keras layers in bert_cli.keras. `compare` compares two trainings.
"""

import importlib

from bert_cli.runtime.early_interrupt import (
    answer_early_interrupts,
    collect_less_garbage,
    handle_early_server_signals,
    started_command,
)
from bert_cli.runtime.telemetry import turn_off_telemetry

__version__ = "0.1.0"

answer_early_interrupts()
handle_early_server_signals()
if started_command():
    collect_less_garbage()
# Do this before any other import: TensorFlow's threads may read the environment
# later, while it changes.
turn_off_telemetry()

# Name -> its module. Type checkers read __init__.pyi instead.
_API = {
    "Callback": "bert_cli.api.watching",
    "Classifier": "bert_cli.api.classifier",
    "Ensemble": "bert_cli.api.classifier",
    "FeatureExtractor": "bert_cli.api.feature_extractor",
    "MaskFiller": "bert_cli.api.mask_filler",
    "QuestionAnswerer": "bert_cli.api.question_answerer",
    "Tagger": "bert_cli.api.tagger",
    "Tokenizer": "bert_cli.api.tokenizer",
    "compare": "bert_cli.api.comparison",
}
__all__ = [
    "Callback", "Classifier", "Ensemble", "FeatureExtractor", "MaskFiller", "QuestionAnswerer", "Tagger", "Tokenizer",
    "__version__", "compare",
]  # fmt: skip


def __getattr__(name: str) -> object:
    # Import the API only if it is used: every command imports this file.
    if name in _API:
        return getattr(importlib.import_module(_API[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that completion offers: the API, and no helper of this file."""
    return sorted(__all__)
