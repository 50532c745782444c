"""What a user can do after a training run was interrupted."""

import os
from typing import Any

from bert_cli.runtime.process import PROCESS
from bert_cli.weights.training_folder import latest_checkpoint

_SAME = "the same command"


def same_command(overwrites: bool) -> str:
    """The command that goes on with an interrupted run. overwrites: whether --overwrite_output_dir
    was given.
    """
    # The overwriting has happened: it is not wanted again.
    return f"{_SAME} without --overwrite_output_dir" if overwrites else _SAME


def resume_advice(settings: Any) -> str:
    """What to say after an interruption of a command that trains; it names a checkpoint only if
    this run has one.
    """
    folder = PROCESS.training_folder
    # Where training has not begun, a checkpoint in the folder may be another run's.
    newest = latest_checkpoint(folder) if folder else None
    if newest is None:
        return f"give {_SAME} again"
    return f"{same_command(settings.phases.overwrite_output_dir)} goes on from {os.path.basename(newest)}"
