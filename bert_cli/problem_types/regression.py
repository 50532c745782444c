"""Regression: a number per text, using no activation and squared error."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.metrics.classification import LOSSES
from bert_cli.metrics.regression import CORRELATIONS, regression_metrics
from bert_cli.problem_types.columns import Column, LabelCells, NumberColumn, significant
from bert_cli.problem_types.label_numbers import read_numbers
from bert_cli.problem_types.linear_models import ridge_values
from bert_cli.problem_types.parts import (
    LabelReader,
    LabelSet,
    Metrics,
    OutputDecoder,
    PredictionColumns,
    Predictions,
    Scores,
    Suspects,
)
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.target_scale import scale_advice

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_NAME = "regression"
_LEAST_SPREAD = 0.05  # predictions with less spread than this share of their error are nearly equal


class NumberReader(LabelReader):
    """Reader of decimals, which stay texts until they are label_ids float32 [n]."""

    dtype = "float32"
    is_numeric = True
    has_names = False
    loss_refusal = class_weights_refusal = "is about labels, and a number is predicted here"

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> list[str]:
        cells.check_one_column(_NAME)
        # Accept a list with one number: labels in JSON lines are often lists.
        rows = [self.cell_labels(cells, row) for row in range(len(cells.rows))]
        return read_numbers(cells, [row[0] if len(row) == 1 else str(row) for row in rows])

    def label_array(self, row_labels: Sequence[str | float | None], labels: Sequence[str]) -> np.ndarray:
        return np.array([0.0 if label is None else float(label) for label in row_labels], np.float32)

    def stratum(self, label: Any) -> float:
        # Sort by value: as text, 10 would come before 9.
        return float(str(label))

    def learning_advice(self, label_ids: np.ndarray) -> str:
        return scale_advice(label_ids)


class NumberDecoder(OutputDecoder):
    """Decoder of one output without activation."""

    activation = "identity"
    output_name = "values"
    exported_name = "value"
    distillation_refusal = (
        "learns the probabilities of labels, and here numbers are predicted; let the other model "
        "predict the texts, and train on its numbers"
    )
    calibration_refusal = "is about probabilities, and a number is predicted here"

    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        return {"values": logits[:, 0], "losses": (logits[:, 0] - label_ids) ** 2}

    def decisions(self, predictions: Predictions, labels: LabelSet) -> list[float]:
        return predictions["values"].tolist()

    def explained_score(self, predictions: Predictions, labels: LabelSet) -> tuple[dict[str, object], np.ndarray]:
        """Return the predicted number itself as the score."""
        return {"value": significant(predictions["values"][0])}, np.asarray(predictions["values"], np.float64)


class NumberMetrics(Metrics):
    """Correlations and errors of numbers."""

    names = (*CORRELATIONS, "eval_rmse", "eval_mae", *LOSSES)
    correlations = CORRELATIONS
    baseline_names = ("mean", "ridge")

    def evaluate(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet, batch_size: int) -> Scores:
        metrics = regression_metrics(label_ids, predictions["losses"], predictions["values"], batch_size)
        undefined = [name for name in CORRELATIONS if name not in metrics]
        reason = f"all predictions are {significant(predictions['values'][0])}"
        if np.ptp(label_ids) == 0:
            reason = f"all numbers of the evaluated data are {significant(label_ids[0])}"
        return Scores(metrics, {}, [f"left out, as {reason}: {', '.join(undefined)}"] if undefined else [])

    def collapse(self, predictions: Predictions, labels: LabelSet) -> str:
        values = predictions["values"]
        least, most = significant(values.min()), significant(values.max())
        if least == most:
            return f"every row gets the value {least}"
        # Check the spread as well: the mean has a correlation of 0, which chance exceeds.
        is_flat = np.std(values) < _LEAST_SPREAD * np.sqrt(np.mean(predictions["losses"]))
        return f"every row gets nearly the same value, {least} to {most}" if is_flat else ""

    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        return np.full(rows, label_ids.mean(dtype=np.float64))

    def linear_prediction(
        self, features: "csr_matrix", label_ids: np.ndarray, test_features: "csr_matrix", outputs: int
    ) -> np.ndarray:
        return ridge_values(features, label_ids, test_features)

    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        return float(np.mean(np.square(label_ids, dtype=np.float64)))

    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        return abs(row["value"] - row["predicted"])


class NumberColumns(PredictionColumns):
    """The predicted number."""

    def decision_columns(self, predictions: Predictions, labels: LabelSet) -> dict[str, Column]:
        return {"value": NumberColumn(np.asarray(predictions["values"], np.float32))}

    def eval_columns(self, label_ids: np.ndarray, predictions: Predictions) -> dict[str, np.ndarray]:
        return {"value": label_ids, "predicted": predictions["values"]}

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> Column:
        return NumberColumn(label_ids)

    def suspects(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet) -> Suspects:
        """Return every row, largest difference from its number first.

        No distance alone makes a label an error. The columns are given, predicted and difference
        (predicted minus given).

        Args:
            label_ids: the given numbers, float32 [n].
            predictions: predictions of models that had not seen the rows.
            labels: unused.
        """
        difference = predictions["values"] - label_ids
        rows = np.argsort(-np.abs(difference), kind="stable")
        columns = {"given": label_ids, "predicted": predictions["values"], "difference": difference}
        return Suspects(
            rows.tolist(), {name: NumberColumn(values[rows].astype(np.float32)) for name, values in columns.items()}
        )


_DECODER = NumberDecoder()
REGRESSION = ProblemType(
    _NAME,
    "a number to predict",
    NumberReader(),
    _DECODER,
    NumberMetrics(),
    NumberColumns(_DECODER, chart="scatter", mistakes_title="The largest errors"),
    hugging_face="regression",
)
