"""Stored instances -> the arrays of a step."""

import numpy as np


def model_batch(features: dict[str, np.ndarray], trim: bool) -> dict[str, np.ndarray]:
    """Arrays of spec.pretraining_features for n instances -> those of the model, int32 and float32.

    input_word_ids, input_mask, input_type_ids [n, S]; masked_lm_positions, masked_lm_ids, masked_lm_weights [n, P];
    next_sentence_labels [n]. With `trim`, S is the longest sequence among them and P the most predictions, at least 1.
    """
    length = features["input_ids"].shape[1]
    predictions = features["masked_lm_ids"].shape[1]
    if trim:
        length = _used(features["input_mask"] != 0)
        predictions = _used(features["masked_lm_weights"] > 0)
    return {
        "input_word_ids": features["input_ids"][:, :length].astype(np.int32),
        "input_mask": features["input_mask"][:, :length].astype(np.int32),
        "input_type_ids": features["segment_ids"][:, :length].astype(np.int32),
        "masked_lm_positions": features["masked_lm_positions"][:, :predictions].astype(np.int32),
        "masked_lm_ids": features["masked_lm_ids"][:, :predictions].astype(np.int32),
        "masked_lm_weights": features["masked_lm_weights"][:, :predictions].astype(np.float32),
        "next_sentence_labels": features["next_sentence_labels"][:, 0].astype(np.int32),
    }


def _used(flags: np.ndarray) -> int:
    """Columns up to the last one in which something is set, at least 1."""
    columns = np.flatnonzero(flags.any(axis=0))
    return int(columns[-1]) + 1 if columns.size else 1
