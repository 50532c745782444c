"""The built-in models, which commands use if no flag names a model.

PRETRAINED holds the built-in pre-trained BERT, if its weights are installed. FOLDER has vocabulary
and config of a smaller network with random weights. It is used for --init_checkpoint=random, and if
the built-in weights are not installed.
"""

import os
import pathlib

from bert_cli.base import files
from bert_cli.base.names import BUILTIN_MODEL, CONFIG, SAFETENSORS, VOCABULARY
from bert_cli.weights.path import HUGGING_FACE, CheckpointPath

FOLDER = str(pathlib.Path(os.path.abspath(__file__)).parents[2] / "builtin")  # bert_cli/builtin
PRETRAINED = os.path.join(FOLDER, "pretrained")


def pretrained_model() -> CheckpointPath | None:
    """Return the built-in pre-trained model; None if its weights are not installed."""
    # The weights are large, so some copies of the package do not have them.
    if not files.exists(os.path.join(PRETRAINED, SAFETENSORS)):
        return None
    return CheckpointPath(HUGGING_FACE, PRETRAINED, handle=BUILTIN_MODEL)


def random_model() -> tuple[str, str]:
    """Return vocab.txt and bert_config.json for the small built-in network with random weights."""
    return os.path.join(FOLDER, VOCABULARY), os.path.join(FOLDER, CONFIG)
