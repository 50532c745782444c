"""Stored instances -> the arrays of a step."""

import numpy as np


def model_batch(features: dict[str, np.ndarray], trim: bool) -> dict[str, np.ndarray]:
    """Arrays of spec.pretraining_features for n instances -> spec.PRETRAINING.

    masked_lm_weights are the instances' own, for evaluation. With `trim`, S is the longest sequence
    among them and P the most predictions, at least 1.
    """
    # Records have one length; most steps of a data set with short documents need less.
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


def training_batch(features: dict[str, np.ndarray], trim: bool) -> dict[str, np.ndarray]:
    """As model_batch, for training: masked_lm_weights are shares of the loss."""
    batch = model_batch(features, trim)
    return batch | {"masked_lm_weights": loss_shares(batch["masked_lm_weights"])}


def loss_shares(weights: np.ndarray) -> np.ndarray:
    """What each prediction counts in the loss: w / (Σ w + 1e-5), float32 [n, P].

    As in the original the loss is a mean over the masked tokens of the whole batch, however it is
    divided over devices, and the small number is in it.
    """
    return weights / (weights.sum() + 1e-5)


def _used(flags: np.ndarray) -> int:
    """Columns up to the last one in which something is set, at least 1."""
    # At least one column: gather and softmax need not take arrays without any.
    columns = np.flatnonzero(flags.any(axis=0))
    return int(columns[-1]) + 1 if columns.size else 1
