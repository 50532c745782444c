"""The state of a training: what a checkpoint holds of it, and what it goes on from."""

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.model.encoder import WORDS
from bert_cli.tf_internals.variables import memory_of
from bert_cli.training.compact_embeddings import CompactEmbeddings
from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.weights.checkpoint import Tf1Reader
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
        compact.update_full_table(optimizer)
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
