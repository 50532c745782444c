"""Metrics of a problem type: scores of predictions, and baselines to compare a model with.

See parts.py for the arguments that the methods share.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.problem_types.parts import LabelSet, MetricValues, PredictionArrays, Scores


def format_undefined(reasons: Mapping[str, str]) -> list[str]:
    """Return a line for the log per reason, with the metrics that it leaves out."""
    return [
        f"left out, as {reason}: {', '.join(name for name in reasons if reasons[name] == reason)}"
        for reason in dict.fromkeys(reasons.values())
    ]


class Metrics(abc.ABC):
    """Scores of predictions, and simple baselines to compare a trained model with.

    Attributes:
        error: a metric that also has to be better than the constant prediction's; "" for none.
        baseline_names: names of the constant and the linear prediction in run_report.json.
        collapse_advice: advice if all predictions are equal; "" for the usual advice on poor
            training.
    """

    error = ""
    baseline_names = ("majority", "tfidf")
    collapse_advice = ""

    @abc.abstractmethod
    def names(self, labels: LabelSet) -> tuple[str, ...]:
        """Return the keys of eval_results.txt that can rank evaluations, the main metric first."""

    @abc.abstractmethod
    def evaluate(
        self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet, batch_size: int
    ) -> Scores:
        """Return metrics for `predictions`, `label_ids` and `labels`; raise InputError for NaN.

        The original's `loss` depends on `batch_size`.
        """

    def measure(
        self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet, batch_size: int
    ) -> MetricValues:
        """Return the metrics from `evaluate` alone.

        `label_ids`, `predictions`, `labels` and `batch_size` are its arguments.
        """
        return self.evaluate(label_ids, predictions, labels, batch_size).metrics

    def positive_label(self, labels: LabelSet) -> str:
        """Return the label that eval_f1 and ROC-AUC are of, "" if they are of no single label."""
        return ""

    def undefined(self, label_ids: np.ndarray, labels: LabelSet) -> dict[str, str]:
        """Return the metrics that no predictions for `label_ids` can define: name -> reason."""
        return {}

    def num_sorted(self, label_ids: np.ndarray) -> int:
        """Return how many probabilities `measure` sorts more than once per row; many take long."""
        return 0

    @abc.abstractmethod
    def collapse(self, predictions: PredictionArrays, labels: LabelSet) -> str:
        """Return a description if all rows have the same prediction, "" otherwise."""

    @abc.abstractmethod
    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        """Return `rows` equal predictions [rows] or [rows, outputs].

        They are the most frequent label in `label_ids`, or the mean.
        """

    @abc.abstractmethod
    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        """Return the loss of guessing: equal probabilities, or 0 for every row in a regression."""

    @abc.abstractmethod
    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """Return how wrong a row of eval_examples.jsonl is, 0 if it is correct."""


class ProbabilityMetrics(Metrics):
    """Scores for types with probabilities."""

    @abc.abstractmethod
    def is_wrong(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        """Return which `predictions`, decided with `labels`, differ from `label_ids`, bool [n]."""

    @abc.abstractmethod
    def calibration_error(self, label_ids: np.ndarray, predictions: PredictionArrays) -> float:
        """Return the expected calibration error of the probabilities."""
