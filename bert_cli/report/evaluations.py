"""What the evaluations of bert-tag, bert-squad and bert-pretrain show: scores, and texts with the
model's predictions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.examples.tag_schemes import entities
from bert_cli.report.components import Card, ReportTable, number, percent
from bert_cli.report.figures import SERIES, Line, line_card
from bert_cli.report.run_files import Run

Row = Mapping[str, Any]
_SENTENCES, _ANSWERS = 16, 12  # with mistakes, and half as many without
_AROUND = 250  # characters of the context before and after an answer, so that the answer is seen on a phone
_OF_TYPE = "eval_entities_"
_GROUPS = (("all questions", ""), ("with an answer", "HasAns_"), ("without an answer", "NoAns_"))


def _mistakes_first(rows: Sequence[Row], is_right: Callable[[Row], bool], most: int) -> list[Row]:
    """`most` rows with mistakes, and half as many without."""
    return [row for row in rows if not is_right(row)][:most] + [row for row in rows if is_right(row)][: most // 2]


def tagging_cards(run: Run) -> list[Card]:
    """bert-tag: scores of each type in per cent, and sentences of the dev file with their entities."""
    results = run.results
    types = sorted(name.removeprefix(_OF_TYPE) for name in results if name.startswith(_OF_TYPE))
    rows = [
        (name, *(number(results.get(f"eval_{key}{ending}"), 2) for key in ("precision", "recall", "f1")),
         number(int(results.get(f"eval_entities{ending}", 0))))
        for name, ending in (("all", ""), *((name, f"_{name}") for name in types))
        if f"eval_f1{ending}" in results
    ]  # fmt: skip
    cards = []
    if rows:
        head = ("type", "precision %", "recall %", "F1 %", "entities")
        note = "An entity is right where its first word, its last word and its type are, as conlleval counts them."
        cards.append(Card("card-types", "Each type", "table", ReportTable(head, rows), note, is_wide=True))
    if run.examples and run.examples.rows:
        cards.append(_sentences(run.examples.rows, types))
    return cards


def _sentences(rows: Sequence[Row], types: Sequence[str]) -> Card:
    # The page has SERIES colors; with more types they come again.
    colors = {name: index % SERIES + 1 for index, name in enumerate(types)}
    shown = []
    for row in _mistakes_first(rows, lambda row: row["gold"] == row["predicted"], _SENTENCES):
        gold, predicted = entities(row["gold"]), entities(row["predicted"])
        shown.append(
            {
                "gold": _stretches(row["words"], gold, set(predicted), colors),
                "predicted": _stretches(row["words"], predicted, set(gold), colors),
                "is_right": row["gold"] == row["predicted"],
            }
        )
    note = "Colours are types; a dashed frame is an entity that the other line does not have."
    content = {"sentences": shown, "types": list(colors.items())}
    return Card("card-sentences", "Sentences", "sentences", content, note, is_wide=True)


def _stretches(words: Sequence[str], marked: Sequence[Any], others: set, colors: Row) -> list[dict[str, Any]]:
    """Stretches of a sentence: an entity with its type and color, or words between."""
    stretches: list[dict[str, Any]] = []
    end = 0
    for entity in marked:
        if entity.start > end:
            stretches.append({"text": " ".join(words[end : entity.start])})
        text = " ".join(words[entity.start : entity.end])
        end = entity.end
        # A type that occurs only in predictions has no score, and so no color of its own.
        color = colors.get(entity.type, 1)
        stretches.append({"text": text, "type": entity.type, "colour": color, "is_odd": entity not in others})
    if end < len(words):
        stretches.append({"text": " ".join(words[end:])})
    return stretches


def squad_cards(run: Run) -> list[Card]:
    """bert-squad: scores in per cent, the curve of the null threshold, and answers in their
    context.
    """
    results = run.results
    rows = []
    for name, start in _GROUPS:
        # The scorer of SQuAD 1.1 calls it exact_match, the scorer of 2.0 exact.
        exact = results.get(f"{start}exact", results.get("exact_match") if not start else None)
        if exact is not None:
            total = int(results.get(f"{start}total", 0))
            rows.append((name, number(exact, 2), number(results.get(f"{start}f1"), 2), number(total)))
    table = ReportTable(("questions", "exact match %", "F1 %", "count"), rows)
    cards = [Card("card-scores", "Scores", "table", table)] if rows else []
    if run.examples:
        cards += _threshold_card(run.examples.rows, run.flags.get("null_score_diff_threshold", "0.0"))
        cards.append(_answers(run.examples.rows))
    return cards


def threshold_curve(rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(thresholds, exact match, F1) in per cent, thresholds ascending: a question with null odds
    above one gets no answer.
    """
    rows = sorted((row for row in rows if row["null_odds"] is not None), key=lambda row: row["null_odds"])
    odds = np.array([row["null_odds"] for row in rows])
    nothing = np.array([0.0 if row["is_answerable"] else 1.0 for row in rows])
    curves = []
    for name in ("best_exact", "best_f1"):
        # Below the least threshold only unanswerable questions are right; each one that is passed
        # gets its answer.
        gains = np.array([row[name] for row in rows]) * (nothing == 0) - nothing
        curves.append(100.0 * (nothing.sum() + np.cumsum(gains)) / max(1, len(rows)))
    return odds, curves[0], curves[1]


def _threshold_card(rows: Sequence[Row], threshold: str) -> list[Card]:
    curves = threshold_curve(rows)
    # Without any candidate the null odds are 1,000,000, far outside the scale of the others.
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


def _answers(rows: Sequence[Row]) -> Card:
    shown = []
    for row in _mistakes_first([row for row in rows if "context" in row], lambda row: row["is_right"], _ANSWERS):
        first, end = row["answer"] or (0, 0)
        before, after = row["context"][:first], row["context"][end:]
        if len(before) > _AROUND:
            before = "…" + before[-_AROUND:]
        if len(after) > _AROUND:
            after = after[:_AROUND] + "…"
        shown.append({**row, "before": before, "marked": row["context"][first:end], "after": after})
    return Card("card-answers", "Answers in their context", "answers", shown, "Mistakes come first.", is_wide=True)


def pretraining_cards(run: Run) -> list[Card]:
    """bert-pretrain: masked words of held-out text as the model fills them; none where the
    vocabulary is not known.
    """
    rows = run.examples.rows if run.examples else []
    shown = [_pieces(row) for row in rows if row["blanks"]]
    note = "Green: the model's first choice is the word of the text. Red: its choice, followed by the word of the text."
    return [Card("card-blanks", "Masked words", "blanks", shown, note, is_wide=True)]


def _pieces(row: Row) -> list[dict[str, Any]]:
    """The word pieces of a sequence; `glued`: it goes on with the word before it."""
    filled = {position: (token, probability) for position, token, probability in row["blanks"]}
    pieces = []
    for position, token in enumerate(row["tokens"]):
        piece: dict[str, Any] = {"text": token.removeprefix("##"), "glued": token.startswith("##"), "is_blank": False}
        if position in filled:
            choice, probability = filled[position]
            # A masked piece shows its ##, as the choice next to it may be another kind of piece.
            piece |= {"is_blank": True, "choice": choice, "share": percent(probability), "is_right": choice == token}
            piece["text"] = token
        pieces.append(piece)
    return pieces
