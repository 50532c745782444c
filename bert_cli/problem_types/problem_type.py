"""The interface of a problem type: everything that depends on the kind of prediction.

Other code reads attributes and calls methods, and never asks which problem type it has. Only the
loss in TensorFlow is elsewhere, in heads.losses under the same name, because this room does not
import TensorFlow.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bert_cli.base import spec
from bert_cli.base.head_types import CLASSIFIER
from bert_cli.metrics.calibration import fit_temperature
from bert_cli.problem_types.calibration import Calibration
from bert_cli.problem_types.columns import Column, LabelCells, json_values

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Model predictions for n examples in file order: `probabilities` [n, L] or `values` [n], `losses`
# [n] and `logits` [n, L].
Predictions = Mapping[str, np.ndarray]


class LabelSet(NamedTuple):
    """Names and decision rules for a model's L outputs.

    Attributes:
        names: output names, () if outputs have no names.
        thresholds: float64 [L] for multi-label classification, None otherwise.
        abstain_from: uncertainty from which people have to label a text, or None.
    """

    names: tuple[str, ...] = ()
    thresholds: np.ndarray | None = None
    abstain_from: float | None = None


class Scores(NamedTuple):
    """Metrics for eval_results.txt, details for run_report.json, and a table's lines for the log."""

    metrics: dict[str, Any]
    details: dict[str, Any]
    lines: list[str]


class Suspects(NamedTuple):
    """Suspected label errors by confidence: example numbers, and the columns of suspects.tsv."""

    rows: list[int]
    columns: dict[str, Column]


class ProblemType(abc.ABC):
    """One problem type.

    In every method, `labels` is the model's LabelSet, and `label_ids` is the array from
    `label_array`. `predictions` are a model's predictions for the same rows.

    Attributes:
        name: spelling in --problem_type, flags.txt and the manifest; key of heads.losses.FORMULAS.
        summary: text in the help of --problem_type.
        metrics: keys of eval_results.txt that can rank evaluations, the main metric first.
        correlations: metrics that are undefined if all labels or all predictions are equal.
        label_dtype, label_shape: NumPy dtype of label_ids, and shape in the letters of base.spec.
        head_type: key of base.head_types.HEAD_TYPES.
        activation: activation used on the logits: softmax, sigmoid or identity.
        output_name, exported_name: array of predictions, and output name of exported models.
        hugging_face: problem_type in a config.json, None if the architecture implies it.
        has_choices: whether an example is a context with several choices (examples.choice) instead of one or two texts.
        is_numeric: whether labels are numbers, so that outputs have no names and strata are intervals.
        is_exclusive: whether an example has exactly one label.
        has_thresholds: whether the type uses --threshold.
        chart, mistakes_title: key of report.classification.CHARTS, and heading used for the report's mistakes.
        collapse_advice: advice if all predictions are equal; "" for the usual advice on poor training.
        baseline_names: names of the constant and the linear prediction in run_report.json.
        *_refusal: why --distill_from, loss flags, --class_weights or --calibrate make no sense; "" if they do.
    """

    name: str
    summary: str
    metrics: tuple[str, ...]
    correlations: tuple[str, ...] = ()
    # The defaults fit single-label classification, the type of most models.
    label_dtype = "int32"
    label_shape: tuple[str, ...] = ("B",)
    head_type = CLASSIFIER
    activation = "softmax"
    output_name = "probabilities"
    exported_name = "probabilities"
    hugging_face: str | None = None
    has_choices = False
    is_numeric = False
    is_exclusive = False
    has_thresholds = False
    chart = "calibration"
    mistakes_title = "The most confident mistakes"
    baseline_names = ("majority", "tfidf")
    collapse_advice = ""
    distillation_refusal = ""
    loss_refusal = ""
    class_weights_refusal = ""
    calibration_refusal = ""

    @property
    def has_named_outputs(self) -> bool:
        """Return whether each output is a label with a name."""
        # A number is one output without a name, and choices differ from row to row.
        return not self.is_numeric and not self.has_choices

    @property
    def batch_columns(self) -> tuple[spec.Column, ...]:
        """Return the batch columns for a classifier; multiple choice has a sequence per choice."""
        tokens = spec.with_windows(spec.ENCODER) if self.has_choices else spec.ENCODER
        return (*tokens, spec.Column("label_ids", self.label_shape, self.label_dtype))

    def output_count(self, labels: Sequence[str]) -> int:
        """Return the number of head outputs for these labels."""
        return len(labels) if self.has_named_outputs else 1

    # Labels of the data.

    def labels_from_columns(self, cells: LabelCells) -> tuple[str, ...] | None:
        """Return the labels if the columns name them, None if they must be counted in the rows."""
        return None if self.has_named_outputs else ()

    def cell_labels(self, cells: LabelCells, row: int) -> tuple[str, ...]:
        """Return the labels in the only label cell of a row."""
        cell = cells.rows[row][0]
        return cell if isinstance(cell, tuple) else (cell,)

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> Sequence[Any]:
        """Return row labels for `label_array`; raise InputError with the line of an invalid label."""
        raise self._impossible("labels in one column")

    @abc.abstractmethod
    def label_array(self, row_labels: Sequence[Any], labels: Sequence[str]) -> np.ndarray:
        """Return the label_ids of n examples; 0 for a missing label (None), as in the original."""

    def stratum(self, label: Any) -> str | float:
        """Return the sort key for stratified splits, which keep label shares equal."""
        return str(label)

    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        """Return training rows per label, float64 [L], or [L, 2] for rows without and with it."""
        raise self._impossible("class weights")

    def label_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return user-provided weights [L] in the shape of label_counts."""
        return weights

    # Logits and predictions.

    @abc.abstractmethod
    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        """Return `output_name` and `losses` for logits float32 [n, outputs], as heads compute them."""

    def logits(self, probabilities: np.ndarray) -> np.ndarray:
        """Invert the activation: return logits float32 [n, L] for distillation."""
        raise self._impossible("distillation")

    @abc.abstractmethod
    def decisions(self, predictions: Predictions, labels: LabelSet) -> list[Any]:
        """Return each example's prediction: a name, a tuple of names, a number or a choice's index."""

    def record(self, predictions: Predictions, row: int, labels: LabelSet) -> dict[str, Any]:
        """Return the prediction_columns of one `row` in `predictions`, with `labels`, for JSON."""
        row_predictions = {self.output_name: predictions[self.output_name][row : row + 1]}
        return {
            name: json_values(column)[0] for name, column in self.prediction_columns(row_predictions, labels).items()
        }

    def prediction_columns(self, predictions: Predictions, labels: LabelSet) -> dict[str, Column]:
        """Return the columns of predictions.tsv between id and text."""
        columns = self.decision_columns(predictions, labels)
        if labels.abstain_from is None:
            return columns
        return columns | {"abstain": self.uncertainty(predictions, labels) >= labels.abstain_from}

    @abc.abstractmethod
    def decision_columns(self, predictions: Predictions, labels: LabelSet) -> dict[str, Column]:
        """Return the columns with the decision and its probabilities."""

    def explained_score(self, predictions: Predictions, labels: LabelSet) -> tuple[dict[str, object], np.ndarray]:
        """Return row 0's prediction for JSON, and the score to explain per row, float64 [rows]."""
        raise self._impossible("explanations")

    # Calibration.

    def temperature_names(self, labels: Sequence[str]) -> Sequence[str]:
        """Return the labels that have separate temperatures; () if all logits share one."""
        return ()

    def fit_temperatures(self, logits: np.ndarray, label_ids: np.ndarray) -> tuple[float, ...]:
        """Return the temperatures of logits [n, L] that minimize the losses."""
        logits = np.asarray(logits, np.float64)
        return (self._fit_temperature(logits, label_ids),)

    def _fit_temperature(self, logits: np.ndarray, label_ids: np.ndarray) -> float:
        return fit_temperature(lambda t: float(self.postprocess(logits / t, label_ids)["losses"].mean()), len(logits))

    def calibrate(
        self, predictions: Predictions, label_ids: np.ndarray, calibration: Calibration
    ) -> dict[str, np.ndarray]:
        """Return `predictions` with calibrated probabilities and losses for `label_ids`, float32.

        `calibration` changes no decision, even if float32 rounds two probabilities to one value.
        """
        calibrated = self.postprocess(calibration.divide(predictions["logits"]), label_ids)
        rounded = {name: values.astype(np.float32) for name, values in calibrated.items()}
        rounded["probabilities"] = self.keep_decisions(predictions["probabilities"], rounded["probabilities"])
        return {**predictions, **rounded}

    def keep_decisions(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the probabilities `after` calibration, with the decisions from `before` it."""
        raise self._impossible("calibration")

    def calibration_error(self, label_ids: np.ndarray, predictions: Predictions) -> float:
        """Return the expected calibration error of the probabilities."""
        raise self._impossible("calibration")

    def uncertainty(self, predictions: Predictions, labels: LabelSet) -> np.ndarray:
        """Return the model's probability that a decision is wrong, float64 [n]."""
        raise self._impossible("uncertainty")

    def is_wrong(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet) -> np.ndarray:
        """Return which `predictions`, decided with `labels`, differ from `label_ids`, bool [n]."""
        raise self._impossible("wrong decisions")

    # Simple baselines to compare a trained model with.

    @abc.abstractmethod
    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        """Return `rows` equal predictions [rows] or [rows, outputs].

        They are the most frequent label in `label_ids`, or the mean.
        """

    def linear_prediction(
        self, features: "csr_matrix", label_ids: np.ndarray, test_features: "csr_matrix", outputs: int
    ) -> np.ndarray:
        """Return predictions [m] or [m, outputs] for test_features [m, f].

        A linear model is fitted on features [n, f] and label_ids [n].
        """
        raise self._impossible("linear model")

    @abc.abstractmethod
    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        """Return the loss of guessing: equal probabilities, or 0 for every row in a regression."""

    def learning_advice(self, label_ids: np.ndarray) -> str:
        """Return advice on training labels that cannot be learned, "" for usual labels."""
        return ""

    @abc.abstractmethod
    def collapse(self, predictions: Predictions, labels: LabelSet) -> str:
        """Return a description if all rows have the same prediction, "" otherwise."""

    # Evaluation.

    @abc.abstractmethod
    def evaluate(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet, batch_size: int) -> Scores:
        """Return metrics for `predictions`, `label_ids` and `labels`; raise InputError for NaN.

        The original's `loss` depends on `batch_size`.
        """

    @abc.abstractmethod
    def eval_columns(self, label_ids: np.ndarray, predictions: Predictions) -> dict[str, np.ndarray]:
        """Return the columns of eval_examples.jsonl, [n, …] each."""

    @abc.abstractmethod
    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """Return how wrong a row (a dict of eval_columns) is, 0 if it is correct."""

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        """Return a row's distance from its label, even if the prediction is correct."""
        return self.row_error(row, ())

    def out_of_fold(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet) -> dict[str, Column]:
        """Return columns for out_of_fold.tsv: `label_ids`, then `predictions` named by `labels`."""
        (_, predicted), *probabilities = self.decision_columns(predictions, labels).items()
        return {"given": self.label_column(label_ids, labels), "predicted": predicted, **dict(probabilities)}

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> Column:
        """Return the labels of n rows as a table column."""
        raise self._impossible("cross-validation")

    def suspects(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet) -> Suspects:
        """Return suspected errors in `label_ids`, from out-of-fold `predictions` and `labels`."""
        raise self._impossible("cross-validation")

    def _impossible(self, feature: str) -> NotImplementedError:
        # Unreachable for users: the *_refusal attributes reject such flags before data is read.
        return NotImplementedError(f"{self.name} has no {feature}")
