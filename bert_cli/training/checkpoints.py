"""Training checkpoints in a folder: model.ckpt-N in Google's naming, the newest kept, written whole
or not at all.
"""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

from bert_cli.base import files
from bert_cli.base.errors import InputError, why_not_written
from bert_cli.base.names import CHECKPOINT, UNFINISHED
from bert_cli.base.writing import make_names_durable
from bert_cli.weights.checkpoint import data_files, second_name, write_tf1
from bert_cli.weights.formats.checkpoint_index import check_data
from bert_cli.weights.training_folder import numbered_checkpoints, write_state


def save_checkpoint(folder: str, step: int, tensors: dict[str, np.ndarray], keep: int) -> str:
    """Write model.ckpt-`step` and the `checkpoint` file, then remove all but the `keep` newest;
    returns the prefix.

    A reader of the folder, or a run that is stopped at any moment, sees the old state or the new
    one.
    """
    prefix = os.path.join(folder, f"{CHECKPOINT}{step}")
    if files.is_remote(folder):
        with files.reported(prefix, "written"):
            write_tf1(prefix, tensors)
    else:
        try:
            _write_local(folder, prefix, tensors)
        except (OSError, tf.errors.OpError) as error:
            reason = why_not_written(error, folder, sum(np.asarray(value).nbytes for value in tensors.values()))
            raise InputError(f"{prefix}: cannot be written: {reason}; the older checkpoints are whole") from None
    # One with a higher number is damaged, or of a training that went on from an older one: it takes
    # no place.
    numbers = [number for number in numbered_checkpoints(folder) if number <= step]
    kept = numbers[-keep:] if keep > 0 else numbers
    write_state(folder, step, kept)
    # An older checkpoint may go, or lose its moments, only when no power cut can take the new one
    # back.
    make_names_durable(folder)
    for number in numbers:
        if number not in kept:
            # The index first: a data file without one counts for nothing, an index without data for
            # a damaged checkpoint.
            gone = os.path.join(folder, f"{CHECKPOINT}{number}")
            for path in (*reversed(data_files(gone)), second_name(gone)):
                files.remove(path)
    return prefix


def _write_local(folder: str, prefix: str, tensors: dict[str, np.ndarray]) -> None:
    temporary = tempfile.mkdtemp(dir=folder, prefix=UNFINISHED)
    try:
        hidden = os.path.join(temporary, os.path.basename(prefix))
        write_checked(hidden, tensors)
        # The index comes last: it makes the checkpoint visible, so a stop in between leaves the
        # older one the newest.
        for source, target in zip(data_files(hidden), data_files(prefix), strict=True):
            os.replace(source, target)
    finally:
        shutil.rmtree(temporary)


def write_checked(prefix: str, tensors: dict[str, np.ndarray]) -> None:
    """Write a local checkpoint that is to take the place of another one: it is on the disk, and was
    read back. Raises OSError where it cannot be written.
    """
    write_tf1(prefix, tensors)
    for source in data_files(prefix):
        # Before the rename: after a power cut the new name must not refer to blocks that were
        # never written.
        with open(source, "rb") as written:
            os.fsync(written.fileno())
    try:
        check_data(prefix)  # before it takes the place of anything
    except ValueError as error:
        raise OSError(f"the file that is read back differs from the written one: {error}") from None
