"""Multi-label classification: each text has any number of labels; sigmoid and cross entropy."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.metrics import multi_label
from bert_cli.metrics.classification import LOSSES
from bert_cli.metrics.custom import MetricArrays
from bert_cli.problem_types.calibration import Calibrator, reliability
from bert_cli.problem_types.columns import (
    FLAGS,
    Column,
    FlagColumn,
    LabelCells,
    NameListColumn,
    NumberColumn,
    Probabilities,
    TextColumn,
    read_probabilities,
    round_to_six_digits,
)
from bert_cli.problem_types.linear_models import binary_probabilities, fit_binary_logistic
from bert_cli.problem_types.metrics import ProbabilityMetrics, format_undefined
from bert_cli.problem_types.optional_parts import (
    ClassWeights,
    Distiller,
    Explainer,
    FoldColumns,
    LabelLoss,
    Suspects,
    TextAnswers,
    Thresholds,
)
from bert_cli.problem_types.parts import (
    CellReader,
    LabelSet,
    MetricValues,
    PredictionArrays,
    ProbabilityColumns,
    ProbabilityDecoder,
    Scores,
    Strata,
)
from bert_cli.problem_types.problem_type import ProblemType

_LEAST = 1e-7  # the smallest probability p that float32 separates from 0 while it separates 1 - p from 1


def _thresholds(labels: LabelSet) -> np.ndarray:
    assert labels.thresholds is not None, "a multi-label model has thresholds"
    return labels.thresholds


def _over(predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
    """Return which labels are predicted, bool [n, L]."""
    return multi_label.over_thresholds(predictions["probabilities"], _thresholds(labels))


def _select_names(labels: LabelSet, is_present: np.ndarray) -> tuple[str, ...]:
    return tuple(name for name, is_named in zip(labels.names, is_present, strict=True) if is_named)


class MultiLabelReader(CellReader):
    """Reader of 0 and 1 per label name, and of lists of names; label_ids float32 [n, L]."""

    dtype = "float32"
    shape = ("B", "L")
    min_labels = 1  # some texts may have no label
    takes_sets = True

    def labels_from_columns(self, cells: LabelCells) -> tuple[str, ...] | None:
        """Return the column names if each label has a separate column of 0 and 1, None otherwise."""
        return tuple(cells.columns) if cells.are_flags else None

    def cell_labels(self, cells: LabelCells, row: int) -> tuple[str, ...]:
        return cells.names(row)

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> list[tuple[int, ...]]:
        if len(cells.columns) > 1 or (len(labels) == 1 and cells.are_flags):
            return self._parse_columns(cells, labels)
        row_labels = [cells.names(row) for row in range(len(cells.rows))]
        cells.check_known(row_labels, labels)
        return [tuple(int(label in names) for label in labels) for names in row_labels]

    def strata(self, labels: Sequence[Any]) -> Strata:
        return Strata([list(map(str, np.flatnonzero(label))) for label in labels])

    def row_names(self, label: Any, names: Sequence[str]) -> Iterable[str]:
        return itertools.compress(names, label)

    def _parse_columns(self, cells: LabelCells, labels: Sequence[str]) -> list[tuple[int, ...]]:
        """Read one column of 0 and 1 per label, in any order if the header names the labels."""
        names = cells.columns
        # Match columns by name if there is a header, and by order otherwise.
        if cells.has_header and set(names) == set(labels):
            order = [names.index(label) for label in labels]
        elif len(names) == len(labels):
            order = list(range(len(names)))
        else:
            raise InputError(
                f"{cells.path}:1: label columns {', '.join(names)}, but the model's labels are {', '.join(labels)}"
            )
        cells.check_flags()
        return [tuple(FLAGS[str(row[column])] for column in order) for row in cells.rows]

    def label_array(self, row_labels: Sequence[Sequence[int] | None], labels: Sequence[str]) -> np.ndarray:
        no_labels = (0,) * len(labels)
        rows = [no_labels if label is None else label for label in row_labels]
        # Reshape, because an empty list has no second axis and the model needs [0, L].
        return np.array(rows, np.float32).reshape(len(rows), len(labels))


class MultiLabelWeights(ClassWeights):
    """A pair of weights per label, for rows without and with it."""

    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        present = label_ids.sum(axis=0)
        return np.stack([len(label_ids) - present, present], axis=1).astype(np.float64)

    def label_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return weights [L, 2]: 1 for rows without the label, the given weight for rows with it.

        Each label is a separate yes/no question.
        """
        return np.stack([np.ones_like(weights), weights], axis=1)


class MultiLabelThresholds(Thresholds):
    """A threshold per label."""

    def for_labels(self, names: Sequence[str]) -> Self:
        return self

    def default(self, names: Sequence[str]) -> np.ndarray:
        return np.full(len(names), multi_label.DEFAULT_THRESHOLD)

    def fill(self, threshold: float, labels: LabelSet) -> np.ndarray:
        return np.full(len(labels.names), threshold)

    def tune(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        return multi_label.tune_thresholds(label_ids, predictions["probabilities"])

    def read(self, path: str, names: Sequence[str]) -> np.ndarray:
        return multi_label.read_thresholds(path, names)

    def mean(self, thresholds: Sequence[np.ndarray], num_models: int) -> np.ndarray:
        return np.mean(thresholds, axis=0)


class MultiLabelDecoder(ProbabilityDecoder):
    """Decoder of a sigmoid per label, with a threshold per label."""

    activation = "sigmoid"

    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        # Stable form of log(1 + e^x) − x · y, without a large power.
        losses = np.maximum(logits, 0) - logits * label_ids + np.log1p(np.exp(-np.abs(logits)))
        return {"probabilities": np.exp(-np.logaddexp(0, -logits)), "losses": losses.mean(axis=-1)}

    def logits(self, outputs: np.ndarray) -> np.ndarray:
        clipped = np.clip(outputs.astype(np.float64), _LEAST, 1 - _LEAST)
        return (np.log(clipped) - np.log1p(-clipped)).astype(np.float32)

    def decisions(self, predictions: PredictionArrays, labels: LabelSet) -> list[tuple[str, ...]]:
        """Return each row's labels at or above their thresholds, in the order of `labels`."""
        return [_select_names(labels, row) for row in _over(predictions, labels)]

    def label_values(self, label_ids: np.ndarray, labels: LabelSet) -> list[tuple[str, ...]]:
        return [_select_names(labels, row) for row in label_ids > 0]

    def uncertainty(self, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        """Return 1 − the probability that all decisions are correct."""
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        wrong = np.where(_over(predictions, labels), 1.0 - probabilities, probabilities)
        return -np.expm1(np.log1p(-np.minimum(wrong, 1.0 - _LEAST)).sum(axis=1))


class MultiLabelExplainer(Explainer):
    """Explainer of the most probable label."""

    def explained_score(
        self, predictions: PredictionArrays, labels: LabelSet, label: int | None = None
    ) -> tuple[dict[str, object], np.ndarray]:
        # The score is the log-odds of the explained label, its logit.
        label = int(predictions["probabilities"][0].argmax()) if label is None else label
        probability = np.asarray(predictions["probabilities"], np.float64)[:, label]
        probability = np.clip(probability, 1e-7, 1 - 6e-8)  # float32 has no value between this and 1
        [is_predicted] = _over({"probabilities": predictions["probabilities"][:1]}, labels)
        prediction = {
            "labels": list(_select_names(labels, is_predicted)),
            "explained_label": labels.names[label],
            "probability": round_to_six_digits(predictions["probabilities"][0, label]),
        }
        return prediction, np.log(probability) - np.log1p(-probability)

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        decisions = zip(row["labels"], row["probabilities"], strict=True)
        return max((abs(is_present - probability) for is_present, probability in decisions), default=0.0)


class MultiLabelCalibrator(Calibrator):
    """A temperature per label."""

    def temperature_names(self, labels: Sequence[str]) -> Sequence[str]:
        """Return all labels: each is a separate question with a separate temperature."""
        return labels

    def fit_temperatures(self, logits: np.ndarray, label_ids: np.ndarray) -> tuple[float, ...]:
        columns = range(logits.shape[1])
        logits = np.asarray(logits, np.float64)
        return tuple(self._fit_temperature(logits[:, [column]], label_ids[:, [column]]) for column in columns)

    def keep_decisions(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Keep each decision at threshold 0.5, which is a logit of 0 at any temperature."""
        threshold = multi_label.DEFAULT_THRESHOLD
        return np.where((after >= threshold) == (before >= threshold), after, before)


class MultiLabelMetrics(ProbabilityMetrics):
    """Scores of all labels, and of each."""

    collapse_advice = "--threshold=tuned finds the threshold of each label on the dev set"

    def names(self, labels: LabelSet) -> tuple[str, ...]:
        averages = ("eval_roc_auc", "eval_roc_auc_micro", "eval_average_precision")
        return ("eval_micro_f1", "eval_macro_f1", "eval_subset_accuracy", *averages, *LOSSES)

    def measure(
        self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet, batch_size: int
    ) -> MetricValues:
        losses, probabilities, weights = predictions["losses"], predictions["probabilities"], predictions.get("weights")
        return {
            **multi_label.measure_labels(label_ids, losses, probabilities, _thresholds(labels), batch_size, weights)
        }

    def evaluate(
        self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet, batch_size: int
    ) -> Scores:
        losses, probabilities, thresholds = predictions["losses"], predictions["probabilities"], _thresholds(labels)
        results, details = multi_label.multi_label_metrics(
            label_ids, losses, probabilities, labels.names, thresholds, batch_size
        )
        if "weights" in predictions:
            results = self.measure(label_ids, predictions, labels, batch_size)
        lines = multi_label.format_multi_label(details) + format_undefined(self.undefined(label_ids, labels))
        return Scores(results, details, lines)

    def undefined(self, label_ids: np.ndarray, labels: LabelSet) -> dict[str, str]:
        return multi_label.undefined_scores(label_ids)

    def num_sorted(self, label_ids: np.ndarray) -> int:
        return label_ids.size

    def collapse(self, predictions: PredictionArrays, labels: LabelSet) -> str:
        return "" if _over(predictions, labels).any() else "no row gets a label"

    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        """Return the labels that most training rows have, for each row.

        Args:
            label_ids: labels of training rows, [n, outputs].
            rows: number of rows to predict.
            outputs: number of labels.
        """
        return np.tile((label_ids.mean(axis=0) > 0.5).astype(np.float64), (rows, 1))

    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        return math.log(2)

    def is_wrong(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        """Return which rows have at least one wrong label, bool [n].

        Args:
            label_ids: labels in the data, [n, L].
            predictions: predictions for the same rows.
            labels: label names and thresholds.
        """
        return (_over(predictions, labels) != (np.asarray(label_ids) > 0)).any(axis=1)

    def calibration_error(self, label_ids: np.ndarray, predictions: PredictionArrays) -> float:
        """Return the mean calibration error over labels."""
        columns = zip(np.asarray(predictions["probabilities"], np.float64).T, np.asarray(label_ids).T > 0, strict=True)
        return float(np.mean([reliability(probability, is_present).error for probability, is_present in columns]))

    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """Return the largest distance between a wrong decision's probability and its label."""
        # A mean over many absent labels would hide one bad miss.
        decisions = zip(row["labels"], row["probabilities"], thresholds, strict=True)
        return max(
            (
                abs(is_present - probability)
                for is_present, probability, threshold in decisions
                if (probability >= threshold) != bool(is_present)
            ),
            default=0.0,
        )


class MultiLabelColumns(ProbabilityColumns, FoldColumns):
    """All labels at or above their thresholds, and all probabilities."""

    def metric_arrays(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> MetricArrays:
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        return MetricArrays(label_ids.astype(int), _over(predictions, labels).astype(int), probabilities)

    def decision_columns(self, predictions: PredictionArrays, labels: LabelSet) -> dict[str, Column]:
        """Return label names (see NameListColumn; a list in jsonl) and probabilities."""
        return {
            "labels": self.label_column(_over(predictions, labels), labels),
            "probabilities": Probabilities(labels.names, predictions["probabilities"]),
        }

    def eval_columns(self, label_ids: np.ndarray, predictions: PredictionArrays) -> dict[str, np.ndarray]:
        return {"labels": (np.asarray(label_ids) > 0).astype(int), "probabilities": predictions["probabilities"]}

    def read_eval_rows(self, rows: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        return np.array([row["labels"] for row in rows]), read_probabilities(rows)

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> Column:
        has_commas = any("," in name for name in labels.names)
        return NameListColumn(self.decoder.label_values(label_ids, labels), has_commas)

    def suspects(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> Suspects:
        """Return each wrong decision about a row's label, least probable given label first.

        The columns are label, given and predicted (yes or no), and probability (of the given
        answer).

        Args:
            label_ids: the given labels, [n, L].
            predictions: predictions of models that had not seen the rows.
            labels: label names and thresholds.
        """
        is_present = label_ids > 0
        probabilities = predictions["probabilities"]
        rows, columns_of = np.nonzero(is_present != _over(predictions, labels))
        probability = np.where(is_present, probabilities, 1.0 - probabilities)[rows, columns_of]
        # Each label is a separate decision, so a row may be listed more than once.
        order = np.argsort(probability, kind="stable")
        gold = is_present[rows, columns_of][order]
        columns: dict[str, Column] = {
            "label": TextColumn([labels.names[column] for column in columns_of[order]]),
            "given": FlagColumn(gold),
            "predicted": FlagColumn(~gold),
            "probability": NumberColumn(probability[order].astype(np.float32)),
        }
        return Suspects(rows[order].tolist(), columns)


_DECODER, _METRICS = MultiLabelDecoder(), MultiLabelMetrics()
_READER, _COLUMNS = MultiLabelReader(), MultiLabelColumns(_DECODER, chart="roc")
MULTI_LABEL = ProblemType(
    name="multi_label",
    summary="any number of labels per text",
    reader=_READER,
    cell_reader=_READER,
    decoder=_DECODER,
    metrics=_METRICS,
    columns=_COLUMNS,
    calibrator=MultiLabelCalibrator(_DECODER, _METRICS),
    label_loss=LabelLoss(MultiLabelWeights()),
    distiller=Distiller(_DECODER),
    text_answers=TextAnswers(_COLUMNS),
    explainer=MultiLabelExplainer(),
    fold_columns=_COLUMNS,
    thresholds=MultiLabelThresholds(),
    linear_baseline=binary_probabilities,
    fit_head=fit_binary_logistic,
    hugging_face="multi_label_classification",
)
