"""Cards for evaluations of all commands but bert-classify: scores and predictions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.examples.tag_schemes import find_entities
from bert_cli.metrics.vectors import SCORED_METRICS, SEARCH_METRICS
from bert_cli.report.components import Card, ReportTable, number, percent
from bert_cli.report.figures import SERIES, Line, line_card
from bert_cli.report.main_metric import display_name
from bert_cli.report.run_files import Run

EvaluationRow = Mapping[str, Any]
_SENTENCES, _ANSWERS = 16, 12  # texts with mistakes; there are half as many without
_AROUND = 250  # context characters before and after an answer, so that the answer is visible on a phone
_OF_TYPE = "eval_entities_"
_GROUPS = (("all questions", ""), ("with an answer", "HasAns_"), ("without an answer", "NoAns_"))


def _mistakes_first(
    rows: Sequence[EvaluationRow], is_right: Callable[[EvaluationRow], bool], most: int
) -> list[EvaluationRow]:
    """Return `most` rows with mistakes, and half as many without."""
    return [row for row in rows if not is_right(row)][:most] + [row for row in rows if is_right(row)][: most // 2]


def tagging_cards(run: Run) -> list[Card]:
    """Return the cards of bert-tag: scores per type in percent, and sentences with their entities."""
    results = run.results
    types = sorted(name.removeprefix(_OF_TYPE) for name in results if name.startswith(_OF_TYPE))
    rows = [
        (name, *(number(results.get(f"eval_{key}{suffix}"), 2) for key in ("precision", "recall", "f1")),
         number(int(results.get(f"eval_entities{suffix}", 0))))
        for name, suffix in (("all", ""), *((name, f"_{name}") for name in types))
        if f"eval_f1{suffix}" in results
    ]  # fmt: skip
    cards = []
    if rows:
        head = ("type", "precision %", "recall %", "F1 %", "entities")
        note = "An entity is right where its first word, its last word and its type are, as conlleval counts them."
        cards.append(Card("card-types", "Each type", "table", ReportTable(head, rows), note, is_wide=True))
    if sentences := [row for row in run.examples.rows if "words" in row] if run.examples else []:
        cards.append(_sentences(sentences, types))
    return cards


def _sentences(rows: Sequence[EvaluationRow], types: Sequence[str]) -> Card:
    # The page has SERIES colors, which repeat if there are more types.
    colors = {name: index % SERIES + 1 for index, name in enumerate(types)}
    sentences = []
    for row in _mistakes_first(rows, lambda row: row["gold"] == row["predicted"], _SENTENCES):
        gold, predicted = find_entities(row["gold"]), find_entities(row["predicted"])
        sentences.append(
            {
                "gold": _stretches(row["words"], gold, set(predicted), colors),
                "predicted": _stretches(row["words"], predicted, set(gold), colors),
                "is_right": row["gold"] == row["predicted"],
            }
        )
    note = "Colours are types; a dashed frame is an entity that the other line does not have."
    content = {"sentences": sentences, "types": list(colors.items())}
    return Card("card-sentences", "Sentences", "sentences", content, note, is_wide=True)


def _stretches(
    words: Sequence[str], marked: Sequence[Any], reference_entities: set, colors: EvaluationRow
) -> list[dict[str, Any]]:
    """Return a sentence in pieces: entities with type and color, and the words between them."""
    stretches: list[dict[str, Any]] = []
    end = 0
    for entity in marked:
        if entity.start > end:
            stretches.append({"text": " ".join(words[end : entity.start])})
        text = " ".join(words[entity.start : entity.end])
        end = entity.end
        # A type that occurs only in predictions has no score, so it has no separate color.
        color = colors.get(entity.type, 1)
        stretches.append(
            {"text": text, "type": entity.type, "colour": color, "is_odd": entity not in reference_entities}
        )
    if end < len(words):
        stretches.append({"text": " ".join(words[end:])})
    return stretches


def squad_cards(run: Run) -> list[Card]:
    """Return the cards of bert-squad: scores in percent, threshold curve, and answers in context."""
    results = run.results
    rows = []
    for name, prefix in _GROUPS:
        # SQuAD 1.1 uses the name exact_match, and SQuAD 2.0 uses exact.
        exact = results.get(f"{prefix}exact", results.get("exact_match") if not prefix else None)
        if exact is not None:
            total = int(results.get(f"{prefix}total", 0))
            rows.append((name, number(exact, 2), number(results.get(f"{prefix}f1"), 2), number(total)))
    table = ReportTable(("questions", "exact match %", "F1 %", "count"), rows)
    cards = [Card("card-scores", "Scores", "table", table)] if rows else []
    if run.examples:
        cards += _threshold_card(run.examples.rows, run.flags.get("null_score_diff_threshold", "0.0"))
        cards.append(_answers(run.examples.rows))
    return cards


def threshold_curve(rows: Sequence[EvaluationRow]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return thresholds (ascending), exact match and F1 in percent.

    A question with null odds above the threshold gets no answer.
    """
    rows = sorted((row for row in rows if row["null_odds"] is not None), key=lambda row: row["null_odds"])
    odds = np.array([row["null_odds"] for row in rows])
    null_scores = np.array([0.0 if row["is_answerable"] else 1.0 for row in rows])
    curves = []
    for name in ("best_exact", "best_f1"):
        # Below the least threshold, only unanswerable questions are correct. Each passed question
        # then gets its answer.
        gains = np.array([row[name] for row in rows]) * (null_scores == 0) - null_scores
        curves.append(100.0 * (null_scores.sum() + np.cumsum(gains)) / max(1, len(rows)))
    return odds, curves[0], curves[1]


def _threshold_card(rows: Sequence[EvaluationRow], threshold: str) -> list[Card]:
    curves = threshold_curve(rows)
    # Without any candidate, null odds are 1,000,000, far outside the scale.
    odds, exact, f1 = (curve[np.abs(curves[0]) < 1e5] for curve in curves)
    if len(odds) < 2:
        return []
    series = [Line("F1", odds.tolist(), f1.tolist()), Line("exact match", odds.tolist(), exact.tolist())]
    best = int(f1.argmax())
    note = (
        "A question with null odds above the threshold gets no answer. Best F1: "
        f"{number(float(f1[best]), 2)} % at {number(float(odds[best]), 2)}; "
        f"--null_score_diff_threshold was {threshold}."
    )
    axes = ("threshold on the null odds", "per cent")
    return [line_card("threshold", "Null threshold", "Scores over the null threshold", series, axes, note)]


def _answers(rows: Sequence[EvaluationRow]) -> Card:
    answers = []
    for row in _mistakes_first([row for row in rows if "context" in row], lambda row: row["is_right"], _ANSWERS):
        first, end = row["answer"] or (0, 0)
        before, after = row["context"][:first], row["context"][end:]
        if len(before) > _AROUND:
            before = "…" + before[-_AROUND:]
        if len(after) > _AROUND:
            after = after[:_AROUND] + "…"
        answers.append({**row, "before": before, "marked": row["context"][first:end], "after": after})
    return Card("card-answers", "Answers in their context", "answers", answers, "Mistakes come first.", is_wide=True)


def pretraining_cards(run: Run) -> list[Card]:
    """Return the card of bert-pretrain: masked words in held-out text with the model's predictions.

    It is empty if the vocabulary is unknown.
    """
    rows = run.examples.rows if run.examples else []
    sequences = [_pieces(row) for row in rows if row["blanks"]]
    note = "Green: the model's first choice is the word of the text. Red: its choice, followed by the word of the text."
    return [Card("card-blanks", "Masked words", "blanks", sequences, note, is_wide=True)]


def _pieces(row: EvaluationRow) -> list[dict[str, Any]]:
    """Return a sequence's word pieces; a `glued` piece continues the previous one."""
    filled = {position: (token, probability) for position, token, probability in row["blanks"]}
    pieces = []
    for position, token in enumerate(row["tokens"]):
        piece: dict[str, Any] = {"text": token.removeprefix("##"), "glued": token.startswith("##"), "is_blank": False}
        if position in filled:
            choice, probability = filled[position]
            # Show the ## of a masked piece: the prediction next to it may be another sort of piece.
            piece |= {"is_blank": True, "choice": choice, "share": percent(probability), "is_right": choice == token}
            piece["text"] = token
        pieces.append(piece)
    return pieces


def vector_cards(run: Run) -> list[Card]:
    """Return the card of bert-train-vectors: correlations, or results of the search."""
    names = [name for name in (*SCORED_METRICS, *SEARCH_METRICS) if name in run.results]
    rows = [(display_name(name), number(run.results[name])) for name in names]
    return [Card("card-scores", "Scores", "table", ReportTable(("", "value"), rows))] if rows else []
