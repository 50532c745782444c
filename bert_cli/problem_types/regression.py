"""Regression: a number per text, using no activation and squared error."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more, parse_number, quote
from bert_cli.base.log import LOG
from bert_cli.metrics.classification import CORRELATIONS, LOSSES, has_correlations, regression_metrics
from bert_cli.metrics.custom import MetricArrays
from bert_cli.problem_types.columns import Column, LabelCells, NumberColumn, round_to_six_digits, skip_advice
from bert_cli.problem_types.linear_models import ridge_values
from bert_cli.problem_types.metrics import Metrics, format_undefined
from bert_cli.problem_types.optional_parts import NO_CLASSES, Explainer, FoldColumns, MissingPart, Suspects, TextAnswers
from bert_cli.problem_types.parts import (
    CellReader,
    LabelSet,
    OutputDecoder,
    PredictionArrays,
    Scores,
    Strata,
    nothing_to_learn_warning,
)
from bert_cli.problem_types.problem_type import ProblemType

_NAME = "regression"
_LEAST_SPREAD = 0.05  # predictions with less spread than this share of their error are nearly equal
# Fine-tuning reaches targets up to 10 from their mean.
_LARGEST_DEVIATION, _LEAST_TARGET_SPREAD = 20.0, 0.01
# A mean further than this many spreads from 0 is an offset: four of float32's seven digits would be
# the same in all targets.
_FAR_FROM_ZERO = 1e4
_DECIMAL_COMMA = re.compile(r"[-+]?(\d*),(\d+)([eE][-+]?\d+)?")
# Numbers with thousands separators are never guessed: 1.234,5 or 1,234.5 or 1 234,5.
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:(?:[.' \u00a0\u202f]\d{3})+,\d+|(?:,\d{3})+\.\d+)")
_GROUP_DIGITS = 3
_BINS = 10  # intervals of numbers for stratified groups


class NumberReader(CellReader):
    """Reader of decimals, which stay texts until they are label_ids float32 [n]."""

    dtype = "float32"
    num_outputs = 1

    def check_flag_labels(self, model: str) -> None:
        raise InputError(f"--labels: {model} predicts a number; leave them out")

    def labels_from_columns(self, cells: LabelCells) -> tuple[str, ...]:
        return ()

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

    def strata(self, labels: Sequence[Any]) -> Strata:
        # Ten intervals have equally many rows.
        ranks = np.argsort(np.argsort(np.asarray([float(label) for label in labels]), kind="stable"), kind="stable")
        return Strata([[str(rank * _BINS // len(labels))] for rank in ranks.tolist()], are_names=False)

    def label_doubt(self, labels: Sequence[Any]) -> str:
        if len(set(map(float, labels))) == 1:
            return nothing_to_learn_warning(f"the number {labels[0]}")
        return self.learning_advice(self.label_array(labels, ())) if labels else ""

    def learning_advice(self, label_ids: np.ndarray) -> str:
        """Return how to scale targets that a model cannot reach, "" for usual targets."""
        numbers = np.asarray(label_ids, np.float64)
        least, most, spread = numbers.min(), numbers.max(), numbers.std()
        if least == most:
            return f"every training row has the number {_format_number(least)}, so there is nothing to learn"
        mean = numbers.mean()
        deviation = max(mean - least, most - mean)
        is_in_reach = deviation <= _LARGEST_DEVIATION and spread >= _LEAST_TARGET_SPREAD
        divisor = 1.0 if is_in_reach else 10.0 ** round(math.log10(spread))
        steps = []
        if abs(mean) > _FAR_FROM_ZERO * spread:
            steps.append(f"subtract {_format_number(round(mean / divisor) * divisor)}")
        if divisor != 1:
            steps.append(f"divide them by {_format_number(divisor)}")
        if not steps:
            return ""
        return (
            f"the numbers to learn go from {_format_number(least)} to {_format_number(most)}, and an untrained "
            f"model predicts about their mean: scale the targets ({' and '.join(steps)}), and the predictions "
            "back"
        )


def has_comma(text: str) -> bool:
    """Return whether a text is a number with a comma in it, such as 3,5 or 1.234,5."""
    return _DECIMAL_COMMA.fullmatch(text) is not None or _GROUPED.fullmatch(text) is not None


def read_numbers(cells: LabelCells, texts: Sequence[str]) -> list[str]:
    """Return the numbers of a file as text with a decimal point.

    Commas are decimal commas if no cell has a point and at least one comma cannot separate
    thousands.

    Args:
        cells: label cells, for the path and the lines.
        texts: text of each row.

    Raises:
        InputError: a text is not a finite number, or its comma is ambiguous.
    """
    rows = list(zip(cells.lines, texts, strict=True))
    with_comma = [(line, text) for line, text in rows if _DECIMAL_COMMA.fullmatch(text)]
    for line, text in rows:
        if _GROUPED.fullmatch(text):
            raise InputError(
                f"{cells.path}:{line}: the label is {quote(text)}; write the number without "
                "separators of thousands and with a decimal point"
            )
        # The texts nan and inf are numbers, too, and either of them makes every later loss NaN.
        if not _DECIMAL_COMMA.fullmatch(text) and not math.isfinite(parse_number(text)):
            raise InputError(f"{cells.path}:{line}: the label is {quote(text)}, a number is needed{skip_advice(text)}")
    if not with_comma:
        return list(texts)
    _check_commas(cells.path, with_comma, [(line, text) for line, text in rows if "." in text])
    line, text = with_comma[0]
    point = text.replace(",", ".")
    LOG.info("%s:%d: decimal commas in the labels: %s is read as %s", cells.path, line, text, point)
    return [text.replace(",", ".") for text in texts]


def _check_commas(
    path: str,
    with_comma: Sequence[tuple[int, str]],
    with_point: Sequence[tuple[int, str]],
) -> None:
    line, text = with_comma[0]
    if with_point:
        raise InputError(
            f"{path}:{line}: the label is {quote(text)}, and line {with_point[0][0]} has "
            f"{quote(with_point[0][1])}; write all numbers with a decimal point"
        )
    if not any(_is_decimal(text) for _, text in with_comma):
        whole = text.replace(",", "")
        raise InputError(
            f"{path}:{line}: the label is {quote(text)}, which may be {text.replace(',', '.')} or "
            f"{whole}{count_more(with_comma)}; write a decimal point, or leave the comma out"
        )


def _is_decimal(text: str) -> bool:
    """Return whether a number's comma cannot separate thousands, as in 3,5 and 0,125."""
    matched = _DECIMAL_COMMA.fullmatch(text)
    assert matched is not None, "a number with a comma"
    whole, digits, exponent = matched.groups()
    is_group = len(digits) == _GROUP_DIGITS and whole[:1] not in ("", "0")
    return not is_group or len(whole) > _GROUP_DIGITS or exponent is not None


def _format_number(number: float) -> str:
    return np.format_float_positional(float(f"{number:.7g}"), trim="-")


class NumberDecoder(OutputDecoder):
    """Decoder of one output without activation."""

    activation = "identity"
    output_name = "values"
    exported_name = "value"

    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        return {"values": logits[:, 0], "losses": (logits[:, 0] - label_ids) ** 2}

    def logits(self, outputs: np.ndarray) -> np.ndarray:
        """Return numbers [n] as logits [n, 1]."""
        return outputs[:, np.newaxis]

    def initial_bias(self, label_ids: np.ndarray) -> float:
        return float(np.mean(label_ids, dtype=np.float64))

    def decisions(self, predictions: PredictionArrays, labels: LabelSet) -> list[float]:
        return predictions["values"].tolist()


def _row_error(row: Mapping[str, Any]) -> float:
    return abs(row["value"] - row["predicted"])


class NumberExplainer(Explainer):
    """Explainer of the predicted number."""

    def explained_score(
        self, predictions: PredictionArrays, labels: LabelSet, label: int | None = None
    ) -> tuple[dict[str, object], np.ndarray]:
        return {"value": round_to_six_digits(predictions["values"][0])}, np.asarray(predictions["values"], np.float64)

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        return _row_error(row)


class NumberMetrics(Metrics):
    """Correlations and errors of numbers."""

    error = "eval_rmse"  # noise has a positive correlation half of the time
    baseline_names = ("mean", "ridge")

    def names(self, labels: LabelSet) -> tuple[str, ...]:
        return (*CORRELATIONS, "eval_rmse", "eval_mae", *LOSSES)

    def evaluate(
        self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet, batch_size: int
    ) -> Scores:
        weights = predictions.get("weights")
        metrics = regression_metrics(label_ids, predictions["losses"], predictions["values"], batch_size, weights)
        missing = [name for name in CORRELATIONS if name not in metrics]
        reasons = dict.fromkeys(missing, f"all predictions are {round_to_six_digits(predictions['values'][0])}")
        return Scores(metrics, {}, format_undefined(reasons | self.undefined(label_ids, labels)))

    def undefined(self, label_ids: np.ndarray, labels: LabelSet) -> dict[str, str]:
        if has_correlations(label_ids):
            return {}
        reason = "two rows always have a correlation of 1 or -1"
        if np.ptp(label_ids) == 0:
            reason = f"all numbers of the evaluated data are {round_to_six_digits(label_ids[0])}"
        return dict.fromkeys(CORRELATIONS, reason)

    def collapse(self, predictions: PredictionArrays, labels: LabelSet) -> str:
        values = predictions["values"]
        least, most = round_to_six_digits(values.min()), round_to_six_digits(values.max())
        if least == most:
            return f"every row gets the value {least}"
        # Check the spread as well: the mean has a correlation of 0, which chance exceeds.
        is_flat = np.std(values) < _LEAST_SPREAD * np.sqrt(np.mean(predictions["losses"]))
        return f"every row gets nearly the same value, {least} to {most}" if is_flat else ""

    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        return np.full(rows, label_ids.mean(dtype=np.float64))

    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        return float(np.mean(np.square(label_ids, dtype=np.float64)))

    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        return _row_error(row)


class NumberColumns(FoldColumns):
    """The predicted number."""

    def describe_names(self, names: Sequence[str]) -> str:
        return "none, a number is predicted"

    def metric_arrays(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> MetricArrays:
        return MetricArrays(label_ids, predictions["values"])

    def decision_columns(self, predictions: PredictionArrays, labels: LabelSet) -> dict[str, Column]:
        return {"value": NumberColumn(np.asarray(predictions["values"], np.float32))}

    def eval_columns(self, label_ids: np.ndarray, predictions: PredictionArrays) -> dict[str, np.ndarray]:
        return {"value": label_ids, "predicted": predictions["values"]}

    def read_eval_rows(self, rows: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        label_ids, values = (np.array([row[name] for row in rows]) for name in ("value", "predicted"))
        return label_ids, {"values": values, "losses": (values - label_ids) ** 2}

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> Column:
        return NumberColumn(label_ids)

    def suspects(self, label_ids: np.ndarray, predictions: PredictionArrays, labels: LabelSet) -> Suspects:
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
_READER = NumberReader()
_COLUMNS = NumberColumns(_DECODER, chart="scatter", mistakes_title="The largest errors")
REGRESSION = ProblemType(
    name=_NAME,
    summary="a number to predict",
    reader=_READER,
    cell_reader=_READER,
    decoder=_DECODER,
    metrics=NumberMetrics(),
    columns=_COLUMNS,
    calibrator=MissingPart("is about probabilities, and a number is predicted here"),
    label_loss=MissingPart("is about labels, and a number is predicted here"),
    distiller=MissingPart(
        "learns the probabilities of labels, and here numbers are predicted; let the other model predict the texts, "
        "and train on its numbers"
    ),
    text_answers=TextAnswers(_COLUMNS),
    explainer=NumberExplainer(),
    fold_columns=_COLUMNS,
    linear_baseline=ridge_values,
    fit_head=MissingPart(NO_CLASSES),
    hugging_face="regression",
)
