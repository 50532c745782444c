"""What a frozen encoder says of the training rows, computed once for all epochs. Imports TensorFlow."""

from collections.abc import Callable

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.log import LOG
from bert_cli.base.spec import encoder_inputs
from bert_cli.features.ragged import Batches, Features, StatedRows
from bert_cli.features.tagging import NOTHING, TaggingFeatures, TaggingStates
from bert_cli.runs.engine.session import Session
from bert_cli.runtime.memory import machine_memory
from bert_cli.training.scatter import put_rows


def frozen_states(session: Session, features: Features, batch_size: int) -> Batches:
    """What the encoder of a runs.engine.session.Session says of these features, in batches of the
    model's state_columns.

    InputError where it does not fit into memory.
    """
    if isinstance(features, TaggingFeatures):
        return _of_pieces(session, features, batch_size)
    return _of_texts(session, features, batch_size)


def _of_texts(session: Session, features: Features, batch_size: int) -> StatedRows:
    """Of each text, or of each ending of a choice, the row that the head reads."""
    LOG.info("computing the frozen encoder once: %d texts", len(features.sequences))
    found: dict[str, np.ndarray] = {}
    for rows, states in session.over(features, batch_size, "encoding", run=_runner(session)):
        put_rows(found, rows, states, len(features))
    return StatedRows(features, found["states"])


def _runner(session: Session) -> Callable:
    model = session.model

    def states(batch: dict) -> dict:
        return {"states": model.states(encoder_inputs(batch), packed=session.packed)}

    return session.runner(states, model.prediction_columns)


def _of_pieces(session: Session, features: TaggingFeatures, batch_size: int) -> TaggingStates:
    """Of each labelled piece the numbers that the classifier reads."""
    model = session.model
    offsets_of_tokens = features.sequences.offsets
    is_labelled = features.label_ids != NOTHING
    counts = np.add.reduceat(is_labelled, offsets_of_tokens[:-1], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    size = int(offsets[-1]) * model.state_width * 4
    _check_memory(size)
    LOG.info("computing the frozen encoder once: %d labelled pieces, %s", offsets[-1], byte_size(size, MB=1))
    states = np.empty((offsets[-1], model.state_width), np.float32)
    for rows, found in session.over(features, batch_size, "encoding", run=_runner(session)):
        for window, values in zip(rows.tolist(), found["states"], strict=True):
            own = np.flatnonzero(is_labelled[slice(*offsets_of_tokens[window : window + 2])])
            states[offsets[window] : offsets[window + 1]] = values[own]
    return TaggingStates(states, features.label_ids[is_labelled], offsets)


def _check_memory(size: int) -> None:
    """InputError where an array of `size` bytes does not fit into the machine's memory."""
    memory = machine_memory()
    if size > 0.8 * memory:
        raise InputError(
            f"--freeze_encoder: the encoder's outputs take {byte_size(size, GB=1)}, the machine "
            f"has {byte_size(memory, GB=1)} of memory; give fewer --layers, or fewer sentences"
        )
