"""Metrics of problem types with exactly one correct output; an output's index is the label id."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.metrics import classification, single_label
from bert_cli.metrics.classification import predict_labels
from bert_cli.problem_types.calibration import reliability
from bert_cli.problem_types.metrics import ProbabilityMetrics, format_undefined
from bert_cli.problem_types.parts import LabelSet, MetricValues, PredictionArrays, Scores


def predict_row(probabilities: Sequence[float], thresholds: Sequence[float | None]) -> int:
    """Return the predicted output's index for a row of eval_examples.jsonl.

    Use predict_labels to decide.

    Args:
        probabilities: probability per output.
        thresholds: threshold per label, or () to use the most probable output.
    """
    limits = np.array(thresholds, np.float64) if thresholds else None
    return int(predict_labels(np.array([probabilities], np.float64), limits)[0])


def output_names(predictions: PredictionArrays, labels: LabelSet) -> Sequence[str]:
    """Return the label names, or the numbers of the choices, which have no names."""
    return labels.names or [str(choice) for choice in range(predictions["probabilities"].shape[1])]


def _named_limits(labels: LabelSet) -> list[tuple[str, float]]:
    """Return labels that have a threshold, together with it."""
    thresholds = [] if labels.thresholds is None else labels.thresholds.tolist()
    return [pair for pair in zip(labels.names, thresholds, strict=False) if not math.isnan(pair[1])]


class ExclusiveMetrics(ProbabilityMetrics):
    """Scores that need no label names."""

    def names(self, labels: LabelSet) -> tuple[str, ...]:
        return ("eval_accuracy", *classification.LOSSES)

    def evaluate(
        self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet, batch_size: int
    ) -> Scores:
        losses, probabilities = predictions["losses"], predictions["probabilities"]
        results = classification.choice_metrics(
            label_ids, losses, probabilities, batch_size, predictions.get("weights")
        )
        return Scores(results, {}, [])

    def collapse(self, predictions: PredictionArrays, labels: LabelSet) -> str:
        best = np.unique(predict_labels(predictions["probabilities"], labels.thresholds))
        name = output_names(predictions, labels)[best[0]]
        return f"every row gets the label {name}" if len(best) == 1 else ""

    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        best = np.bincount(label_ids, minlength=outputs).argmax()
        return np.tile(np.eye(outputs)[best], (rows, 1))

    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        return math.log(outputs)

    def is_wrong(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        return predict_labels(predictions["probabilities"], labels.thresholds) != label_ids

    def calibration_error(self, label_ids: np.ndarray, predictions: PredictionArrays) -> float:
        """Return the expected calibration error of the predicted output's probability."""
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        return reliability(probabilities.max(axis=1), probabilities.argmax(axis=1) == label_ids).error

    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """Return the predicted output's probability if the prediction is wrong, 0 otherwise."""
        # The report sorts mistakes by confidence, so the worst mistake has the highest value.
        predicted = predict_row(row["probabilities"], thresholds)
        return row["probabilities"][predicted] if predicted != row["label"] else 0.0


class SingleLabelMetrics(ExclusiveMetrics):
    """Scores of all labels, and of each."""

    def names(self, labels: LabelSet) -> tuple[str, ...]:
        return single_label.metric_names(labels.names)

    def measure(
        self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet, batch_size: int
    ) -> MetricValues:
        losses, probabilities, positive = predictions["losses"], predictions["probabilities"], self._positive(labels)
        weights = predictions.get("weights")
        metrics = single_label.classification_metrics(
            label_ids, losses, probabilities, labels.names, batch_size, positive, weights, labels.thresholds
        )
        return {**metrics}

    def evaluate(
        self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet, batch_size: int
    ) -> Scores:
        results = self.measure(label_ids, predictions, labels, batch_size)
        details = classification.classification_report(
            label_ids, predictions["probabilities"], labels.names, labels.thresholds
        )
        lines = [f"{name} is predicted from the probability {limit:.4g} on" for name, limit in _named_limits(labels)]
        lines += classification.format_report(details) + format_undefined(self.undefined(label_ids, labels))
        return Scores(results, details, lines)

    def positive_label(self, labels: LabelSet) -> str:
        """Return --positive_label, or the last of two labels; "" if there are not two labels."""
        return labels.names[labels.positive_index] if len(labels.names) == 2 else ""

    def _positive(self, labels: LabelSet) -> int | None:
        """Return the index of the positive label, None if the F1 is a mean over labels."""
        return labels.positive_index if len(labels.names) == 2 else None

    def undefined(self, label_ids: np.ndarray, labels: LabelSet) -> dict[str, str]:
        return single_label.undefined_scores(label_ids, labels.names, self._positive(labels))

    def collapse(self, predictions: PredictionArrays, labels: LabelSet) -> str:
        reason = super().collapse(predictions, labels)
        if not reason or len(labels.names) != 2:
            return reason
        # Name the other label: its rows are often the ones that people want to find.
        missed = labels.names[1 - int(predict_labels(predictions["probabilities"][:1], labels.thresholds)[0])]
        return f"{reason}, and no row is predicted as {missed}"
