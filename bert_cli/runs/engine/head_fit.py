"""Fit of a head by a logistic regression on the encoder's outputs, in place of gradient descent."""

import numpy as np

from bert_cli.base.log import LOG
from bert_cli.features.ragged import Features, StatedRows
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.engine.frozen_states import compute_frozen_states
from bert_cli.weights.head_rows import HEAD_BIAS, HEAD_WEIGHTS


def fit_head(
    engine: TensorFlowEngine,
    features: Features,
    label_ids: np.ndarray,
    row_weights: np.ndarray | None,
    problem_type: ProblemType,
    batch_size: int,
) -> float:
    """Set the head to a logistic regression on the training rows, and return its loss.

    Args:
        engine: the model.
        features: the training rows.
        label_ids: their labels, int [n], or [n, L] for several labels per row.
        row_weights: their weights, float [n], or None.
        problem_type: the labels' problem type.
        batch_size: rows that are encoded together.

    Returns:
        The mean cross-entropy on the training rows, in nats.
    """
    engine.freeze_for_inference()
    rows = compute_frozen_states(engine, features, batch_size)
    assert isinstance(rows, StatedRows), "taggers have no such method"
    num_labels = engine.variables[HEAD_WEIGHTS].shape[0]
    fit = require(problem_type.fit_head, "--method")
    weights, bias = fit(rows.states, label_ids, num_labels, row_weights)
    engine.variables[HEAD_WEIGHTS].assign(weights)
    engine.variables[HEAD_BIAS].assign(bias)
    loss = float(np.mean(problem_type.decoder.postprocess(rows.states @ weights.T + bias, label_ids)["losses"]))
    LOG.info("fitted the head by logistic regression on %d rows: loss %.4g", len(rows), loss)
    return loss
