"""Training checkpoints in a directory, called model.ckpt-N as in Google's code.

Writes are atomic, and old checkpoints are removed.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from bert_cli.base import files
from bert_cli.base.errors import InputError, explain_write_error
from bert_cli.base.names import CHECKPOINT, UNFINISHED
from bert_cli.base.writing import make_names_durable
from bert_cli.weights.checkpoint import data_files, second_data_file
from bert_cli.weights.formats.checkpoint_index import check_data
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.training_folder import numbered_checkpoints, write_checkpoint_state


def save_checkpoint(folder: str, step: int, tensors: Mapping[str, np.ndarray], keep: int) -> str:
    """Write model.ckpt-`step` and the `checkpoint` file, then remove old ones; return the prefix.

    At any moment, a reader or a resumed run sees either the old or the new state.

    Args:
        folder: directory of the run.
        step: number of finished steps.
        tensors: variable name -> values, see write_tf1.
        keep: number of checkpoints to keep; 0 for all.
    """
    prefix = os.path.join(folder, f"{CHECKPOINT}{step}")
    if files.is_remote(folder):
        with files.reporting_remote_errors(prefix, "written"):
            write_tf1(prefix, tensors)
    else:
        try:
            _write_local(folder, prefix, tensors)
        except (OSError, tf.errors.OpError) as error:
            reason = explain_write_error(error, folder, sum(np.asarray(value).nbytes for value in tensors.values()))
            raise InputError(f"{prefix}: cannot be written: {reason}; the older checkpoints are whole") from None
    # Ignore higher numbers: these are damaged, or left from a training that later resumed from an
    # older checkpoint.
    numbers = [number for number in numbered_checkpoints(folder) if number <= step]
    kept = numbers[-keep:] if keep > 0 else numbers
    write_checkpoint_state(folder, step, kept)
    # Remove old checkpoints, or their moments, only
    # after a power cut can no longer undo the new one.
    make_names_durable(folder)
    for number in numbers:
        if number not in kept:
            # Remove the index first: data without an index is ignored, but an index without data is
            # a damaged checkpoint.
            old_prefix = os.path.join(folder, f"{CHECKPOINT}{number}")
            for path in (*reversed(data_files(old_prefix)), second_data_file(old_prefix)):
                files.remove(path)
    return prefix


def _write_local(folder: str, prefix: str, tensors: Mapping[str, np.ndarray]) -> None:
    temporary = tempfile.mkdtemp(dir=folder, prefix=UNFINISHED)
    try:
        hidden = os.path.join(temporary, os.path.basename(prefix))
        write_checked(hidden, tensors)
        # Move the index last: it makes the checkpoint visible. If the process stops before that,
        # the previous checkpoint remains the newest.
        for source, target in zip(data_files(hidden), data_files(prefix), strict=True):
            os.replace(source, target)
    finally:
        shutil.rmtree(temporary)


def write_checked(prefix: str, tensors: Mapping[str, np.ndarray]) -> None:
    """Write a local checkpoint to disk and verify it, so that it may replace another one.

    Raises:
        OSError: if the checkpoint cannot be written, or differs when read again.
    """
    write_tf1(prefix, tensors)
    for source in data_files(prefix):
        # Sync before the rename: after a power cut, the
        # new name must not refer to unwritten blocks.
        with open(source, "rb") as written:
            os.fsync(written.fileno())
    try:
        check_data(prefix)
    except ValueError as error:
        raise OSError(f"the file that is read back differs from the written one: {error}") from None
