"""The training state that checkpoints save and a resumed run restores."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.model.encoder import WORDS
from bert_cli.tf_internals.variables import memory_of
from bert_cli.training.compact_embeddings import CompactEmbeddings
from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.formats.checkpoint_writer import LazyArrays
from bert_cli.weights.variables import (
    LOG_DECAY_NAME,
    MOMENT_ENDINGS,
    STEP_NAME,
    UNROUNDED_ENDING,
    Reader,
    has_moments,
    saved_name,
    weight_name_of_moment,
)


@contextlib.contextmanager
def training_tensors(
    variables: dict,
    optimizer: AdamWeightDecay,
    compact: CompactEmbeddings | None,
    loss_scale: LossScale | None = None,
    is_regular: bool = True,
    sums: Mapping[str, Callable[[], np.ndarray]] = MappingProxyType({}),
) -> Iterator[LazyArrays]:
    """Yield the training state under Google's names, which does not change in the context.

    It consists of weights, adam_m, adam_v, global_step (int64) and the loss scale. Most arrays share
    the variables' memory: if you keep them, the next update copies that memory. Moments of all words
    are new arrays.

    Args:
        variables: name -> variable.
        optimizer: its moments and step are saved.
        compact: trained word embeddings; None if the encoder uses its full table.
        loss_scale: None except in float16.
        is_regular: whether every run with the same flags saves at this step. If not, the numbers
            that saving rounds are included, too.
        sums: adapted kernels with functions that return their sums, see model.lora.
    """
    # Read these first: the code below rounds them.
    unrounded = {} if is_regular else _unrounded_state(optimizer, compact)
    if compact:
        compact.update_full_table(optimizer)
    weights = {saved_name(name, variables): functools.partial(memory_of, value) for name, value in variables.items()}
    scale = loss_scale.tensors() if loss_scale else {}
    with optimizer.moments() as moments:
        if compact:
            moments |= {WORDS + ending: _expanding(compact, moments[WORDS + ending]) for ending in MOMENT_ENDINGS}
        yield (
            LazyArrays({**weights, **moments, **sums})
            | unrounded
            | scale
            | {STEP_NAME: np.array(optimizer.step.numpy(), np.int64)}
        )


def _expanding(compact: CompactEmbeddings, read_rows: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
    """Return a function that returns moments for the full table."""
    return lambda: compact.expand(read_rows())


def _unrounded_state(optimizer: AdamWeightDecay, compact: CompactEmbeddings | None) -> dict[str, np.ndarray]:
    """Return the numbers that saving rounds: Adam's slots, and words that only decay.

    Saving scales the slots as in Google's files, and applies the decay to the words. Every run with the
    same flags does this at regular steps. A checkpoint after a signal must not add a rounding, because a
    resumed run would then have different results.
    """
    # Save whole arrays. Differences to the rounded numbers, a byte each, would make the checkpoint
    # a sixth smaller, but a scheduler is waiting for the process to end.
    unrounded = {f"{name}/adam_v{UNROUNDED_ENDING}": memory_of(slot) for name, slot in optimizer.second.items()}
    if compact:
        key = f"{WORDS}/adam_v{UNROUNDED_ENDING}"
        unrounded[key] = unrounded[key][: len(compact.used)]
        unrounded[f"{WORDS}{UNROUNDED_ENDING}"] = memory_of(compact.encoder.embeddings.words)
        unrounded[LOG_DECAY_NAME] = optimizer.log_decay.numpy()
    return unrounded


def restore_training(
    prefix: str,
    variables: dict,
    optimizer: AdamWeightDecay,
    compact: CompactEmbeddings | None,
    loss_scale: LossScale | None = None,
) -> int:
    """Restore the training state from a checkpoint, and return the number of finished steps.

    If the checkpoint has no moments, they start from 0.

    Args:
        prefix: prefix of the checkpoint.
        variables, optimizer, compact, loss_scale: as in training_tensors.

    Raises:
        InputError: if a variable is missing or has another shape.
    """
    reader = Tf1Reader(prefix)
    moments = [f"{name}{ending}" for name in optimizer.weights for ending in MOMENT_ENDINGS]
    is_slim = not has_moments(reader.shapes)
    saved_names = {name: saved_name(name, variables) for name in variables}
    names = saved_names | ({} if is_slim else {name: name for name in moments})
    for name in [*names.values(), STEP_NAME]:
        if name not in reader.shapes:
            raise InputError(
                f"{prefix}: cannot go on from this checkpoint, it has no {name}; use --overwrite_output_dir"
            )
    for name, saved in names.items():
        shape = tuple(variables[weight_name_of_moment(name)].shape)
        if reader.shapes[saved] != shape:
            raise InputError(
                f"{prefix}: {saved} has the shape {list(reader.shapes[saved])}, this run needs "
                f"{list(shape)}; use another --output_dir, or --overwrite_output_dir"
            )
    # Read everything before assigning anything: a truncated file must not change the model.
    values = {name: reader.read(saved) for name, saved in names.items()}
    if is_slim:
        values |= {name: np.zeros(variables[weight_name_of_moment(name)].shape, np.float32) for name in moments}
    for name, variable in variables.items():
        variable.assign(values[name])
    step = int(reader.read(STEP_NAME))
    if compact:
        compact.reload()
        for ending in MOMENT_ENDINGS:
            values[WORDS + ending] = compact.fill(values[WORDS + ending][compact.used])
    optimizer.restore(values, step)
    if loss_scale:
        loss_scale.restore(reader)
    _restore_unrounded(reader, optimizer, compact)
    return step


def _restore_unrounded(reader: Reader, optimizer: AdamWeightDecay, compact: CompactEmbeddings | None) -> None:
    """Undo the roundings if a checkpoint was saved after a signal; call this last."""
    for name, slot in optimizer.second.items():
        key = f"{name}/adam_v{UNROUNDED_ENDING}"
        table = compact if name == WORDS else None
        shape = (len(table.used), *slot.shape[1:]) if table else tuple(slot.shape)
        if reader.shapes.get(key) == shape:
            values = reader.read(key)
            slot.assign(table.fill(values) if table else values)
    if compact and LOG_DECAY_NAME in reader.shapes:
        compact.encoder.embeddings.words.assign(reader.read(f"{WORDS}{UNROUNDED_ENDING}"))
        optimizer.log_decay.assign(tf.constant(reader.read(LOG_DECAY_NAME)))
