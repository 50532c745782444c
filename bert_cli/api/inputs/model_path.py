"""Search for a model by the path that a program passes."""

import os

from bert_cli.base.errors import InputError
from bert_cli.flags.paths import path_text
from bert_cli.opening.paths import pretrained_model
from bert_cli.weights.path import CheckpointPath, find_checkpoint


def find_model(path: str | os.PathLike | None) -> CheckpointPath:
    """Return the checkpoint for a path that a program passes.

    Args:
        path: an output_dir or a checkpoint in any format; None for the built-in model.

    Raises:
        InputError: if there is no checkpoint.
    """
    if path is not None:
        return find_checkpoint(path_text(path), "path")
    builtin = pretrained_model()
    if builtin is None:
        raise InputError("--init_checkpoint is needed: give a pre-trained model")
    return builtin
