"""The interface of a problem type: everything that depends on what a model is asked about a text.

The rest of the package reads attributes and calls methods of the object and never asks which one it
is. The loss in TensorFlow is the one part that is elsewhere, in heads.losses under the same name,
because this room imports no TensorFlow.
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

# The predictions of a model for n examples in file order: `probabilities` [n, L] or `values` [n],
# `losses` [n] and `logits` [n, L].
Found = Mapping[str, np.ndarray]


class LabelSet(NamedTuple):
    """The names of a model's L outputs, () where they have none; thresholds: float64 [L], of
    multi-label classification. abstain_from: the uncertainty from which on a text is left for
    people, None where none is.
    """

    names: tuple[str, ...] = ()
    thresholds: np.ndarray | None = None
    abstain_from: float | None = None


class Scores(NamedTuple):
    """metrics: for eval_results.txt. details: for run_report.json. lines: of a table for the log."""

    metrics: dict[str, Any]
    details: dict[str, Any]
    lines: list[str]


class Suspects(NamedTuple):
    """Suspected label errors, sorted by confidence. rows: numbers of their examples; columns: of
    suspects.tsv.
    """

    rows: list[int]
    columns: dict[str, Column]


class ProblemType(abc.ABC):
    """One problem type. `labels` is the LabelSet of the model in every method; label_ids: see
    `label_array`.

    name             as --problem_type, flags.txt and the manifest spell it; the key of heads.losses.FORMULAS
    summary          in the help of --problem_type
    metrics          keys of eval_results.txt by which one evaluation can be better than another, the main one first
    label_shape      of label_ids in the letters of base.spec, and label_dtype, as NumPy calls it
    head_type        key of base.head_types.HEAD_TYPES
    activation       of the logits: softmax, sigmoid or identity
    output_name      the array of predictions; exported_name: the output of exported models
    hugging_face     problem_type in a config.json, None where the architecture says it
    has_endings      whether an example is a context with endings (examples.choice) and not one or two texts
    is_numeric       whether labels are numbers, so that outputs have no names and strata are intervals
    is_exclusive     whether an example has exactly one of the labels
    has_thresholds   whether --threshold applies
    chart            key of report.classification.CHARTS; mistakes_title: of the report's list of mistakes
    collapse_advice  what to do where all predictions are the same; "": what helps against any poor training
    baseline_names   names in run_report.json of the constant and of the linear prediction
    *_refusal        why --distill_from, the flags of the loss, --class_weights or --calibrate make no sense; "" where they do
    """

    name: str
    summary: str
    metrics: tuple[str, ...]
    # The defaults fit single-label classification, the type of most models.
    label_dtype = "int32"
    label_shape: tuple[str, ...] = ("B",)
    head_type = CLASSIFIER
    activation = "softmax"
    output_name = "probabilities"
    exported_name = "probabilities"
    hugging_face: str | None = None
    has_endings = False
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
        """Whether each output is a label with a name."""
        # Numbers have one output without a name, and endings are different ones in each row.
        return not self.is_numeric and not self.has_endings

    @property
    def batch_columns(self) -> tuple[spec.Column, ...]:
        """The arrays of a batch of a classifier; of multiple choice a sequence for each ending."""
        tokens = spec.windowed(spec.ENCODER) if self.has_endings else spec.ENCODER
        return (*tokens, spec.Column("label_ids", self.label_shape, self.label_dtype))

    def output_count(self, labels: Sequence[str]) -> int:
        """Outputs of the head of a model with these labels."""
        return len(labels) if self.has_named_outputs else 1

    # Labels of the data.

    def stated_labels(self, cells: LabelCells) -> tuple[str, ...] | None:
        """The labels, where the label columns say them; None where the labels of the rows have to
        be counted.
        """
        return None if self.has_named_outputs else ()

    def cell_labels(self, cells: LabelCells, row: int) -> tuple[str, ...]:
        """The labels in the one label cell of a row."""
        cell = cells.rows[row][0]
        return cell if isinstance(cell, tuple) else (cell,)

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> Sequence[Any]:
        """The label of each row, as `label_array` takes it. InputError, with the line, for one that
        does not fit.
        """
        raise self._impossible("labels in one column")

    @abc.abstractmethod
    def label_array(self, given: Sequence[Any], labels: Sequence[str]) -> np.ndarray:
        """label_ids of n examples, as the model takes them; zeros where a label is None, as in the
        original.
        """

    def stratum(self, label: Any) -> str | float:
        """Return the key that rows are sorted by before they are divided, a share per label."""
        return str(label)

    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        """Training rows of each of `count` labels for --class_weights, float64: [L], or [L, 2]
        (without, with the label).
        """
        raise self._impossible("class weights")

    def label_weights(self, weights: np.ndarray) -> np.ndarray:
        """Given weights [L] in the shape of label_counts."""
        return weights

    # Logits and predictions.

    @abc.abstractmethod
    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        """`output_name` and `losses` of float32 logits [n, outputs], as the head computes them in
        TensorFlow.
        """

    def logits(self, probabilities: np.ndarray) -> np.ndarray:
        """The inverse of the activation, float32 [n, L], for distillation."""
        raise self._impossible("distillation")

    @abc.abstractmethod
    def decisions(self, found: Found, labels: LabelSet) -> list[Any]:
        """The prediction for each example: a name, a tuple of names, a number, or the index of an
        ending.
        """

    def record(self, found: Found, row: int, labels: LabelSet) -> dict[str, Any]:
        """The prediction for one example, ready for JSON: its prediction_columns."""
        own = {self.output_name: found[self.output_name][row : row + 1]}
        return {name: json_values(column)[0] for name, column in self.prediction_columns(own, labels).items()}

    def prediction_columns(self, found: Found, labels: LabelSet) -> dict[str, Column]:
        """Columns of predictions.tsv between id and text."""
        columns = self.decision_columns(found, labels)
        if labels.abstain_from is None:
            return columns
        return columns | {"abstain": self.uncertainty(found, labels) >= labels.abstain_from}

    @abc.abstractmethod
    def decision_columns(self, found: Found, labels: LabelSet) -> dict[str, Column]:
        """The columns of a prediction and its probabilities."""

    def explained_score(self, found: Found, labels: LabelSet) -> tuple[dict[str, object], np.ndarray]:
        """(the prediction of row 0 for JSON, the score that its words add up to in each row:
        float64 [rows]).
        """
        raise self._impossible("explanations")

    # Calibration.

    def temperature_names(self, labels: Sequence[str]) -> Sequence[str]:
        """The labels that have a temperature each; () where all logits have one."""
        return ()

    def fit_temperatures(self, logits: np.ndarray, label_ids: np.ndarray) -> tuple[float, ...]:
        """The temperatures of logits [n, L] with the least losses."""
        logits = np.asarray(logits, np.float64)
        return (self._fit_temperature(logits, label_ids),)

    def _fit_temperature(self, logits: np.ndarray, label_ids: np.ndarray) -> float:
        return fit_temperature(lambda t: float(self.postprocess(logits / t, label_ids)["losses"].mean()), len(logits))

    def calibrated(self, found: Found, label_ids: np.ndarray, calibration: Calibration) -> dict[str, np.ndarray]:
        """The same predictions with the probabilities and losses of calibrated logits, float32. No
        decision changes, also where float32 rounds two probabilities to one.
        """
        made = self.postprocess(calibration.divide(found["logits"]), label_ids)
        rounded = {name: values.astype(np.float32) for name, values in made.items()}
        rounded["probabilities"] = self.keep_decisions(found["probabilities"], rounded["probabilities"])
        return {**found, **rounded}

    def keep_decisions(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Probabilities `after` calibration, with the decisions of those `before` it."""
        raise self._impossible("calibration")

    def calibration_error(self, label_ids: np.ndarray, found: Found) -> float:
        """The expected calibration error of the probabilities."""
        raise self._impossible("calibration")

    def uncertainty(self, found: Found, labels: LabelSet) -> np.ndarray:
        """The probability that a decision is wrong, as the model sees it: float64 [n]."""
        raise self._impossible("uncertainty")

    def is_wrong(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> np.ndarray:
        """Which decisions are wrong: bool [n]."""
        raise self._impossible("wrong decisions")

    # Simple predictors, which a trained model is compared with.

    @abc.abstractmethod
    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        """`output_name` for `rows` equal rows: the most frequent label of the training rows,
        or their mean.
        """

    def linear_prediction(
        self, features: "csr_matrix", label_ids: np.ndarray, others: "csr_matrix", outputs: int
    ) -> np.ndarray:
        """`output_name` for the rows `others` [m, f], by a linear model of training features [n,
        f].
        """
        raise self._impossible("linear model")

    @abc.abstractmethod
    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        """The loss of guessing: of equal probabilities; of a regression, of 0 for every row."""

    def learning_advice(self, label_ids: np.ndarray) -> str:
        """Return what to do about training labels that cannot be learned, "" for usual ones."""
        return ""

    @abc.abstractmethod
    def collapse(self, found: Found, labels: LabelSet) -> str:
        """What the predictions have in common where all of them are the same, "" where they differ."""

    # Evaluation.

    @abc.abstractmethod
    def evaluate(self, label_ids: np.ndarray, found: Found, labels: LabelSet, batch_size: int) -> Scores:
        """Metrics; batch_size: of the evaluation, on which the original's `loss` depends.
        InputError for NaN.
        """

    @abc.abstractmethod
    def eval_columns(self, label_ids: np.ndarray, found: Found) -> dict[str, np.ndarray]:
        """What eval_examples.jsonl has of its rows, [n, …] each."""

    @abc.abstractmethod
    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """How wrong a row is, with the members of eval_columns; 0 where it is right."""

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        """How far a row is from its label, also where the prediction is right; larger is worse."""
        return self.row_error(row, ())

    def out_of_fold(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> dict[str, Column]:
        """Columns of out_of_fold.tsv: the given label, the prediction, and its probabilities."""
        (_, predicted), *others = self.decision_columns(found, labels).items()
        return {"given": self.label_column(label_ids, labels), "predicted": predicted, **dict(others)}

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> Column:
        """The labels of n rows as a column of a table."""
        raise self._impossible("cross-validation")

    def suspects(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> Suspects:
        """Suspected label errors among rows that were predicted by models that had not seen them."""
        raise self._impossible("cross-validation")

    def _impossible(self, what: str) -> NotImplementedError:
        # The flags that ask for it are refused with a sentence before data is read; see the
        # *_refusal attributes.
        return NotImplementedError(f"{self.name} has no {what}")
