"""The disk space that the checkpoints of a training take, compared with the free space before its first step."""

import os
import shutil
from typing import NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.log import LOG
from bert_cli.base.names import BEST, CHECKPOINT
from bert_cli.settings.training import NEWEST, Saving


class CheckpointPlan(NamedTuple):
    """The checkpoints that a training writes.

    Attributes:
        whole_bytes: size of a checkpoint with the optimizer's moments.
        slim_bytes: size of a checkpoint with the weights alone.
        saves: number of checkpoints that are still to be written.
        saving: flags.
        keeps_best: whether best/ has a checkpoint, too.
    """

    whole_bytes: int
    slim_bytes: int
    saves: int
    saving: Saving
    keeps_best: bool

    @property
    def most_bytes(self) -> int:
        """The most bytes that the checkpoints take at a time, during a save."""
        kept = self.saving.keep_checkpoint_max or self.saves
        # An older checkpoint is removed, or loses its moments, when the new one is whole.
        older = min(kept, self.saves - 1)
        if self.saving.keep_moments == NEWEST:
            sizes = self.whole_bytes * min(2, self.saves) + self.slim_bytes * max(0, older - 1)
        else:
            sizes = self.whole_bytes * (older + 1)
        # So it is in best/.
        return sizes + (2 * self.slim_bytes if self.keeps_best else 0)


def check_space(folder: str, plan: CheckpointPlan) -> None:
    """Compare the space for a training's checkpoints with the free space, and log a warning if it is too small.

    Raises InputError if not even the next checkpoint fits.
    """
    # The space of object stores has no limit, or none that can be asked for.
    if files.is_remote(folder) or not plan.saves:
        return
    existing = folder
    while not os.path.isdir(existing):
        existing = os.path.dirname(os.path.abspath(existing))
    free = shutil.disk_usage(existing).free
    if plan.whole_bytes > free:
        raise InputError(
            f"{folder}: a checkpoint of this training needs {_amount(plan.whole_bytes)}, {_amount(free)} are free "
            "there; make space, or use another --output_dir"
        )
    # A run that is resumed has written a part of the checkpoints already.
    needed = plan.most_bytes - _written_bytes(folder)
    if needed > free:
        kept = plan.saving.keep_checkpoint_max
        LOG.warning(
            "warning: %s: the checkpoints of this training need up to %s, %s are free there; make space, or "
            "lower --keep_checkpoint_max (%s)",
            folder, _amount(needed), _amount(free), kept or "0: all are kept",
        )  # fmt: skip


def _written_bytes(folder: str) -> int:
    places = (folder, os.path.join(folder, BEST))
    paths = (os.path.join(place, name) for place in places for name in files.list_directory(place))
    return sum(files.file_size(path) for path in paths if os.path.basename(path).startswith(CHECKPOINT))


def _amount(size: int) -> str:
    return byte_size(size, MB=2, GB=2)
