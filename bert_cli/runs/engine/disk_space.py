"""Check before training that the disk has enough free space for the checkpoints."""

import math
import os
import shutil
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.log import LOG
from bert_cli.base.names import CHECKPOINT
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.settings.training import NEWEST, Saving


class CheckpointPlan(NamedTuple):
    """The checkpoints that a training writes.

    Attributes:
        whole_bytes: checkpoint size with the optimizer's moments.
        slim_bytes: checkpoint size without them.
        saves: number of checkpoints that are still to be written.
        saving: flag values.
        keeps_best: whether best/ has a checkpoint, too.
    """

    whole_bytes: int
    slim_bytes: int
    saves: int
    saving: Saving
    keeps_best: bool

    @property
    def most_bytes(self) -> int:
        """Return the most bytes that the checkpoints occupy at a time, which is during a save."""
        kept = self.saving.keep_checkpoint_max or self.saves
        # An older checkpoint is only removed, or loses its moments, after the new one is complete.
        older = min(kept, self.saves - 1)
        if self.saving.keep_moments == NEWEST:
            sizes = self.whole_bytes * min(2, self.saves) + self.slim_bytes * max(0, older - 1)
        else:
            sizes = self.whole_bytes * (older + 1)
        # best/ also holds an old and a new checkpoint during a save.
        return sizes + (2 * self.slim_bytes if self.keeps_best else 0)


def plan_checkpoints(
    shapes: Mapping[str, tuple[int, ...]],
    trained: Iterable[str],
    start: int,
    steps: int,
    saving: Saving,
    keeps_best: bool,
) -> CheckpointPlan:
    """Return sizes and number of the checkpoints that a training writes.

    Args:
        shapes: variable name -> shape.
        trained: names of the variables with moments.
        start: number of finished steps.
        steps: number of steps in the whole training.
        saving, keeps_best: see CheckpointPlan.
    """
    sizes = {name: 4 * math.prod(shape) for name, shape in shapes.items()}
    weights, moments = sum(sizes.values()), 2 * sum(sizes[name] for name in trained)
    every = saving.save_checkpoints_steps
    # Count the last step, which is always saved.
    saves = -(-steps // every) - start // every if start < steps else 0
    return CheckpointPlan(weights + moments, weights, saves, saving, keeps_best)


def check_space(directory: RunDirectory, plan: CheckpointPlan) -> None:
    """Log a warning if the disk is too small for the planned checkpoints.

    Args:
        directory: output directory, which may not exist yet.
        plan: the checkpoints that will be written.

    Raises:
        InputError: if not even the next checkpoint fits.
    """
    # Object stores have no limit, or none that can be queried.
    if files.is_remote(directory.path) or not plan.saves:
        return
    existing = directory.path
    while not os.path.isdir(existing):
        existing = os.path.dirname(os.path.abspath(existing))
    free = shutil.disk_usage(existing).free
    if plan.whole_bytes > free:
        raise InputError(
            f"{directory}: a checkpoint of this training needs {_format_size(plan.whole_bytes)}, "
            f"{_format_size(free)} are free there; make space, or use another --output_dir"
        )
    # A resumed run has already written some checkpoints.
    needed = plan.most_bytes - _written_bytes(directory)
    if needed > free:
        max_checkpoints = plan.saving.keep_checkpoint_max
        LOG.warning(
            "warning: %s: the checkpoints of this training need up to %s, %s are free there; make space, or "
            "lower --keep_checkpoint_max (%s)",
            directory, _format_size(needed), _format_size(free), max_checkpoints or "0: all are kept",
        )  # fmt: skip


def _written_bytes(directory: RunDirectory) -> int:
    parents = (directory.path, directory.best.path)
    paths = (os.path.join(parent, name) for parent in parents for name in files.list_directory(parent))
    return sum(files.file_size(path) for path in paths if os.path.basename(path).startswith(CHECKPOINT))


def _format_size(size: int) -> str:
    return byte_size(size, MB=2, GB=2)
