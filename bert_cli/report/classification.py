"""What an evaluation of bert-classify shows: which labels are taken for which, how sure the model is, and where it is wrong."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import problem_type
from bert_cli.report.figures import SERIES, Line, lines, points, thinned
from bert_cli.report.parts import Card, ReportTable, Section, figure_card, number, percent
from bert_cli.report.run_files import Run

_BINS = 10
_SHOWN_LABELS = 40  # of a matrix; more are unreadable, and are in the table
_SHOWN_TEXTS = 12
_SHOWN_PROBABILITIES = 5


def classification_section(run: Run) -> Section:
    """Of one label, several labels, or a number, by what the evaluation left."""
    evaluation = run.report.get("eval", {})
    cards, scores = _matrix(evaluation, run), [*_classes(evaluation), *_label_scores(evaluation)]
    if run.examples:
        head, rows = run.examples
        asked = problem_type(head["kind"])
        cards += CHARTS[asked.chart](head, rows)
        scores += [*_mistakes(asked, head, rows), *_explained(rows)]
    return Section("evaluation", "Evaluation", (*cards, *scores))


def _matrix(evaluation: Mapping[str, Any], run: Run) -> list[Card]:
    counts = evaluation.get("confusion_matrix")
    labels = run.report.get("labels", [])
    if not counts or len(counts) != len(labels) or len(labels) > _SHOWN_LABELS:
        return []
    rows = []
    for label, row in zip(labels, counts, strict=True):
        total = max(1, sum(row))
        cells = [{"count": count, "share": count / total, "is_right": label == other}
                 for count, other in zip(row, labels, strict=True)]  # fmt: skip
        rows.append({"label": label, "cells": cells, "total": sum(row)})
    note = "Rows are the labels of the data, columns what was predicted; the colour is the share of the row."
    return [Card("card-matrix", "Confusion matrix", "matrix", {"labels": labels, "rows": rows}, note)]


def _classes(evaluation: Mapping[str, Any]) -> list[Card]:
    classes = evaluation.get("classes")
    if not classes:
        return []
    rows = [(name, *(number(each[key]) for key in ("precision", "recall", "f1")), number(each["support"]))
            for name, each in classes.items()]  # fmt: skip
    table = ReportTable(("label", "precision", "recall", "F1", "rows"), rows)
    return [Card("card-classes", "Each label", "table", table, is_wide=True)]


def _label_scores(evaluation: Mapping[str, Any]) -> list[Card]:
    scores = evaluation.get("labels")
    if not isinstance(scores, dict):
        return []
    keys = ("threshold", "precision", "recall", "f1", "roc_auc", "average_precision", "support")
    rows = [(name, *(number(each[key]) for key in keys)) for name, each in scores.items()]
    head = ("label", "threshold", "precision", "recall", "F1", "area under ROC", "average precision", "rows")
    return [Card("card-labels", "Each label", "table", ReportTable(head, rows), is_wide=True)]


def reliability(confidence: np.ndarray, is_right: np.ndarray) -> tuple[list[float], list[float], list[int], float]:
    """Mean confidence, share of right ones and number of rows in each of ten bins that has some, and the mean distance
    of the two, weighted by rows (the expected calibration error).

    confidence: float [n], the probability of the predicted label; is_right: bool [n].
    """
    # A confidence of exactly 1 belongs to the last bin.
    places = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    counts = np.bincount(places, minlength=_BINS)
    some = counts > 0
    means = np.bincount(places, confidence, _BINS)[some] / counts[some]
    rights = np.bincount(places, is_right, _BINS)[some] / counts[some]
    error = float((np.abs(means - rights) * counts[some]).sum() / counts.sum())
    return means.tolist(), rights.tolist(), counts[some].tolist(), error


def _calibration(head: Mapping[str, Any], rows: list[dict]) -> list[Card]:
    rows = [row for row in rows if "label" in row]
    if not rows:
        return []
    probabilities = np.array([row["probabilities"] for row in rows])
    is_right = probabilities.argmax(axis=1) == np.array([row["label"] for row in rows])
    means, rights, counts, error = reliability(probabilities.max(axis=1), is_right)
    series = [Line("model", means, rights, points=True), Line("ideal", [0, 1], [0, 1], dashed=True)]
    title = "Share of right predictions over their probability"
    figure = lines(
        "calibration", title, series, "probability of the predicted label", "share that is right", (-0.03, 1.03)
    )
    note = (
        f"On the dashed line the model is as sure as it should be; the mean distance is {percent(error)} "
        f"({sum(counts):,} rows)."
    )
    return [figure_card("card-calibration", "Calibration", figure, note)]


def roc_curve(has: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(false positive rates, true positive rates) from (0, 0) to (1, 1); bool and float [n], both labels among them."""
    order = np.argsort(-probability, kind="stable")
    is_cut = np.append(np.diff(probability[order]) < 0, True)  # equal probabilities are on one side
    hits, misses = np.cumsum(has[order])[is_cut], np.cumsum(~has[order])[is_cut]
    return np.append(0.0, misses / misses[-1]), np.append(0.0, hits / hits[-1])


def _roc(head: Mapping[str, Any], rows: list[dict]) -> list[Card]:
    has = np.array([row["labels"] for row in rows]) > 0
    probabilities = np.array([row["probabilities"] for row in rows])
    known = [column for column in range(has.shape[1]) if has[:, column].any() and not has[:, column].all()]
    if not known:
        return []
    # The colours suffice for SERIES labels; those with the most rows have the steadiest curves.
    known.sort(key=lambda column: -int(has[:, column].sum()))
    series = [Line("by chance", [0, 1], [0, 1], dashed=True)]
    for column in sorted(known[:SERIES]):
        x, y = roc_curve(has[:, column], probabilities[:, column])
        # In the order of the columns, as everywhere else in the page.
        series.append(Line(head["labels"][column], x.tolist(), y.tolist()))
    series.append(series.pop(0))
    figure = lines("roc", "ROC of the labels", series, "false positive rate", "true positive rate", (-0.03, 1.03))
    note = f"Of the {SERIES} labels with the most rows." if len(known) > SERIES else "The dashed line is chance."
    return [figure_card("card-roc", "ROC", figure, note)]


def _scatter(head: Mapping[str, Any], rows: list[dict]) -> list[Card]:
    values = [thinned([row[name] for row in rows]).tolist() for name in ("value", "predicted")]
    figure = points(
        "scatter", "Predicted over given numbers", values[0], values[1], "in the data", "predicted", diagonal=True
    )
    note = f"{len(values[0]):,} of {len(rows):,} rows; on the dashed line both are equal."
    return [figure_card("card-scatter", "Predicted and given", figure, note)]


# By the chart of a problem type.
CHARTS = {"calibration": _calibration, "roc": _roc, "scatter": _scatter}


def _mistakes(asked: ProblemType, head: Mapping[str, Any], rows: list[dict]) -> list[Card]:
    thresholds = head.get("thresholds", ())
    errors = [(asked.row_error(row, thresholds), row) for row in rows if "text" in row]
    wrong = sorted((each for each in errors if each[0] > 0), key=lambda each: -each[0])
    if not wrong:
        return []
    shown = [_text(asked, row, head) for _, row in wrong[:_SHOWN_TEXTS]]
    return [Card("card-mistakes", asked.mistakes_title, "texts", shown, is_wide=True)]


def _text(asked: ProblemType, row: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, Any]:
    """A text with its label and the prediction."""
    shown = {
        "id": row.get("id", ""),
        "text": row["text"],
        "text_b": row.get("text_b"),
        "bars": [],
        "is_long": asked.has_endings,
    }
    if asked.is_numeric:
        return shown | {"is": number(row["value"]), "taken_for": number(row["predicted"])}
    shares, told = row["probabilities"], head.get("labels", ())
    labels = told
    if asked.has_endings:
        labels = [str(ending) for ending in range(len(shares))]  # as in predictions.tsv
        told = [f"{name}: {ending}" for name, ending in zip(labels, row["endings"], strict=True)]
    if "label" in row:
        own, taken = {row["label"]}, {int(np.argmax(shares))}
    else:
        own = {column for column, has in enumerate(row["labels"]) if has}
        taken = {column for column, share in enumerate(shares) if share >= head["thresholds"][column]}
    order = sorted(range(len(labels)), key=lambda column: -shares[column])
    bars = order[:_SHOWN_PROBABILITIES]
    # The right label is shown also where it is not among the most probable ones.
    bars += sorted(own - set(bars))
    shown["bars"] = [{"label": told[column], "share": shares[column], "is_own": column in own} for column in bars]
    names = [", ".join(labels[column] for column in sorted(each)) or "none" for each in (own, taken)]
    return shown | {"is": names[0], "taken_for": names[1]}


def _explained(rows: list[dict]) -> list[Card]:
    shown = []
    for row in (row for row in rows if "explanation" in row):
        said = row["explanation"]
        most = max((abs(word["share"]) for word in said["words"]), default=0.0) or 1.0
        second = next((place for place, word in enumerate(said["words"]) if word.get("text_b")), None)
        words = [
            word | {"weight": round(abs(word["share"]) / most, 3), "begins_second": place == second}
            for place, word in enumerate(said["words"])
        ]
        answer = f"{said['label']} {percent(said['probability'])}" if "label" in said else number(said["value"])
        shown.append({"answer": answer, "id": row.get("id", ""), "words": words})
    if not shown:
        return []
    note = (
        "Green words speak for the answer, red ones against it. Occlusion with [MASK]: the words of a masked text are "
        "uncovered one by one, in several orders, and a word's share is by how much the score rises; the shares add up to "
        "the score (log-odds, or the number) of the text minus that of the masked one."
    )
    return [Card("card-words", "Which words mattered", "words", shown, note, is_wide=True)]
