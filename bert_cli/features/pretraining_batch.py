"""Batches for pre-training, made from stored instances."""

import numpy as np


def model_batch(features: dict[str, np.ndarray], trim: bool) -> dict[str, np.ndarray]:
    """Return n instances of spec.pretraining_features as the arrays of spec.PRETRAINING.

    masked_lm_weights stay unchanged, for evaluation. If `trim`, S is the longest sequence in the
    batch and P the largest number of predictions, both at least 1.
    """
    # All records have one length, but most steps need less if documents are short.
    length = features["input_ids"].shape[1]
    predictions = features["masked_lm_ids"].shape[1]
    if trim:
        length = _used_width(features["input_mask"] != 0)
        predictions = _used_width(features["masked_lm_weights"] > 0)
    return {
        "input_word_ids": features["input_ids"][:, :length].astype(np.int32),
        "input_mask": features["input_mask"][:, :length].astype(np.int32),
        "input_type_ids": features["segment_ids"][:, :length].astype(np.int32),
        "masked_lm_positions": features["masked_lm_positions"][:, :predictions].astype(np.int32),
        "masked_lm_ids": features["masked_lm_ids"][:, :predictions].astype(np.int32),
        "masked_lm_weights": features["masked_lm_weights"][:, :predictions].astype(np.float32),
        "next_sentence_labels": features["next_sentence_labels"][:, 0].astype(np.int32),
    }


def training_batch(features: dict[str, np.ndarray], trim: bool) -> dict[str, np.ndarray]:
    """Return model_batch for training, with loss shares as masked_lm_weights."""
    batch = model_batch(features, trim)
    return batch | {"masked_lm_weights": loss_shares(batch["masked_lm_weights"])}


def loss_shares(weights: np.ndarray) -> np.ndarray:
    """Return each prediction's weight in the loss, w / (Σ w + 1e-5), float32 [n, P].

    The loss is a mean over the masked tokens in the whole batch, on any number of devices. The
    constant is part of the original's loss.
    """
    return weights / (weights.sum() + 1e-5)


def _used_width(flags: np.ndarray) -> int:
    """Return the number of columns up to the last one with a nonzero flag, at least 1."""
    # Return at least 1: gather and softmax may not accept empty arrays.
    columns = np.flatnonzero(flags.any(axis=0))
    return int(columns[-1]) + 1 if columns.size else 1
