"""Metrics of problem types with exactly one correct output; an output's index is the label id."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.metrics import classification, single_label
from bert_cli.problem_types.calibration import reliability
from bert_cli.problem_types.linear_models import logistic_probabilities
from bert_cli.problem_types.metrics import Metrics, format_undefined
from bert_cli.problem_types.parts import LabelSet, Predictions, Results, Scores

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def output_names(predictions: Predictions, labels: LabelSet) -> Sequence[str]:
    """Return the label names, or the numbers of the choices, which have no names."""
    return labels.names or [str(choice) for choice in range(predictions["probabilities"].shape[1])]


class ExclusiveMetrics(Metrics):
    """Scores that need no label names."""

    def names(self, labels: LabelSet) -> tuple[str, ...]:
        return ("eval_accuracy", *classification.LOSSES)

    def evaluate(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet, batch_size: int) -> Scores:
        losses, probabilities = predictions["losses"], predictions["probabilities"]
        results = classification.choice_metrics(
            label_ids, losses, probabilities, batch_size, predictions.get("weights")
        )
        return Scores(results, {}, [])

    def collapse(self, predictions: Predictions, labels: LabelSet) -> str:
        best = np.unique(predictions["probabilities"].argmax(axis=1))
        name = output_names(predictions, labels)[best[0]]
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


class SingleLabelMetrics(ExclusiveMetrics):
    """Scores of all labels, and of each."""

    def names(self, labels: LabelSet) -> tuple[str, ...]:
        return single_label.metric_names(labels.names)

    def measure(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet, batch_size: int) -> Results:
        losses, probabilities, positive = predictions["losses"], predictions["probabilities"], self._positive(labels)
        weights = predictions.get("weights")
        metrics = single_label.classification_metrics(
            label_ids, losses, probabilities, labels.names, batch_size, positive, weights
        )
        return {**metrics}

    def evaluate(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet, batch_size: int) -> Scores:
        results = self.measure(label_ids, predictions, labels, batch_size)
        details = classification.classification_report(label_ids, predictions["probabilities"], labels.names)
        lines = classification.format_report(details) + format_undefined(self.undefined(label_ids, labels))
        return Scores(results, details, lines)

    def positive_label(self, labels: LabelSet) -> str:
        """Return --positive_label, or the last of two labels; "" if there are not two labels."""
        return (labels.positive or labels.names[-1]) if len(labels.names) == 2 else ""

    def _positive(self, labels: LabelSet) -> int | None:
        """Return the index of the positive label, None if the F1 is a mean over labels."""
        name = self.positive_label(labels)
        return labels.names.index(name) if name else None

    def undefined(self, label_ids: np.ndarray, labels: LabelSet) -> dict[str, str]:
        return single_label.undefined_scores(label_ids, labels.names, self._positive(labels))

    def collapse(self, predictions: Predictions, labels: LabelSet) -> str:
        reason = super().collapse(predictions, labels)
        if not reason or len(labels.names) != 2:
            return reason
        # Name the other label: its rows are often the ones that people want to find.
        missed = labels.names[1 - int(predictions["probabilities"][0].argmax())]
        return f"{reason}, and no row is predicted as {missed}"

    def linear_prediction(
        self, features: "csr_matrix", label_ids: np.ndarray, test_features: "csr_matrix", outputs: int
    ) -> np.ndarray:
        return logistic_probabilities(features, label_ids, outputs, test_features)
