"""The parts that a problem type may lack; calibration.py has one more, the calibrator.

See parts.py for the arguments that the methods share.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.problem_types.columns import Column
from bert_cli.problem_types.parts import LabelSet, OutputDecoder, PredictionArrays, PredictionColumns

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Part = TypeVar("Part")


@dataclass(frozen=True)
class MissingPart:
    """A part that a problem type lacks; it is false.

    Attributes:
        reason: reason why the flags that need the part make no sense, for the end of a message.
    """

    reason: str

    def __bool__(self) -> Literal[False]:
        return False


def require(part: Part | MissingPart, flag: str, advice: str = "") -> Part:
    """Return a part; raise InputError if it is missing.

    Args:
        part: the part.
        flag: flag that needs it.
        advice: end of the message.
    """
    if isinstance(part, MissingPart):
        raise InputError(f"{flag}: {part.reason}{advice}")
    return part


class ClassWeights(abc.ABC):
    """Class weights in the loss."""

    @abc.abstractmethod
    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        """Return training rows per label, float64 [L], or [L, 2] for rows without and with it."""

    def label_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return user-provided weights [L] in the shape of label_counts."""
        return weights


@dataclass(frozen=True)
class LabelLoss:
    """A loss for labels, which flags such as --label_smoothing change.

    Attributes:
        class_weights: makes the weight per label.
    """

    class_weights: ClassWeights | MissingPart


@dataclass(frozen=True)
class Distiller:
    """Targets that a student learns from a teacher.

    Attributes:
        decoder: decoder of the student and the teacher.
    """

    decoder: OutputDecoder

    def teacher_logits(self, probabilities: np.ndarray) -> np.ndarray:
        """Return logits [n, L] for a teacher's probabilities [n, L]."""
        return self.decoder.logits(probabilities)


class Thresholds(abc.ABC):
    """Thresholds for probabilities, see LabelSet.thresholds."""

    @abc.abstractmethod
    def for_labels(self, names: Sequence[str]) -> Self | None:
        """Return the thresholds if --threshold applies to a model with these labels, else None."""

    def default(self, names: Sequence[str]) -> np.ndarray | None:
        """Return LabelSet.thresholds without --threshold."""
        return None

    @abc.abstractmethod
    def fill(self, threshold: float, labels: LabelSet) -> np.ndarray:
        """Return LabelSet.thresholds with --threshold=`threshold`."""

    @abc.abstractmethod
    def tune(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> np.ndarray:
        """Return LabelSet.thresholds with the best F1 for `label_ids`, `predictions` and `labels`."""

    @abc.abstractmethod
    def read(self, path: str, names: Sequence[str]) -> np.ndarray:
        """Return LabelSet.thresholds from a file; raise InputError if it is invalid."""

    @abc.abstractmethod
    def mean(self, thresholds: Sequence[np.ndarray], num_models: int) -> np.ndarray:
        """Return mean thresholds for several models.

        Args:
            thresholds: LabelSet.thresholds for each model that has some, at least one.
            num_models: number of models, with or without thresholds.
        """


@dataclass(frozen=True)
class TextAnswers:
    """Answers for new texts or pairs without a table.

    Attributes:
        columns: the problem type's columns.
    """

    columns: PredictionColumns

    def record(self, predictions: PredictionArrays, row: int, labels: LabelSet) -> dict[str, Any]:
        """Return the prediction_columns of one `row` in `predictions`, with `labels`, for JSON."""
        name = self.columns.decoder.output_name
        columns = self.columns.prediction_columns({name: predictions[name][row : row + 1]}, labels)
        return {name: column.records()[0] for name, column in columns.items()}


class Explainer(abc.ABC):
    """Scores that show how much each word contributes to a prediction."""

    @abc.abstractmethod
    def explained_score(
        self, predictions: PredictionArrays, labels: LabelSet, label: int | None = None
    ) -> tuple[dict[str, object], np.ndarray]:
        """Return row 0's prediction for JSON, and the score to explain per row, float64 [rows].

        Args:
            predictions: predictions of a text and its masked copies.
            labels: label names and thresholds.
            label: index of the label to explain; None for the most probable one.
        """

    @abc.abstractmethod
    def row_surprise(self, row: Mapping[str, Any]) -> float:
        """Return how far a row of eval_examples.jsonl is from its label, even if it is correct."""


# Function from features [n, f] and label_ids [n] of training rows, features [m, f] of rows to predict
# and the number of outputs to predictions [m] or [m, outputs]. It fits a linear model.
LinearBaseline = Callable[["csr_matrix", np.ndarray, "csr_matrix", int], np.ndarray]


# Function from states [n, W], label_ids, the number of labels L and row weights [n] or None to a
# head's output_weights [L, W] and output_bias [L]. It fits a logistic regression.
HeadFit = Callable[[np.ndarray, np.ndarray, int, np.ndarray | None], tuple[np.ndarray, np.ndarray]]
NO_CLASSES = "a logistic regression needs labels of texts"


class Suspects(NamedTuple):
    """Suspected label errors by confidence: example numbers, and the columns of suspects.tsv."""

    rows: list[int]
    columns: dict[str, Column]


class FoldColumns(PredictionColumns):
    """Columns that compare out-of-fold predictions with labels."""

    @abc.abstractmethod
    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> Column:
        """Return the labels of n rows as a table column."""

    def out_of_fold(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> dict[str, Column]:
        """Return columns for out_of_fold.tsv: `label_ids`, then `predictions` named by `labels`."""
        (_, predicted), *probabilities = self.decision_columns(predictions, labels).items()
        return {"given": self.label_column(label_ids, labels), "predicted": predicted, **dict(probabilities)}

    @abc.abstractmethod
    def suspects(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> Suspects:
        """Return suspected errors in `label_ids`, from out-of-fold `predictions` and `labels`."""
