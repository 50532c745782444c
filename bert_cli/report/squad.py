"""What an evaluation of bert-squad shows: the curve of the null threshold, and answers in their context."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.report.figures import Line, lines
from bert_cli.report.parts import Card, ReportTable, Section, figure_card, number
from bert_cli.report.run_files import Run

_SHOWN = 12  # wrong ones, and half as many right ones
_AROUND = 250  # characters of the context before an answer, and behind it: so that it is seen on a phone
_GROUPS = (("all questions", ""), ("with an answer", "HasAns_"), ("without an answer", "NoAns_"))


def squad_section(run: Run) -> Section:
    """Scores in per cent."""
    cards = [*_scores(run)]
    if run.examples:
        cards += [*_threshold_card(run), *_answers(run.examples.rows)]
    return Section("evaluation", "Evaluation", tuple(cards))


def _scores(run: Run) -> list[Card]:
    results, rows = run.results, []
    for name, start in _GROUPS:
        exact = results.get(f"{start}exact", results.get("exact_match") if not start else None)
        if exact is not None:
            total = int(results.get(f"{start}total", 0))
            rows.append((name, number(exact, 2), number(results.get(f"{start}f1"), 2), number(total)))
    if not rows:
        return []
    return [Card("card-scores", "Scores", "table", ReportTable(("questions", "exact match %", "F1 %", "count"), rows))]


def threshold_curve(rows: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(thresholds, exact match, F1) in per cent, thresholds ascending: a question with null odds above one gets no answer."""
    rows = sorted((row for row in rows if row["null_odds"] is not None), key=lambda row: row["null_odds"])
    odds = np.array([row["null_odds"] for row in rows])
    nothing = np.array([0.0 if row["is_answerable"] else 1.0 for row in rows])
    curves = []
    for name in ("best_exact", "best_f1"):
        gains = np.array([row[name] for row in rows]) * (nothing == 0) - nothing
        curves.append(100.0 * (nothing.sum() + np.cumsum(gains)) / max(1, len(rows)))
    return odds, curves[0], curves[1]


def _threshold_card(run: Run) -> list[Card]:
    assert run.examples is not None, "the caller looks"
    odds, exact, f1 = threshold_curve(run.examples.rows)
    usual = np.abs(odds) < 1e5  # where nothing was found at all, the odds say so by a number that is out of all scale
    odds, exact, f1 = odds[usual], exact[usual], f1[usual]
    if len(odds) < 2:
        return []
    series = [Line("F1", odds.tolist(), f1.tolist()), Line("exact match", odds.tolist(), exact.tolist())]
    title = "Scores over the null threshold"
    figure = lines("threshold", title, series, "threshold on the null odds", "per cent")
    best = int(f1.argmax())
    now = run.flags.get("null_score_diff_threshold", "0.0")
    note = (
        f"A question with null odds above the threshold gets no answer. Best F1: {number(float(f1[best]), 2)} % at "
        f"{number(float(odds[best]), 2)}; --null_score_diff_threshold was {now}."
    )
    return [figure_card("card-threshold", "Null threshold", figure, note)]


def _answers(rows: Sequence[dict[str, Any]]) -> list[Card]:
    texts = [row for row in rows if "context" in row]
    wrong = [row for row in texts if not row["is_right"]]
    right = [row for row in texts if row["is_right"]]
    shown = []
    for row in (*wrong[:_SHOWN], *right[: _SHOWN // 2]):
        first, end = row["answer"] or (0, 0)
        before, behind = row["context"][:first], row["context"][end:]
        if len(before) > _AROUND:
            before = "…" + before[-_AROUND:]
        if len(behind) > _AROUND:
            behind = behind[:_AROUND] + "…"
        shown.append(row | {"before": before, "marked": row["context"][first:end], "behind": behind})
    if not shown:
        return []
    return [Card("card-answers", "Answers in their context", "answers", shown, "Mistakes come first.", is_wide=True)]
