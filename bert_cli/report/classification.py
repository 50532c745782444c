"""Cards for evaluations of bert-classify: confusion matrix, calibration or ROC, and mistakes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bert_cli.problem_types.calibration import reliability
from bert_cli.problem_types.exclusive_metrics import predict_row
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import problem_type
from bert_cli.report.components import Card, ReportTable, format_label_probability, number, percent
from bert_cli.report.figures import SERIES, Line, evenly_spaced_values, line_card
from bert_cli.report.run_files import EvaluationReport, Run

_UNIT = (-0.03, 1.03)  # axis limits for values from 0 to 1; a line at the end would be half cut off
_SHOWN_LABELS = 40  # maximum labels in a matrix; more are unreadable, and are in the table
_SHOWN_TEXTS = 12
_SHOWN_PROBABILITIES = 5
# Entries per label in run_report.json -> column headings.
_COLUMNS = {"precision": "precision", "recall": "recall", "f1": "F1"}
_CLASSES = ("card-classes", {**_COLUMNS, "support": "rows"})
_MULTI_LABEL = {"roc_auc": "area under ROC", "average_precision": "average precision", "support": "rows"}
_LABELS = ("card-labels", {"threshold": "threshold", **_COLUMNS, **_MULTI_LABEL})


def classification_cards(run: Run) -> list[Card]:
    """Return the cards for any problem type, depending on the evaluation's results."""
    evaluation = run.report.get("eval", {})
    cards = _matrix(evaluation, run)
    tables = _scores(evaluation.get("classes"), _CLASSES) + _scores(evaluation.get("labels"), _LABELS)
    if run.examples:
        head, rows = run.examples
        problem = problem_type(head["kind"])
        cards += CHARTS[problem.columns.chart](head, rows)
        tables += [_mistakes(problem, head, rows), _explanation_card(rows)]
    return cards + tables


def _matrix(evaluation: EvaluationReport, run: Run) -> list[Card]:
    counts = evaluation.get("confusion_matrix")
    labels = run.report.get("labels", [])
    if not counts or len(counts) != len(labels) or len(labels) > _SHOWN_LABELS:
        return []
    rows = []
    for label, row in zip(labels, counts, strict=True):
        total = max(1, sum(row))  # a label may have no rows in the dev file
        cells = [{"count": count, "share": count / total, "is_right": label == predicted_label}
                 for count, predicted_label in zip(row, labels, strict=True)]  # fmt: skip
        rows.append({"label": label, "cells": cells, "total": sum(row)})
    note = "Rows: actual labels, of the data. Columns: predicted labels. The colour is the share of the row."
    return [Card("card-matrix", "Confusion matrix", "matrix", {"labels": labels, "rows": rows}, note)]


def _scores(scores: Any, card: tuple[str, dict[str, str]]) -> list[Card]:
    """Return a table of scores per label, [] unless the report has them as a dict by name."""
    if not scores or not isinstance(scores, dict):
        return []
    key, columns = card
    rows = [(name, *(number(label_scores[column]) for column in columns)) for name, label_scores in scores.items()]
    return [Card(key, "Each label", "table", ReportTable(("label", *columns.values()), rows), is_wide=True)]


def _calibration(head: Mapping[str, Any], rows: list[dict]) -> list[Card]:
    rows = [row for row in rows if "label" in row]
    if not rows:
        return []
    probabilities = np.array([row["probabilities"] for row in rows])
    is_right = probabilities.argmax(axis=1) == np.array([row["label"] for row in rows])
    current = reliability(probabilities.max(axis=1), is_right)
    series = [Line("model", current.confidence.tolist(), current.accuracy.tolist(), points=True)]
    note = (
        f"On the dashed line the model is as sure as it should be; the mean distance is {percent(current.error)} "
        f"({current.rows.sum():,} rows)."
    )
    if temperature := head.get("temperature"):
        # p^T, normalized, is a softmax over the logits before they were divided by T.
        powers = probabilities**temperature
        uncalibrated = reliability((powers / powers.sum(axis=1, keepdims=True)).max(axis=1), is_right)
        series.append(
            Line("before calibration", uncalibrated.confidence.tolist(), uncalibrated.accuracy.tolist(), points=True)
        )
        note += f" Before the calibration with temperature {number(temperature)} it was {percent(uncalibrated.error)}."
    series.append(Line("ideal", [0, 1], [0, 1], dashed=True))
    alt = "Accuracy over the predicted probability"
    axes = ("probability of the predicted label", "accuracy")
    return [line_card("calibration", "Calibration", alt, series, axes, note, _UNIT)]


def roc_curve(is_present: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return false and true positive rates from (0, 0) to (1, 1).

    Args:
        is_present: whether rows have the label, bool [n], with both values.
        probability: the label's probability, float [n].
    """
    order = np.argsort(-probability, kind="stable")
    is_cut = np.append(np.diff(probability[order]) < 0, True)  # equal probabilities are on the same side
    hits = np.cumsum(is_present[order])[is_cut]
    misses = np.cumsum(~is_present[order])[is_cut]
    return np.append(0.0, misses / misses[-1]), np.append(0.0, hits / hits[-1])


def _roc(head: Mapping[str, Any], rows: list[dict]) -> list[Card]:
    is_present = np.array([row["labels"] for row in rows]) > 0
    probabilities = np.array([row["probabilities"] for row in rows])
    defined = [
        column
        for column in range(is_present.shape[1])
        if is_present[:, column].any() and not is_present[:, column].all()
    ]
    if not defined:
        return []
    # There are only SERIES colors. Labels with the most rows have the steadiest curves.
    defined.sort(key=lambda column: -int(is_present[:, column].sum()))
    series = [Line("by chance", [0, 1], [0, 1], dashed=True)]
    for column in sorted(defined[:SERIES]):
        x, y = roc_curve(is_present[:, column], probabilities[:, column])
        # Use column order, as everywhere else in the page.
        series.append(Line(head["labels"][column], x.tolist(), y.tolist()))
    series.append(series.pop(0))
    axes = ("false positive rate", "true positive rate")
    note = f"Of the {SERIES} labels with the most rows." if len(defined) > SERIES else "The dashed line is chance."
    return [line_card("roc", "ROC", "ROC of the labels", series, axes, note, _UNIT)]


def _scatter(head: Mapping[str, Any], rows: list[dict]) -> list[Card]:
    x, y = (evenly_spaced_values([row[name] for row in rows]).tolist() for name in ("value", "predicted"))
    series = [Line("model", x, y, scatter=True)]
    if rows:
        ends = [min(*x, *y), max(*x, *y)]
        series.append(Line("equal", ends, ends, dashed=True))
    note = f"{len(x):,} of {len(rows):,} rows; on the dashed line both are equal."
    axes = ("in the data", "predicted")
    return [line_card("scatter", "Predicted and given", "Predicted over given numbers", series, axes, note)]


# Keys are PredictionColumns.chart.
CHARTS = {"calibration": _calibration, "roc": _roc, "scatter": _scatter}


def _mistakes(problem: ProblemType, head: Mapping[str, Any], rows: list[dict]) -> Card:
    thresholds = head.get("thresholds", ())
    errors = [(problem.metrics.row_error(row, thresholds), row) for row in rows if "text" in row]
    wrong = sorted((scored_row for scored_row in errors if scored_row[0] > 0), key=lambda scored_row: -scored_row[0])
    texts = [_text(row, head) for _, row in wrong[:_SHOWN_TEXTS]]
    return Card("card-mistakes", problem.columns.mistakes_title, "texts", texts, is_wide=True)


def _text(row: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, Any]:
    """Return a text with its label and the prediction."""
    text = {name: row.get(name) for name in ("text", "text_b")} | {"id": row.get("id", ""), "bars": []}
    if "value" in row:
        return text | {"actual": number(row["value"]), "predicted": number(row["predicted"])}
    probabilities = row["probabilities"]
    names = head.get("labels", ())
    captions = names
    has_choices = "endings" in row
    if has_choices:
        names = [str(ending) for ending in range(len(probabilities))]  # as in predictions.tsv
        captions = [f"{name}: {ending}" for name, ending in zip(names, row["endings"], strict=True)]
    if "label" in row:
        gold, predicted = {row["label"]}, {predict_row(probabilities, head.get("thresholds", ()))}
    else:
        gold = {column for column, is_present in enumerate(row["labels"]) if is_present}
        predicted = {
            column for column, probability in enumerate(probabilities) if probability >= head["thresholds"][column]
        }
    columns = sorted(range(len(names)), key=lambda column: -probabilities[column])[:_SHOWN_PROBABILITIES]
    # Always show the correct label, even if it is not among the most probable ones.
    columns += sorted(gold - set(columns))
    text["bars"] = [
        {"label": captions[column], "share": probabilities[column], "is_own": column in gold} for column in columns
    ]
    answers = [
        ", ".join(names[column] for column in sorted(probability)) or "none" for probability in (gold, predicted)
    ]
    if "label" in row:
        answers[1] = format_label_probability(answers[1], probabilities[next(iter(predicted))])
    return text | {"actual": answers[0], "predicted": answers[1], "is_long": has_choices}


def _explanation_card(rows: list[dict]) -> Card:
    texts = []
    for row in (row for row in rows if "explanation" in row):
        explanation = row["explanation"]
        most = max((abs(word["share"]) for word in explanation["words"]), default=0.0) or 1.0
        second = next((index for index, word in enumerate(explanation["words"]) if word.get("text_b")), None)
        words = [
            word | {"weight": round(abs(word["share"]) / most, 3), "begins_second": index == second}
            for index, word in enumerate(explanation["words"])
        ]
        answer = number(explanation.get("value"))
        # With several labels, the most probable one is explained, even if it is not predicted.
        label = explanation.get("label", explanation.get("explained_label"))
        if label is not None:
            answer = format_label_probability(label, explanation["probability"])
        texts.append({"answer": answer, "id": row.get("id", ""), "words": words})
    note = (
        "Green words speak for the answer, red ones against it. Occlusion with [MASK]: the words "
        "of a masked text are uncovered one by one, in several orders, and a word's share is by "
        "how much the score rises; the shares add up to the score (log-odds, or the number) of the "
        "text minus the score of the masked one."
    )
    return Card("card-words", "Which words mattered", "words", texts, note, is_wide=True)
