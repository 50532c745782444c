"""The built-in models, which commands use if no flag names a model.

PRETRAINED holds the built-in pre-trained BERT, if its weights are installed. FOLDER has vocabulary
and config of a smaller network with random weights. It is used for --init_checkpoint=random, and if
the built-in weights are not installed.
"""

import os
import pathlib

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import BUILTIN_MODEL, CONFIG, RANDOM, SAFETENSORS, VOCABULARY
from bert_cli.weights.path import HUGGING_FACE, CheckpointPath, find_checkpoint

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


def named_or_builtin(
    init_checkpoint: str, has_other_files: bool = False, default: str = "", strict: bool = False
) -> CheckpointPath:
    """Return the pre-trained model that the flags name, or the built-in one.

    Args:
        init_checkpoint: flag value.
        has_other_files: whether other flags name a vocabulary or a config, which do not belong to
            the built-in model.
        default: checkpoint to use if there is no built-in model, or "".
        strict: see `find_checkpoint`.

    Raises:
        InputError: if there is no checkpoint, or if random weights are requested.
    """
    if init_checkpoint == RANDOM:
        raise InputError(f"--init_checkpoint={RANDOM} is a start for training; here a pre-trained model is needed")
    builtin = None if init_checkpoint or has_other_files else pretrained_model()
    if builtin:
        return builtin
    if not (init_checkpoint or default):
        raise InputError("--init_checkpoint is needed: give a pre-trained model")
    return find_checkpoint(init_checkpoint or default, strict=strict)
