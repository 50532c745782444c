"""Parts for exactly one correct output, decoded with a softmax; its index is the label id."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.base.head_types import CHOICE
from bert_cli.metrics import classification
from bert_cli.problem_types.calibration import reliability
from bert_cli.problem_types.columns import Column, Probabilities, TextColumn
from bert_cli.problem_types.parts import (
    LabelReader,
    LabelSet,
    Metrics,
    OutputDecoder,
    PredictionColumns,
    Predictions,
    Scores,
)
from bert_cli.problem_types.problem_type import ProblemType


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return the log-softmax over the last axis, in the logits' dtype."""
    # Shift the largest logit to 0, so that no exponential overflows.
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _output_names(predictions: Predictions, labels: LabelSet) -> Sequence[str]:
    """Return the label names, or the numbers of the choices, which have no names."""
    return labels.names or [str(choice) for choice in range(predictions["probabilities"].shape[1])]


class ExclusiveDecoder(OutputDecoder):
    """Decoder of a softmax."""

    is_exclusive = True

    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        # Compute the loss from logarithms: a probability that float32 rounds to 0 still has a
        # finite loss.
        logs = log_softmax(logits)
        return {
            "probabilities": np.exp(logs),
            "losses": -logs[np.arange(len(label_ids)), label_ids],
        }

    def decisions(self, predictions: Predictions, labels: LabelSet) -> list[Any]:
        """Return each row's most probable output as an index, the first one in a tie."""
        return predictions["probabilities"].argmax(axis=1).tolist()

    def keep_decisions(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        best = before.argmax(axis=1)
        rows = np.flatnonzero(after.argmax(axis=1) != best)
        after[rows, best[rows]] = np.nextafter(after[rows].max(axis=1), np.float32(2))
        return after

    def uncertainty(self, predictions: Predictions, labels: LabelSet) -> np.ndarray:
        """Return the total probability of the outputs that are not predicted."""
        probabilities = np.array(predictions["probabilities"], np.float64)
        # Sum instead of subtracting from 1: next to 1, the largest probability has lost its digits.
        np.put_along_axis(probabilities, probabilities.argmax(axis=1)[:, np.newaxis], 0.0, axis=1)
        return probabilities.sum(axis=1)


class ExclusiveMetrics(Metrics):
    """Scores that need no label names."""

    names: tuple[str, ...] = ("eval_accuracy", *classification.LOSSES)

    def evaluate(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet, batch_size: int) -> Scores:
        results = classification.choice_metrics(
            label_ids, predictions["losses"], predictions["probabilities"], batch_size
        )
        return Scores(results, {}, [])

    def collapse(self, predictions: Predictions, labels: LabelSet) -> str:
        best = np.unique(predictions["probabilities"].argmax(axis=1))
        name = _output_names(predictions, labels)[best[0]]
        return f"every row gets the label {name}" if len(best) == 1 else ""

    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        best = np.bincount(label_ids, minlength=outputs).argmax()
        return np.tile(np.eye(outputs)[best], (rows, 1))

    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        return math.log(outputs)

    def is_wrong(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet) -> np.ndarray:
        return predictions["probabilities"].argmax(axis=1) != label_ids

    def calibration_error(self, label_ids: np.ndarray, predictions: Predictions) -> float:
        """Return the expected calibration error of the predicted output's probability."""
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        return reliability(probabilities.max(axis=1), probabilities.argmax(axis=1) == label_ids).error

    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """Return the predicted output's probability if the prediction is wrong, 0 otherwise."""
        # The report sorts mistakes by confidence, so the worst mistake has the highest value.
        most = max(row["probabilities"])
        return most if row["probabilities"].index(most) != row["label"] else 0.0

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        return 1.0 - row["probabilities"][row["label"]]


class ExclusiveColumns(PredictionColumns):
    """The most probable output, and all probabilities."""

    def decision_columns(self, predictions: Predictions, labels: LabelSet) -> dict[str, Column]:
        return {
            "label": TextColumn([str(label) for label in self.decoder.decisions(predictions, labels)]),
            "probabilities": Probabilities(_output_names(predictions, labels), predictions["probabilities"]),
        }

    def eval_columns(self, label_ids: np.ndarray, predictions: Predictions) -> dict[str, np.ndarray]:
        return {"label": label_ids, "probabilities": predictions["probabilities"]}


class ChoiceReader(LabelReader):
    """Reader of choice indices; label_ids int32 [n].

    A choice's index is not a class: a model with one output serves any number of choices. So there
    are no label names, class weights or suspected label errors.
    """

    has_names = False
    class_weights_refusal = "is about labels, and the endings of a choice are none"

    def label_array(self, row_labels: Sequence[int | None], labels: Sequence[str]) -> np.ndarray:
        return np.array([0 if label is None else label for label in row_labels], np.int32)


class ChoiceDecoder(ExclusiveDecoder):
    """Decoder of a softmax over choices."""

    distillation_refusal = "learns the probabilities of labels, which multiple choice does not have"


_DECODER = ChoiceDecoder()
MULTIPLE_CHOICE = ProblemType(
    "multiple_choice",
    "multiple choice, one of --choice_columns",
    ChoiceReader(),
    _DECODER,
    ExclusiveMetrics(),
    ExclusiveColumns(_DECODER),
    head_type=CHOICE,
    has_choices=True,
)
