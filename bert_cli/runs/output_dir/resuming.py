"""Advice for users whose training run was interrupted."""

import os
from typing import Any

from bert_cli.runtime.process import PROCESS
from bert_cli.weights.training_folder import latest_checkpoint

_SAME = "the same command"


def same_command(overwrites: bool) -> str:
    """Describe the command that resumes an interrupted run.

    Args:
        overwrites: whether the command has --overwrite_output_dir.
    """
    # With this flag, the command would start over once more.
    return f"{_SAME} without --overwrite_output_dir" if overwrites else _SAME


def resume_advice(settings: Any) -> str:
    """Return advice after an interruption, with the newest checkpoint if this run has one."""
    folder = PROCESS.training_folder
    # Before training starts, a checkpoint in the directory may belong to another run.
    newest = latest_checkpoint(folder) if folder else None
    if newest is None:
        return f"give {_SAME} again"
    return f"{same_command(settings.phases.overwrite_output_dir)} goes on from {os.path.basename(newest)}"
