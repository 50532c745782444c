"""Problem types with exactly one correct output: single-label and multiple choice.

A softmax decodes them. examples.choice reads the labels of multiple choice. An output's index is the label id.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more
from bert_cli.base.head_types import CHOICE
from bert_cli.metrics.classification import predict_labels
from bert_cli.metrics.custom import MetricArrays
from bert_cli.metrics.multi_label import DEFAULT_THRESHOLD, read_thresholds, tune_thresholds
from bert_cli.problem_types.calibration import Calibrator
from bert_cli.problem_types.columns import (
    SKIP_ADVICE,
    Column,
    LabelCells,
    NumberColumn,
    Probabilities,
    TextColumn,
    read_probabilities,
    round_to_six_digits,
)
from bert_cli.problem_types.exclusive_metrics import ExclusiveMetrics, SingleLabelMetrics, output_names
from bert_cli.problem_types.kinds import CHOICE_USES
from bert_cli.problem_types.linear_models import fit_logistic, logistic_probabilities
from bert_cli.problem_types.optional_parts import (
    NO_CLASSES,
    ClassWeights,
    Distiller,
    Explainer,
    FoldColumns,
    LabelLoss,
    MissingPart,
    Suspects,
    TextAnswers,
    Thresholds,
)
from bert_cli.problem_types.parts import (
    CellReader,
    LabelReader,
    LabelSet,
    PredictionArrays,
    ProbabilityColumns,
    ProbabilityDecoder,
)
from bert_cli.problem_types.problem_type import ProblemType


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return the log-softmax over the last axis, in the logits' dtype."""
    # Shift the largest logit to 0, so that no exponential overflows.
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def mean_cross_entropy(distributions: np.ndarray, logits: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the mean of −Σ p log softmax(logits) in nats.

    Args:
        distributions: p, float [n, L].
        logits: float [n, L].
        weights: weight per row, float [n]; None for equal weights.
    """
    logs = log_softmax(np.asarray(logits, np.float64))
    return float(np.average(-(np.asarray(distributions, np.float64) * logs).sum(axis=-1), weights=weights))


class ExclusiveDecoder(ProbabilityDecoder):
    """Decoder of a softmax."""

    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        # Compute the loss from logarithms: a probability that float32 rounds to 0 still has a
        # finite loss.
        logs = log_softmax(logits)
        return {
            "probabilities": np.exp(logs),
            "losses": -logs[np.arange(len(label_ids)), label_ids],
        }

    def logits(self, outputs: np.ndarray) -> np.ndarray:
        """Return logits up to a constant per row, which a softmax ignores."""
        # A probability of 0 has no logarithm. The smallest normal float32 is far below any value
        # that matters.
        return np.log(np.maximum(outputs, np.finfo(np.float32).tiny))

    def decisions(self, predictions: PredictionArrays, labels: LabelSet) -> list[Any]:
        """Return each row's predicted output as an index, see predict_labels."""
        return predict_labels(predictions["probabilities"], labels.thresholds).tolist()

    def uncertainty(self, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        """Return the total probability of the outputs that are not predicted."""
        probabilities = np.array(predictions["probabilities"], np.float64)
        # Sum instead of subtracting from 1: next to 1, the largest probability has lost its digits.
        predicted = predict_labels(predictions["probabilities"], labels.thresholds)
        np.put_along_axis(probabilities, predicted[:, np.newaxis], 0.0, axis=1)
        return probabilities.sum(axis=1)


class ExclusiveCalibrator(Calibrator):
    """One temperature for all outputs."""

    def keep_decisions(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        best = before.argmax(axis=1)
        rows = np.flatnonzero(after.argmax(axis=1) != best)
        after[rows, best[rows]] = np.nextafter(after[rows].max(axis=1), np.float32(2))
        return after


class ExclusiveColumns(ProbabilityColumns):
    """The most probable output, and all probabilities."""

    def metric_arrays(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> MetricArrays:
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        # Sums of float32 numbers are too far from 1 for scikit-learn's log_loss.
        decided = predict_labels(predictions["probabilities"], labels.thresholds)
        return MetricArrays(label_ids, decided, probabilities / probabilities.sum(axis=1, keepdims=True))

    def decision_columns(self, predictions: PredictionArrays, labels: LabelSet) -> dict[str, Column]:
        return {
            "label": TextColumn([str(label) for label in self.decoder.decisions(predictions, labels)]),
            "probabilities": Probabilities(output_names(predictions, labels), predictions["probabilities"]),
        }

    def eval_columns(self, label_ids: np.ndarray, predictions: PredictionArrays) -> dict[str, np.ndarray]:
        return {"label": label_ids, "probabilities": predictions["probabilities"]}

    def read_eval_rows(self, rows: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        return np.array([row["label"] for row in rows]), read_probabilities(rows)


class ChoiceReader(LabelReader):
    """Reader of choice indices; label_ids int32 [n].

    A choice's index is not a class: a model with one output serves any number of choices. So there
    are no label names, class weights or suspected label errors.
    """

    num_outputs = 1

    def check_flag_labels(self, model: str) -> None:
        raise InputError(f"--labels: {model} chooses among endings; leave them out")

    def label_array(self, row_labels: Sequence[int | None], labels: Sequence[str]) -> np.ndarray:
        return np.array([0 if label is None else label for label in row_labels], np.int32)


class ChoiceColumns(ExclusiveColumns):
    """Columns with indices of choices."""

    def describe_names(self, names: Sequence[str]) -> str:
        return ""

    def eval_head(self, labels: LabelSet) -> dict[str, list[str]]:
        return {}


_CHOICE_DECODER, _CHOICE_METRICS = ExclusiveDecoder(), ExclusiveMetrics()
MULTIPLE_CHOICE = ProblemType(
    name="multiple_choice",
    summary="multiple choice, one of --choice_columns",
    reader=ChoiceReader(),
    cell_reader=MissingPart("has labels of texts, and multiple choice has endings; give --choice_columns"),
    decoder=_CHOICE_DECODER,
    metrics=_CHOICE_METRICS,
    columns=ChoiceColumns(_CHOICE_DECODER),
    calibrator=ExclusiveCalibrator(_CHOICE_DECODER, _CHOICE_METRICS),
    label_loss=LabelLoss(MissingPart("is about labels, and the endings of a choice are none")),
    distiller=MissingPart("learns the probabilities of labels, which multiple choice does not have"),
    text_answers=MissingPart("this is a multiple-choice model"),
    explainer=MissingPart("explains the words of one sequence, and multiple choice has one per choice"),
    fold_columns=MissingPart("compares labels, which multiple choice does not have"),
    fit_head=MissingPart(NO_CLASSES),
    head_type=CHOICE,
    uses=CHOICE_USES,
    has_choices=True,
)


_NAME = "single_label"
_LEAST = 1e-30  # smallest probability, so that 0 has a logarithm


def _label_names(label_ids: np.ndarray, labels: LabelSet) -> list[str]:
    return [labels.names[label] for label in label_ids]


class SingleLabelReader(CellReader):
    """Reader of names; label_ids int32 [n] are indices into the label names."""

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> list[str]:
        cells.check_one_column(_NAME)
        empty = [line for line, row in zip(cells.lines, cells.rows, strict=True) if not row[0]]
        if empty:
            raise InputError(
                f"{cells.path}:{empty[0]}: the label is empty{count_more(empty)}; every row needs one; {SKIP_ADVICE}"
            )
        # Accept a list with one name: labels in JSON lines are often lists.
        row_labels = [self.cell_labels(cells, row) for row in range(len(cells.rows))]
        several = [row for row, names in enumerate(row_labels) if len(names) > 1]
        if several:
            raise InputError(
                f"{cells.path}:{cells.lines[several[0]]}: the list has "
                f"{len(row_labels[several[0]])} labels{count_more(several)}, and --problem_type={_NAME} "
                "takes one; give --problem_type=multi_label"
            )
        cells.check_known(row_labels, labels)
        return [names[0] for names in row_labels]

    def label_array(self, row_labels: Sequence[str | None], labels: Sequence[str]) -> np.ndarray:
        # A row to predict has no label. Use index 0 as the original does; its loss is never read.
        index = {label: number for number, label in enumerate(labels)}
        return np.array([0 if label is None else index[label] for label in row_labels], np.int32)

    def classes(self, label_ids: np.ndarray) -> np.ndarray:
        return label_ids


class SingleLabelWeights(ClassWeights):
    """A weight per label."""

    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(label_ids, minlength=count).astype(np.float64)


class SingleLabelThresholds(Thresholds):
    """A threshold for one label if there are two."""

    def for_labels(self, names: Sequence[str]) -> Self | None:
        return self if len(names) == 2 else None

    def fill(self, threshold: float, labels: LabelSet) -> np.ndarray:
        thresholds = np.full(len(labels.names), np.nan)
        thresholds[labels.positive_index] = threshold
        return thresholds

    def tune(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        column = [labels.positive_index]
        [threshold] = tune_thresholds(label_ids[:, np.newaxis] == column, predictions["probabilities"][:, column])
        return self.fill(threshold, labels)

    def read(self, path: str, names: Sequence[str]) -> np.ndarray:
        return read_thresholds(path, names, is_exclusive=True)

    def mean(self, thresholds: Sequence[np.ndarray], num_models: int) -> np.ndarray:
        """Return the mean for the first model's label.

        A threshold for the other label is subtracted from 1, and the default is 0.5.

        Args:
            thresholds, num_models: see Thresholds.mean.
        """
        [label] = np.flatnonzero(~np.isnan(thresholds[0]))
        limits = [1 - values[1 - label] if np.isnan(values[label]) else values[label] for values in thresholds]
        limits += [DEFAULT_THRESHOLD] * (num_models - len(limits))
        return np.where(np.isnan(thresholds[0]), np.nan, np.mean(limits))


class SingleLabelDecoder(ExclusiveDecoder):
    """Decoder of a softmax over label names; with two labels, it may use a threshold."""

    def decisions(self, predictions: PredictionArrays, labels: LabelSet) -> list[str]:
        """Return each row's predicted label, see predict_labels."""
        return _label_names(predict_labels(predictions["probabilities"], labels.thresholds), labels)

    def label_values(self, label_ids: np.ndarray, labels: LabelSet) -> list[str]:
        return _label_names(label_ids, labels)


class SingleLabelExplainer(Explainer):
    """Explainer of the most probable label."""

    def explained_score(
        self, predictions: PredictionArrays, labels: LabelSet, label: int | None = None
    ) -> tuple[dict[str, object], np.ndarray]:
        # The score is the log-odds of the explained label against the others. With two labels this
        # is the difference between their logits.
        best = int(predict_labels(predictions["probabilities"][:1], labels.thresholds)[0])
        explained = {} if label is None else {"explained_label": labels.names[label]}
        label = best if label is None else label
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        probability = probabilities[:, label]
        # Sum instead of 1 - probability, which has lost its digits next to 1.
        rest = np.delete(probabilities, label, axis=1).sum(axis=1)
        prediction = {
            "label": labels.names[best],
            "probability": round_to_six_digits(predictions["probabilities"][0, best]),
        }
        return prediction | explained, np.log(np.maximum(probability, _LEAST)) - np.log(np.maximum(rest, _LEAST))

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        return 1.0 - row["probabilities"][row["label"]]


class SingleLabelColumns(ExclusiveColumns, FoldColumns):
    """Columns with label names."""

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> Column:
        return TextColumn(_label_names(label_ids, labels))

    def suspects(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> Suspects:
        """Return rows with a label that is not the predicted one, least probable label first.

        The columns are given, predicted and probability (of the given label). Ties keep the row
        order.

        Args:
            label_ids: the given labels, int32 [n].
            predictions: predictions of models that had not seen the rows.
            labels: label names and thresholds.
        """
        probabilities = predictions["probabilities"]
        best = predict_labels(probabilities, labels.thresholds)
        differing = np.flatnonzero(best != label_ids)
        gold_probability = probabilities[differing, label_ids[differing]]
        # Sort stably: equal probabilities stay in file order, and a second run writes the same
        # file.
        rows = differing[np.argsort(gold_probability, kind="stable")]
        gold, predicted = (self.label_column(ids[rows], labels) for ids in (label_ids, best))
        probability = NumberColumn(probabilities[rows, label_ids[rows]].astype(np.float32))
        return Suspects(rows.tolist(), {"given": gold, "predicted": predicted, "probability": probability})


_DECODER, _METRICS = SingleLabelDecoder(), SingleLabelMetrics()
_READER, _COLUMNS = SingleLabelReader(), SingleLabelColumns(_DECODER)
SINGLE_LABEL = ProblemType(
    name=_NAME,
    summary="one label per text",
    reader=_READER,
    cell_reader=_READER,
    decoder=_DECODER,
    metrics=_METRICS,
    columns=_COLUMNS,
    calibrator=ExclusiveCalibrator(_DECODER, _METRICS),
    label_loss=LabelLoss(SingleLabelWeights()),
    distiller=Distiller(_DECODER),
    text_answers=TextAnswers(_COLUMNS),
    explainer=SingleLabelExplainer(),
    fold_columns=_COLUMNS,
    thresholds=SingleLabelThresholds(),
    linear_baseline=logistic_probabilities,
    fit_head=fit_logistic,
    hugging_face="single_label_classification",
)
