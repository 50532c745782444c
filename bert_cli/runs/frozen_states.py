"""What a frozen encoder says of the tokens that are trained, computed once for all passes. Imports TensorFlow."""

import logging
import os
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.features.tagging import NOTHING, TaggingFeatures, TaggingStates

if TYPE_CHECKING:
    from bert_cli.runs.session import Session

LOG = logging.getLogger("bert_cli")


def frozen_states(session: "Session", features: TaggingFeatures, batch_size: int) -> TaggingStates:
    """The states of the labelled pieces, from the BertTagger of a runs.session.Session.

    InputError where they do not fit into memory.
    """
    model, offsets_of_tokens = session.model, features.sequences.offsets
    is_labelled = features.label_ids != NOTHING
    counts = np.add.reduceat(is_labelled, offsets_of_tokens[:-1], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    size = int(offsets[-1]) * model.state_width * 4
    _check_memory(size)
    LOG.info("computing the frozen encoder once: %d labelled pieces, %.1f MB", offsets[-1], size / 1e6)
    states = np.empty((offsets[-1], model.state_width), np.float32)
    run = session.runner(lambda batch: {"states": model.states(batch, packed=session.packed)}, model.prediction_columns)
    for rows, found in session.over(features, batch_size, "encoding", flag="eval_batch_size", run=run):
        for window, values in zip(rows.tolist(), found["states"], strict=True):
            own = np.flatnonzero(is_labelled[slice(*offsets_of_tokens[window : window + 2])])
            states[offsets[window] : offsets[window + 1]] = values[own]
    return TaggingStates(states, features.label_ids[is_labelled], offsets)


def _check_memory(size: int) -> None:
    """InputError where an array of `size` bytes does not fit into the machine's memory."""
    if not hasattr(os, "sysconf"):  # Windows
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > 0.8 * memory:
        raise InputError(
            f"--freeze_encoder: the encoder's outputs take {size / 1e9:.1f} GB, the machine has {memory / 1e9:.1f} GB of "
            "memory; give fewer --layers, or fewer sentences"
        )
