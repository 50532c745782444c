"""Predictions that a classifier returns."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.api.inputs.texts import Texts
from bert_cli.api.results.sequence import ResultColumn, Results, item_html, shorten_text
from bert_cli.base.errors import check_count, refuse_if
from bert_cli.problem_types.parts import LabelSet, PredictionArrays, rank_by_doubt
from bert_cli.problem_types.problem_type import ProblemType

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True, repr=False)
class Prediction:
    """Prediction for a text or a pair of texts.

    Attributes:
        text: the text.
        text_b: the second text for a pair, otherwise None.
        label: the most probable label, or the one by the threshold; None for a multi-label model and for a regression.
        labels: the predicted labels: one, or any number for a multi-label model.
        probability: the label's probability, None without `label`.
        probabilities: label -> probability; {} for a regression.
        value: predicted number, None if this is no regression.
    """

    text: str
    text_b: str | None
    label: Any
    labels: tuple[Any, ...]
    probability: float | None
    probabilities: dict[Any, float]
    value: float | None

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per label, best first, or with a regression's number."""
        import pandas as pd

        if self.value is not None:
            return pd.DataFrame({"value": [self.value]})
        frame = pd.DataFrame({"label": list(self.probabilities), "probability": list(self.probabilities.values())})
        return frame.sort_values("probability", ascending=False, kind="stable", ignore_index=True)

    def __repr__(self) -> str:
        return f"Prediction: {self.summary().strip()}"

    def summary(self) -> str:
        """Return the prediction and a shortened text on one line."""
        if self.value is not None:
            return f"{self.value:8.3f}  {shorten_text(self.text)}"
        score = "" if self.probability is None else f" {self.probability:.3f}"
        return f"{', '.join(map(str, self.labels)) or 'none'}{score}  {shorten_text(self.text)}"

    def _repr_html_(self) -> str:
        return item_html(self.summary(), self.to_frame())


class Predictions(Results[Prediction]):
    """Predictions for n texts: a sequence of `Prediction`.

    Attributes:
        texts: the texts or pairs.
        labels: L labels, in the order of `probabilities`; () for a regression.
        best: the most probable label per text, or the one by the threshold. For multi-label models,
            a tuple of all labels with a probability of at least the threshold, in column order; it
            may be empty. For a regression, an empty list.
        probabilities: float32 [n, L]. For multi-label models they are independent. L is 0 for a
            regression.
        logits: float32 [n, L] before the activation and the calibration; None for a regression.
        values: predicted numbers, float32 [n], for a regression; None otherwise.
    """

    def __init__(
        self,
        texts: Texts,
        labels: tuple[Any, ...],
        best: Sequence[Any],
        probabilities: np.ndarray,
        logits: np.ndarray | None,
        values: np.ndarray | None,
        thresholds: np.ndarray | None = None,
        has_sets: bool = False,
    ):
        super().__init__(texts)
        self.labels = labels
        self.best = list(best)
        self.probabilities = probabilities
        self.logits = logits
        self.values = values
        self._thresholds = thresholds  # see LabelSet
        self._has_sets = has_sets  # whether texts have sets of labels

    def _item(self, row: int) -> Prediction:
        text, text_b = self.texts.pairs[row]
        if self.values is not None:
            return Prediction(text, text_b, None, (), None, {}, float(self.values[row]))
        best = self.best[row]
        probabilities = dict(zip(self.labels, self.probabilities[row].tolist(), strict=True))
        if isinstance(best, tuple):
            return Prediction(text, text_b, None, best, None, probabilities, None)
        return Prediction(text, text_b, best, (best,), probabilities[best], probabilities, None)

    def _take(self, rows: Sequence[int]) -> "Predictions":
        indices = np.asarray(rows, np.intp)
        logits, values = (None if array is None else array[indices] for array in (self.logits, self.values))
        best = [self.best[row] for row in rows] if self.values is None else []
        probabilities = self.probabilities[indices]
        rule = self._thresholds, self._has_sets
        return Predictions(self.texts.take(rows), self.labels, best, probabilities, logits, values, *rule)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the predicted labels or numbers, [n], for NumPy, pandas and scikit-learn."""
        if self.values is not None:
            array = self.values
        elif self._has_sets:
            array = np.empty(len(self), object)
            array[:] = self.best
        else:
            array = np.asarray(self.best, type(self.labels[0]) if self.labels else None)
        return np.array(array, dtype) if copy or dtype is not None else array

    def __eq__(self, other: object) -> Any:
        """Compare with other predictions as a whole, and with an array or a column row by row."""
        if isinstance(other, Results) or not hasattr(other, "__array__"):
            return super().__eq__(other)
        return np.asarray(self) == np.asarray(other)

    def __ne__(self, other: object) -> Any:
        """Return the opposite of ==."""
        equal = self == other
        return ~equal if isinstance(equal, np.ndarray) else not equal

    __hash__ = None  # as in Results
    # pandas leaves `column == predictions` to this class, as its own columns cannot compare it.
    __pandas_priority__ = 5000

    def columns(self) -> dict[str, ResultColumn]:
        """Return label(s), probabilities or values as columns, named as in predictions.tsv."""
        if self.values is not None:
            return {"value": self.values}
        columns = {f"prob_{label}": self.probabilities[:, column] for column, label in enumerate(self.labels)}
        if self._has_sets:
            return {"labels": self.best, **columns}
        predicted = [self.labels.index(label) for label in self.best]
        return {"label": self.best, "probability": self.probabilities[range(len(self)), predicted], **columns}

    def most_doubtful(self, by: str = "margin", count: int | None = None) -> "Predictions":
        """Return predictions, most doubtful first, as --to_label does.

        Args:
            by: "margin" between the two most probable labels, or "entropy".
            count: maximum predictions to return, None for all.

        Raises:
            InputError: for a regression, or another measure.
        """
        refuse_if(self.values is not None, "most_doubtful: needs probabilities, and a number is predicted here")
        if count is not None:
            check_count(count, "count")
        return self._take(rank_by_doubt(by, self.probabilities, self._thresholds)[:count].tolist())

    def _examples(self) -> dict[str, Any]:
        return {"label": self.labels[0]} if self.labels else {}

    def _summary(self, item: Prediction) -> str:
        return item.summary()


def make_predictions(
    texts: Texts, problem_type: ProblemType, labels: LabelSet, outputs: PredictionArrays | None, values: Sequence[Any]
) -> Predictions:
    """Return the predictions for texts.

    Args:
        texts: n texts or pairs.
        problem_type: the model's problem type.
        labels: label names and thresholds.
        outputs: a Predictor's outputs for the texts; None if there are no texts.
        values: the labels with the type of the training's labels.
    """
    # There are no empty batches, but callers expect arrays with the right shape, not an error.
    empty = np.zeros((len(texts), len(labels.names)), np.float32)
    if not labels.names:
        numbers = empty.sum(axis=1) if outputs is None else outputs["values"]
        return Predictions(texts, (), [], empty[:, :0], None, numbers)
    rule = labels.thresholds, problem_type.reader.takes_sets
    if outputs is None:
        return Predictions(texts, tuple(values), [], empty, empty, None, *rule)
    by_name = dict(zip(labels.names, values, strict=True))
    best = [
        tuple(by_name[name] for name in decision) if isinstance(decision, tuple) else by_name[decision]
        for decision in problem_type.decoder.decisions(outputs, labels)
    ]
    return Predictions(texts, tuple(values), best, outputs["probabilities"], outputs.get("logits"), None, *rule)
