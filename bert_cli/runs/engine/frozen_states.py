"""Computation of a frozen encoder's outputs, once for all epochs."""

from collections.abc import Iterator

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.log import LOG
from bert_cli.base.spec import ENCODER, encoder_inputs
from bert_cli.features.ragged import BatchSource, Features, StatedRows
from bert_cli.features.tagging import NOTHING, TaggingFeatures, TaggingStates
from bert_cli.inference.engine import LOGITS
from bert_cli.inference.rows import Predictor, put_rows
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.runtime.machine import machine_memory


def compute_frozen_states(engine: TensorFlowEngine, features: Features, batch_size: int) -> BatchSource:
    """Compute the frozen encoder's outputs that the head reads.

    Args:
        engine: the model, frozen for inference.
        features: the training rows.
        batch_size: rows that are computed together.

    Returns:
        Source of batches with the model's `state_columns`.

    Raises:
        InputError: if the outputs do not fit into memory.
    """
    if isinstance(features, TaggingFeatures):
        return _compute_piece_states(engine, features, batch_size)
    return _compute_text_states(engine, features, batch_size)


def _compute_text_states(engine: TensorFlowEngine, features: Features, batch_size: int) -> StatedRows:
    """Compute one vector per text, or per choice in multiple choice."""
    LOG.info("computing the frozen encoder once: %d texts", len(features.sequences))
    results: dict[str, np.ndarray] = {}
    for rows, states in _encode(engine, features, batch_size):
        put_rows(results, rows, {"states": states}, len(features))
    width = engine.model.state_width
    # The states of an example's choices are side by side.
    has_choices = len(features.sequences) > len(features)
    shape = (len(features), -1, width) if has_choices else (len(features), width)
    return StatedRows(features, results["states"].reshape(shape))


def _encode(engine: TensorFlowEngine, features: Features, batch_size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield batches of (row indices, states)."""

    def states(batch: dict) -> dict:
        return {LOGITS: engine.model.states(encoder_inputs(batch), packed=engine.packed)}

    run = engine.make_runner(states, ENCODER, "eval_batch_size")
    return Predictor(engine, engine.max_seq_length).predict_batches(features, batch_size, "encoding", run=run)


def _compute_piece_states(engine: TensorFlowEngine, features: TaggingFeatures, batch_size: int) -> TaggingStates:
    """Compute one vector per labeled word piece."""
    model = engine.model
    token_offsets = features.sequences.offsets
    is_labelled = features.label_ids != NOTHING
    counts = np.add.reduceat(is_labelled, token_offsets[:-1], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    size_bytes = int(offsets[-1]) * model.state_width * 4
    _check_memory(size_bytes)
    LOG.info("computing the frozen encoder once: %d labelled pieces, %s", offsets[-1], byte_size(size_bytes, MB=1))
    states = np.empty((offsets[-1], model.state_width), np.float32)
    for rows, batch_states in _encode(engine, features, batch_size):
        for window, values in zip(rows.tolist(), batch_states, strict=True):
            labeled = np.flatnonzero(is_labelled[slice(*token_offsets[window : window + 2])])
            states[offsets[window] : offsets[window + 1]] = values[labeled]
    return TaggingStates(states, features.label_ids[is_labelled], offsets)


def _check_memory(size_bytes: int) -> None:
    """Raise InputError if an array of `size` bytes does not fit into the machine's memory."""
    memory = machine_memory()
    if size_bytes > 0.8 * memory:
        raise InputError(
            f"--freeze_encoder: the encoder's outputs take {byte_size(size_bytes, GB=1)}, the machine "
            f"has {byte_size(memory, GB=1)} of memory; give fewer --layers, or fewer sentences"
        )
