"""Multi-label classification: each text has any of L labels, none included. Sigmoid and binary
cross entropy.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.messages import quoted
from bert_cli.metrics import multi_label
from bert_cli.metrics.calibration import reliability
from bert_cli.metrics.classification import LOSSES
from bert_cli.problem_types.columns import Column, LabelCells, Probabilities, significant
from bert_cli.problem_types.linear_models import logistic_probabilities
from bert_cli.problem_types.missing_labels import skip_advice
from bert_cli.problem_types.problem_type import Found, LabelSet, ProblemType, Scores, Suspects

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_LEAST = 1e-7  # a probability p so large that float32 separates p from 0, and 1 - p from 1


def _thresholds(labels: LabelSet) -> np.ndarray:
    assert labels.thresholds is not None, "a multi-label model has thresholds"
    return labels.thresholds


def _over(found: Found, labels: LabelSet) -> np.ndarray:
    """Which labels are predicted: bool [n, L]."""
    return multi_label.over_thresholds(found["probabilities"], _thresholds(labels))


class MultiLabel(ProblemType):
    """Labels are a tuple of 0 and 1 for each of L names; label_ids float32 [n, L]."""

    name = "multi_label"
    summary = "any number of labels per text"
    metrics = (
        "eval_micro_f1", "eval_macro_f1", "eval_subset_accuracy", "eval_roc_auc", "eval_roc_auc_micro",
        "eval_average_precision", *LOSSES,
    )  # fmt: skip
    label_dtype = "float32"
    label_shape = ("B", "L")
    activation = "sigmoid"
    hugging_face = "multi_label_classification"
    collapse_advice = "--threshold=tuned finds the threshold of each label on the dev set"
    has_thresholds = True
    chart = "roc"

    def stated_labels(self, cells: LabelCells) -> tuple[str, ...] | None:
        """With a column of 0 and 1 for each label, the names of the columns."""
        return tuple(cells.columns) if cells.are_flags else None

    def cell_labels(self, cells: LabelCells, row: int) -> tuple[str, ...]:
        return cells.names(row)

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> list[tuple[int, ...]]:
        if len(cells.columns) > 1 or (len(labels) == 1 and cells.are_flags):
            return self._parse_columns(cells, labels)
        named = [cells.names(row) for row in range(len(cells.rows))]
        cells.check_known(named, labels)
        return [tuple(int(label in names) for label in labels) for names in named]

    def _parse_columns(self, cells: LabelCells, labels: Sequence[str]) -> list[tuple[int, ...]]:
        """From a column of 0 and 1 for each label; the columns may be in another order than
        `labels`.
        """
        names = cells.columns
        # With a header the names decide, whatever the order; without one only the order is left.
        if cells.has_header and set(names) == set(labels):
            order = [names.index(label) for label in labels]
        elif len(names) == len(labels):
            order = list(range(len(names)))
        else:
            raise InputError(
                f"{cells.path}:1: label columns {', '.join(names)}, but the model's labels are {', '.join(labels)}"
            )
        for line, row in zip(cells.lines, cells.rows, strict=True):
            for name, cell in zip(names, row, strict=True):
                if cell not in ("0", "1"):
                    advice = skip_advice(str(cell))
                    raise InputError(
                        f"{cells.path}:{line}: column {name} is {quoted(str(cell))}, 0 or 1 is needed{advice}"
                    )
        return [tuple(int(str(row[column])) for column in order) for row in cells.rows]

    def label_array(self, given: Sequence[Sequence[int] | None], labels: Sequence[str]) -> np.ndarray:
        none = (0,) * len(labels)
        rows = [none if label is None else label for label in given]
        # An empty list has no second axis by itself; the model wants [0, L].
        return np.array(rows, np.float32).reshape(len(rows), len(labels))

    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        present = label_ids.sum(axis=0)
        return np.stack([len(label_ids) - present, present], axis=1).astype(np.float64)

    def label_weights(self, weights: np.ndarray) -> np.ndarray:
        """Each label is a question of its own: a given weight is for the rows with the label; rows
        without it have 1.
        """
        return np.stack([np.ones_like(weights), weights], axis=1)

    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        """Each label that most training rows have."""
        return np.tile((label_ids.mean(axis=0) > 0.5).astype(np.float64), (rows, 1))

    def linear_prediction(
        self, features: "csr_matrix", label_ids: np.ndarray, others: "csr_matrix", outputs: int
    ) -> np.ndarray:
        """A model for each label."""
        columns = (label_ids > 0).astype(np.int32).T
        return np.stack([logistic_probabilities(features, has, 2, others)[:, 1] for has in columns], axis=1)

    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        return math.log(2)

    def collapse(self, found: Found, labels: LabelSet) -> str:
        return "" if _over(found, labels).any() else "no row gets a label"

    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        # log(1 + e^x) − x · y, without a large power
        losses = np.maximum(logits, 0) - logits * label_ids + np.log1p(np.exp(-np.abs(logits)))
        return {"probabilities": np.exp(-np.logaddexp(0, -logits)), "losses": losses.mean(axis=-1)}

    def logits(self, probabilities: np.ndarray) -> np.ndarray:
        clipped = np.clip(probabilities.astype(np.float64), _LEAST, 1 - _LEAST)
        return (np.log(clipped) - np.log1p(-clipped)).astype(np.float32)

    def decisions(self, found: Found, labels: LabelSet) -> list[tuple[str, ...]]:
        """The labels at or above their thresholds, in the order of `labels`."""
        return [_named(labels, row) for row in _over(found, labels)]

    def decision_columns(self, found: Found, labels: LabelSet) -> dict[str, Column]:
        """labels: the names with "," between them, in jsonl a list."""
        return {
            "labels": self.label_column(_over(found, labels), labels),
            "probabilities": Probabilities(labels.names, found["probabilities"]),
        }

    def temperature_names(self, labels: Sequence[str]) -> Sequence[str]:
        """All: each is a question of its own."""
        return labels

    def fit_temperatures(self, logits: np.ndarray, label_ids: np.ndarray) -> tuple[float, ...]:
        columns = range(logits.shape[1])
        logits = np.asarray(logits, np.float64)
        return tuple(self._fit_temperature(logits[:, [each]], label_ids[:, [each]]) for each in columns)

    def keep_decisions(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """With regard to the threshold 0.5, where a logit is 0 at any temperature."""
        middle = multi_label.DEFAULT_THRESHOLD
        return np.where((after >= middle) == (before >= middle), after, before)

    def calibration_error(self, label_ids: np.ndarray, found: Found) -> float:
        """The mean over the labels, of the probability of having the label."""
        columns = zip(np.asarray(found["probabilities"], np.float64).T, np.asarray(label_ids).T > 0, strict=True)
        return float(np.mean([reliability(probability, has).error for probability, has in columns]))

    def uncertainty(self, found: Found, labels: LabelSet) -> np.ndarray:
        """1 − the product of the probabilities of all decisions."""
        probabilities = np.asarray(found["probabilities"], np.float64)
        doubts = np.where(_over(found, labels), 1.0 - probabilities, probabilities)
        return -np.expm1(np.log1p(-np.minimum(doubts, 1.0 - _LEAST)).sum(axis=1))

    def is_wrong(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> np.ndarray:
        """Where any label is wrong."""
        return (_over(found, labels) != (np.asarray(label_ids) > 0)).any(axis=1)

    def explained_score(self, found: Found, labels: LabelSet) -> tuple[dict[str, object], np.ndarray]:
        """The labels at or above their thresholds; the score is the log-odds of the most probable
        label, its logit.
        """
        label = int(found["probabilities"][0].argmax())
        own = np.asarray(found["probabilities"], np.float64)[:, label]
        own = np.clip(own, 1e-7, 1 - 6e-8)  # next to 1, float32 has no more values
        said = {
            "labels": list(self.decisions({"probabilities": found["probabilities"][:1]}, labels)[0]),
            "explained_label": labels.names[label],
            "probability": significant(found["probabilities"][0, label]),
        }
        return said, np.log(own) - np.log1p(-own)

    def evaluate(self, label_ids: np.ndarray, found: Found, labels: LabelSet, batch_size: int) -> Scores:
        results, details = multi_label.multi_label_metrics(
            label_ids, found["losses"], found["probabilities"], labels.names, _thresholds(labels), batch_size
        )
        return Scores(results, details, multi_label.format_multi_label(details))

    def eval_columns(self, label_ids: np.ndarray, found: Found) -> dict[str, np.ndarray]:
        return {"labels": (np.asarray(label_ids) > 0).astype(int), "probabilities": found["probabilities"]}

    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """The distance of the worst decision from the label."""
        # A mean over many absent labels would hide one bad miss.
        decisions = zip(row["labels"], row["probabilities"], thresholds, strict=True)
        return max(
            (abs(has - each) for has, each, threshold in decisions if (each >= threshold) != bool(has)), default=0.0
        )

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        decisions = zip(row["labels"], row["probabilities"], strict=True)
        return max((abs(has - each) for has, each in decisions), default=0.0)

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> list[list[str]]:
        # Lists, not tuples: write_table joins a list in one cell.
        return [list(_named(labels, row)) for row in label_ids > 0]

    def suspects(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> Suspects:
        """A line for each label that a row has and is not predicted, or the other way; the least
        probable given first.

        Columns: label, given and predicted (yes or no), probability (of the given label).
        """
        has = label_ids > 0
        probabilities = found["probabilities"]
        rows, columns_of = np.nonzero(has != _over(found, labels))
        probability = np.where(has, probabilities, 1.0 - probabilities)[rows, columns_of]
        # Each label of a row is a decision of its own, so a row may be listed more than once.
        order = np.argsort(probability, kind="stable")
        given = has[rows, columns_of][order]
        columns: dict[str, Column] = {
            "label": [labels.names[column] for column in columns_of[order]],
            "given": np.where(given, "yes", "no").tolist(),
            "predicted": np.where(given, "no", "yes").tolist(),
            "probability": probability[order].astype(np.float32),
        }
        return Suspects(rows[order].tolist(), columns)


def _named(labels: LabelSet, has: np.ndarray) -> tuple[str, ...]:
    return tuple(name for name, each in zip(labels.names, has, strict=True) if each)


MULTI_LABEL = MultiLabel()
