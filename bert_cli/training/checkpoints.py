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
from bert_cli.model.encoder import WORDS
from bert_cli.tf_internals.variables import memory_of
from bert_cli.training.compact_embeddings import CompactEmbeddings
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.step import LossScale
from bert_cli.weights.checkpoint import Tf1Reader, data_files, second_name, write_tf1
from bert_cli.weights.checkpoint_index import check_data
from bert_cli.weights.names import (
    LOG_DECAY_NAME,
    MOMENT_ENDINGS,
    REMAINDER_ENDING,
    STEP_NAME,
    UNROUNDED_ENDING,
    has_moments,
    weight_of,
)
from bert_cli.weights.reader import Reader
from bert_cli.weights.training_folder import numbered_checkpoints, write_state


def training_tensors(
    variables: dict,
    optimizer: AdamWeightDecay,
    compact: CompactEmbeddings | None,
    loss_scale: LossScale | None = None,
    is_regular: bool = True,
) -> dict[str, np.ndarray]:
    """All that a resumed run needs, under Google's names: weights, adam_m, adam_v, global_step
    (int64), the loss scale.

    Most are in the memory of the variables: who keeps them while training goes on makes it copy
    these. is_regular: every run of the same flags saves at this step; where not, the numbers that
    saving rounds are kept too.
    """
    # Before anything below rounds it.
    unrounded = {} if is_regular else _unrounded_state(optimizer, compact)
    if compact:
        compact.full_table(optimizer)
    tensors = {name: memory_of(variable) for name, variable in variables.items()}
    moments = optimizer.moments()
    if compact:
        for ending in MOMENT_ENDINGS:
            moments[WORDS + ending] = compact.expand(moments[WORDS + ending])
    scale = loss_scale.tensors() if loss_scale else {}
    return tensors | moments | unrounded | scale | {STEP_NAME: np.int64(optimizer.step.numpy())}


def _unrounded_state(optimizer: AdamWeightDecay, compact: CompactEmbeddings | None) -> dict[str, np.ndarray]:
    """The numbers that saving rounds, as a run has them before: Adam's slots, and the words that
    only decay.

    Saving scales the slots as in Google's files, and applies the decay to the words. At its regular
    steps every run of the same flags does so. A checkpoint that a signal asked for must not add a
    rounding: a resumed run would end elsewhere.
    """
    # Whole arrays: they make the checkpoint a fifth larger than the distances to the rounded
    # numbers, in a byte each, would, but take no computing while a scheduler waits for the process
    # to end.
    kept = {f"{name}/adam_v{UNROUNDED_ENDING}": memory_of(slot) for name, slot in optimizer.second.items()}
    if compact:
        kept[f"{WORDS}{UNROUNDED_ENDING}"] = memory_of(compact.encoder.embeddings.words)
        kept[LOG_DECAY_NAME] = optimizer.log_decay.numpy()
    return kept


def restore_training(
    prefix: str,
    variables: dict,
    optimizer: AdamWeightDecay,
    compact: CompactEmbeddings | None,
    loss_scale: LossScale | None = None,
) -> int:
    """Bring weights, moments, step and loss scale back from a training checkpoint; returns the
    number of finished steps. From a checkpoint without any moments, these start from 0.

    Raises InputError where a variable is missing or has another shape.
    """
    reader = Tf1Reader(prefix)
    moments = [f"{name}{ending}" for name in optimizer.weights for ending in MOMENT_ENDINGS]
    is_slim = not has_moments(reader.shapes)
    names = [*variables, *([] if is_slim else moments)]
    for name in [*names, STEP_NAME]:
        if name not in reader.shapes:
            raise InputError(
                f"{prefix}: cannot go on from this checkpoint, it has no {name}; use --overwrite_output_dir"
            )
    for name in names:
        shape = tuple(variables[weight_of(name)].shape)
        if reader.shapes[name] != shape:
            raise InputError(
                f"{prefix}: {name} has the shape {list(reader.shapes[name])}, this run needs "
                f"{list(shape)}; use another --output_dir, or --overwrite_output_dir"
            )
    # All is read before anything is assigned: a file that is cut short leaves the model as it was.
    values = {name: reader.read(name) for name in names}
    if is_slim:
        values |= {name: np.zeros(variables[weight_of(name)].shape, np.float32) for name in moments}
    for name, variable in variables.items():
        variable.assign(values[name])
    step = int(reader.read(STEP_NAME))
    if compact:
        compact.reload()
        for ending in MOMENT_ENDINGS:
            values[WORDS + ending] = values[WORDS + ending][compact.used]
    optimizer.restore(values, step)
    if loss_scale:
        loss_scale.restore(reader)
    _restore_unrounded(reader, optimizer, compact)
    return step


def _restore_unrounded(reader: Reader, optimizer: AdamWeightDecay, compact: CompactEmbeddings | None) -> None:
    """Undo the roundings of a checkpoint that a signal asked for, after all else was restored;
    others are left as they are.
    """
    for name, slot in optimizer.second.items():
        key = f"{name}/adam_v"
        kept_shape = reader.shapes.get(key + UNROUNDED_ENDING, reader.shapes.get(key + REMAINDER_ENDING))
        if kept_shape == tuple(slot.shape):
            slot.assign(_unrounded(reader, key, slot.numpy()))
    if compact and LOG_DECAY_NAME in reader.shapes:
        words = compact.encoder.embeddings.words
        log_decay = reader.read(LOG_DECAY_NAME)
        words.assign(_unrounded(reader, WORDS, words.numpy() / np.exp(log_decay)))
        optimizer.log_decay.assign(tf.constant(log_decay))


def _unrounded(reader: Reader, name: str, rounded: np.ndarray) -> np.ndarray:
    """The numbers, float32, that saving made `rounded` of."""
    if name + UNROUNDED_ENDING in reader.shapes:
        return reader.read(name + UNROUNDED_ENDING)
    # Versions up to 2026-11 kept how many floats away from 0 each number was, next to the rounded
    # one.
    distance = reader.read(name + REMAINDER_ENDING).astype(np.int32)
    return (np.ascontiguousarray(rounded).view(np.int32) + distance).view(np.float32)


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
