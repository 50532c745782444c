"""bert_cli: Google's 2018 BERT workflow, on today's TensorFlow, as command-line programs.

From Python: `from bert_cli import Classifier` (see bert_cli/classifier.py).
"""

import importlib

__version__ = "0.1.0"
__all__ = ["Classifier", "__version__"]


def __getattr__(name: str):
    # Only who asks for the class pays for what it imports: every command imports this file.
    if name == "Classifier":
        return importlib.import_module(".classifier", __name__).Classifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
