"""Removal of the optimizer's moments from all checkpoints except the newest."""

import functools
import os

import tensorflow as tf

from bert_cli.base import files
from bert_cli.base.errors import InputError, explain_write_error
from bert_cli.base.log import warn_once
from bert_cli.base.names import CHECKPOINT
from bert_cli.base.writing import atomic_write, link_file, publish_file, staging_folder
from bert_cli.training.checkpoints import write_checked
from bert_cli.weights.checkpoint import Tf1Reader, data_files, saved_step, second_data_file
from bert_cli.weights.formats.checkpoint_index import with_second_shard
from bert_cli.weights.formats.checkpoint_writer import LazyArrays
from bert_cli.weights.training_folder import numbered_checkpoints
from bert_cli.weights.variables import is_optimizer_state


def drop_older_moments(folder: str, step: int) -> None:
    """Remove the moments from checkpoints before model.ckpt-`step`.

    Call this after that checkpoint is complete and the `checkpoint` file names it. At any moment, every
    checkpoint is complete, with moments or without. Damaged checkpoints are not changed, and none is
    changed if the disk is full; a warning names them.
    """
    for number in numbered_checkpoints(folder):
        if number < step:
            _drop_moments(folder, number)


def _drop_moments(folder: str, number: int) -> None:
    prefix = os.path.join(folder, f"{CHECKPOINT}{number}")
    data, index = data_files(prefix)
    second = second_data_file(prefix)
    try:
        reader = Tf1Reader(prefix)
        has_work = any(map(is_optimizer_state, reader.shapes)) or files.exists(second)
        # Skip a checkpoint with another step: it does not belong to this run.
        if not has_work or saved_step(reader) != number:
            return
        names = [name for name in reader.shapes if not is_optimizer_state(name)]
        weights = LazyArrays({name: functools.partial(reader.read, name) for name in names})
    except InputError as error:
        _warn_of_damage(error)
        return
    with staging_folder(folder) as staged:
        hidden = os.path.join(staged, os.path.basename(prefix))
        try:
            write_checked(hidden, weights)
        except InputError as error:
            _warn_of_damage(error)
            return
        except (OSError, tf.errors.OpError) as error:
            # The moments only take space, and training goes on with or without them.
            warn_once(f"warning: {prefix}: its moments cannot be dropped: {explain_write_error(error, folder)}")
            return
        hidden_data, hidden_index = data_files(hidden)
        # Two files cannot be replaced atomically. So keep the new data under a second name until
        # its index exists, too. An index then always refers to data that matches.
        link_file(hidden_data, second)
        with atomic_write(index, "wb") as file:
            file.write(with_second_shard(files.read_bytes(hidden_index)))
        publish_file(hidden_data, data)
        publish_file(hidden_index, index)
        files.remove(second)


def _warn_of_damage(error: InputError) -> None:
    warn_once(f"warning: {error}; until then it stays as it is")
