"""Functions and a base class for the `load` of the API's models."""

import os
from collections.abc import Callable

from bert_cli.features.cuts import Cuts, warn_cuts
from bert_cli.flags.paths import path_text
from bert_cli.runs.loading.checkpoints import to_use
from bert_cli.runs.loading.trained import check_command
from bert_cli.settings.groups import ModelFiles
from bert_cli.weights.path import CheckpointPath, find_checkpoint


def find_model(path: str | os.PathLike | None, command: str | None = None) -> CheckpointPath:
    """Return the checkpoint for a path that a program passes.

    Args:
        path: an output_dir or a checkpoint in any format; None for the built-in model.
        command: name of the command that must have trained the model; None for any.

    Raises:
        InputError: if there is no checkpoint, or it is from another command.
    """
    if path is None:
        return to_use(ModelFiles())
    checkpoint = find_checkpoint(path_text(path), "path")
    if command:
        check_command(checkpoint, command)
    return checkpoint


class CuttingModel:
    """Base class for models that cut long texts, and report this once per call.

    Attributes:
        on_cut: function of the counts and the maximum length in tokens. By default it logs a
            warning.
    """

    on_cut: Callable[[Cuts, int], None] = staticmethod(warn_cuts)
