"""Fit of a head by a logistic regression on the encoder's outputs, in place of gradient descent."""

import numpy as np

from bert_cli.base.log import LOG
from bert_cli.features.ragged import Features, StatedRows
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.problem_types.linear_models import fit_logistic
from bert_cli.runs.engine.frozen_states import compute_frozen_states
from bert_cli.weights.head_rows import HEAD_BIAS, HEAD_WEIGHTS


def fit_head(
    engine: TensorFlowEngine,
    features: Features,
    label_ids: np.ndarray,
    row_weights: np.ndarray | None,
    batch_size: int,
) -> float:
    """Set the head to a logistic regression on the training rows, and return its loss.

    Args:
        engine: the model.
        features: the training rows.
        label_ids: their labels, int [n], or [n, L] for several labels per row.
        row_weights: their weights, float [n], or None.
        batch_size: rows that are encoded together.

    Returns:
        The mean cross-entropy on the training rows, in nats.
    """
    engine.freeze_for_inference()
    rows = compute_frozen_states(engine, features, batch_size)
    assert isinstance(rows, StatedRows), "taggers have no such method"
    num_labels = engine.variables[HEAD_WEIGHTS].shape[0]
    weights, bias = fit_logistic(rows.states, label_ids, num_labels, row_weights)
    engine.variables[HEAD_WEIGHTS].assign(weights)
    engine.variables[HEAD_BIAS].assign(bias)
    loss = _mean_loss(rows.states.astype(np.float64) @ weights.T + bias, label_ids)
    LOG.info("fitted the head by logistic regression on %d rows: loss %.4g", len(rows), loss)
    return loss


def _mean_loss(logits: np.ndarray, label_ids: np.ndarray) -> float:
    """Return the mean cross-entropy of logits [n, L]."""
    if label_ids.ndim == 2:
        return float(np.mean(np.logaddexp(0, logits) - label_ids * logits))
    of_label = np.take_along_axis(logits, label_ids[:, np.newaxis].astype(int), axis=1)[:, 0]
    return float(np.mean(np.logaddexp.reduce(logits, axis=1) - of_label))
