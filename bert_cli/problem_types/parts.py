"""The parts that all problem types have: label reader, decoder, columns; metrics.py has a fourth.

optional_parts.py has those that a type may lack.

Parts have no state. Their methods share these arguments: `label_ids` is an array from
`LabelReader.label_array`, `predictions` are a model's predictions for the same rows, and `labels`
is the model's LabelSet.
"""

import abc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base.errors import refuse_if
from bert_cli.base.formats import quote
from bert_cli.base.names import show_names
from bert_cli.metrics.custom import MetricArrays
from bert_cli.metrics.doubts import DOUBTS, Doubt
from bert_cli.problem_types.columns import Column, FlagColumn, LabelCells

# Model predictions for n examples in file order: `probabilities` [n, L] or `values` [n], `losses`
# [n] and `logits` [n, L]; with --weighted_metrics also the rows' `weights` [n].
PredictionArrays = Mapping[str, np.ndarray]


class LabelSet(NamedTuple):
    """Names and decision rules for a model's L outputs.

    Attributes:
        names: output names, () if outputs have no names.
        thresholds: float64 [L] for multi-label classification; for two exclusive labels with
            --threshold, NaN for the label without one, see predict_labels; None otherwise.
        abstain_from: uncertainty from which people have to label a text, or None.
        positive: the label in --positive_label, "" to use the default; see Metrics.positive_label.
    """

    names: tuple[str, ...] = ()
    thresholds: np.ndarray | None = None
    abstain_from: float | None = None
    positive: str = ""

    @property
    def positive_index(self) -> int:
        """Return the index of the positive label; there are two labels."""
        return self.names.index(self.positive) if self.positive else 1


MetricValues = dict[str, Any]  # metrics for eval_results.txt


class Scores(NamedTuple):
    """Metrics for eval_results.txt, details for run_report.json, and a table's lines for the log."""

    metrics: MetricValues
    details: dict[str, Any]
    lines: list[str]


class Strata(NamedTuple):
    """Strata, whose shares are equal in all splits.

    Attributes:
        rows: each row's labels, or the interval of its number.
        are_names: whether strata are labels, and training needs each of them.
    """

    rows: list[list[str]]
    are_names: bool = True


def nothing_to_learn_warning(label: str) -> str:
    """Return a warning about training rows with only one label, given in words."""
    return f"every row has {label}, so there is nothing to learn; check --label_column"


def rank_by_doubt(name: str, probabilities: np.ndarray, thresholds: np.ndarray | None) -> np.ndarray:
    """Return row numbers, most doubtful first; raise InputError for an unknown measure.

    Args:
        name: a key in DOUBTS.
        probabilities: float [n, L].
        thresholds: see LabelSet.
    """
    refuse_if(name not in DOUBTS, f"by={name!r}: one of {', '.join(DOUBTS)} is needed")
    return DOUBTS[name].order(measure_doubt(DOUBTS[name], probabilities, thresholds))


def measure_doubt(doubt: Doubt, probabilities: np.ndarray, thresholds: np.ndarray | None) -> np.ndarray:
    """Return a measure, float64 [n].

    Args:
        doubt: the measure to use.
        probabilities: float [n, L].
        thresholds: see LabelSet.
    """
    exact = np.asarray(probabilities, np.float64)
    return doubt.of_label(exact) if thresholds is None else doubt.of_labels(exact, thresholds)


class LabelReader(abc.ABC):
    """Reader of labels: from a table's cells to the array `label_ids`.

    Attributes:
        dtype, shape: NumPy dtype of label_ids, and shape in the letters of base.spec.
        num_outputs: number of outputs if they have no names; None for an output per label name.
        min_labels: the fewest labels that a model can learn.
        takes_sets: whether a row may have any number of labels.
    """

    # The defaults fit single-label classification, the type of most models.
    dtype = "int32"
    shape: tuple[str, ...] = ("B",)
    num_outputs: int | None = None
    min_labels = 2
    takes_sets = False

    def output_count(self, labels: Sequence[str]) -> int:
        """Return the number of head outputs for these labels."""
        return len(labels) if self.num_outputs is None else self.num_outputs

    def keep_names(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return label names, which may be unknown (None), or () if outputs have no names."""
        return names if self.num_outputs is None else ()

    def check_flag_labels(self, model: str) -> None:  # noqa: B027 - outputs with names pass
        """Raise InputError for --labels if a model's outputs have no names; `model` names it."""

    def classes(self, label_ids: np.ndarray) -> np.ndarray | None:
        """Return the only label of each row, an index into the names; None without such labels."""
        return None

    @abc.abstractmethod
    def label_array(self, row_labels: Sequence[Any], labels: Sequence[str]) -> np.ndarray:
        """Return the label_ids of n examples; 0 for a missing label (None), as in the original."""

    def stratum(self, label: Any) -> str | float:
        """Return the sort key for stratified splits, which keep label shares equal."""
        return str(label)

    def strata(self, labels: Sequence[Any]) -> Strata:
        """Return the strata of rows with these labels."""
        return Strata([[str(label)] for label in labels])

    def row_names(self, label: Any, names: Sequence[str]) -> Iterable[str]:
        """Return one row's label names; `names` are in output order."""
        return (str(label),)

    def learning_advice(self, label_ids: np.ndarray) -> str:
        """Return advice on training labels that cannot be learned, "" for usual labels."""
        return ""


class CellReader(LabelReader):
    """Reader of labels in the label columns of a table."""

    def labels_from_columns(self, cells: LabelCells) -> tuple[str, ...] | None:
        """Return the labels if the columns name them, None if they must be counted in the rows."""
        return None

    def cell_labels(self, cells: LabelCells, row: int) -> tuple[str, ...]:
        """Return the labels in the only label cell of a row."""
        cell = cells.rows[row][0]
        return cell if isinstance(cell, tuple) else (cell,)

    @abc.abstractmethod
    def parse(self, cells: LabelCells, labels: Sequence[str]) -> Sequence[Any]:
        """Return row labels for `label_array`; raise InputError with the line of an invalid label."""

    def label_doubt(self, labels: Sequence[Any]) -> str:
        """Return why a model cannot learn the labels from `parse`, "" for usual labels."""
        if len(set(labels)) != 1:
            return ""
        return nothing_to_learn_warning(
            f"the label {quote(labels[0])}" if isinstance(labels[0], str) else "the same labels"
        )


class OutputDecoder(abc.ABC):
    """Decoder of a head's outputs: from logits to predictions, and from predictions to decisions.

    Attributes:
        activation: activation used on the logits: softmax, sigmoid or identity.
        output_name, exported_name: array of predictions, and output name of exported models.
    """

    activation = "softmax"
    output_name = "probabilities"
    exported_name = "probabilities"

    @abc.abstractmethod
    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        """Return `output_name` and `losses` for logits float32 [n, outputs], as heads compute them."""

    @abc.abstractmethod
    def logits(self, outputs: np.ndarray) -> np.ndarray:
        """Invert the activation: return logits [n, L] of probabilities [n, L] or numbers [n]."""

    def initial_bias(self, label_ids: np.ndarray) -> float | None:
        """Return the bias that a new head has before training on these labels; None for 0."""
        return None

    @abc.abstractmethod
    def decisions(self, predictions: PredictionArrays, labels: LabelSet) -> list[Any]:
        """Return each example's prediction: a name, a tuple of names, a number or a choice's index."""

    def label_values(self, label_ids: np.ndarray, labels: LabelSet) -> list[Any]:
        """Return the labels of n rows in the form of `decisions`."""
        return label_ids.tolist()


class ProbabilityDecoder(OutputDecoder):
    """Decoder that returns probabilities."""

    @abc.abstractmethod
    def uncertainty(self, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        """Return the model's probability that a decision is wrong, float64 [n]."""


@dataclass(frozen=True)
class PredictionColumns(abc.ABC):
    """Columns of tables with predictions, and their entries in JSON.

    Attributes:
        decoder: the problem type's decoder.
        chart: key of report.classification.CHARTS.
        mistakes_title: heading used for the report's mistakes.
    """

    decoder: OutputDecoder
    chart: str = "calibration"
    mistakes_title: str = "The most confident mistakes"

    def prediction_columns(self, predictions: PredictionArrays, labels: LabelSet) -> dict[str, Column]:
        """Return the columns of predictions.tsv between id and text."""
        return self.decision_columns(predictions, labels)

    @abc.abstractmethod
    def decision_columns(self, predictions: PredictionArrays, labels: LabelSet) -> dict[str, Column]:
        """Return the columns with the decision and its probabilities."""

    @abc.abstractmethod
    def metric_arrays(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> MetricArrays:
        """Return the arguments of the user's metrics: `label_ids`, and `predictions` by `labels`."""

    @abc.abstractmethod
    def eval_columns(self, label_ids: np.ndarray, predictions: PredictionArrays) -> dict[str, np.ndarray]:
        """Return the columns of eval_examples.jsonl, [n, …] each."""

    def describe_names(self, names: Sequence[str]) -> str:
        """Return label names for the log, or "" for choices."""
        return show_names(names)

    def eval_head(self, labels: LabelSet) -> dict[str, list[str]]:
        """Return the label names for the first line of eval_examples.jsonl, {} for choices."""
        return {"labels": list(labels.names)}

    @abc.abstractmethod
    def read_eval_rows(self, rows: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return label_ids and predictions of rows from eval_examples.jsonl, see `eval_columns`."""


@dataclass(frozen=True)
class ProbabilityColumns(PredictionColumns):
    """Columns with probabilities, and with a column `abstain` if people label uncertain texts."""

    decoder: ProbabilityDecoder

    def prediction_columns(self, predictions: PredictionArrays, labels: LabelSet) -> dict[str, Column]:
        columns = super().prediction_columns(predictions, labels)
        if labels.abstain_from is None:
            return columns
        return columns | {"abstain": FlagColumn(self.decoder.uncertainty(predictions, labels) >= labels.abstain_from)}
