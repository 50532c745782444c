"""What an evaluation of bert-tag shows: scores of each type, and sentences with their entities."""

from collections.abc import Sequence
from typing import Any

from bert_cli.examples.tag_schemes import entities
from bert_cli.report.figures import SERIES
from bert_cli.report.parts import Card, ReportTable, Section, number
from bert_cli.report.run_files import Run

_SHOWN = 24
_OF_TYPE = "eval_entities_"


def tagging_section(run: Run) -> Section:
    """Scores in per cent, and sentences of the dev file: those with mistakes first."""
    results = run.results
    types = sorted(name.removeprefix(_OF_TYPE) for name in results if name.startswith(_OF_TYPE))
    endings = [("all", ""), *((kind, f"_{kind}") for kind in types)]
    rows = [
        (name, *(number(results.get(f"eval_{key}{ending}"), 2) for key in ("precision", "recall", "f1")),
         number(int(results.get(f"eval_entities{ending}", 0))))
        for name, ending in endings
        if f"eval_f1{ending}" in results
    ]  # fmt: skip
    cards = []
    if rows:
        table = ReportTable(("type", "precision %", "recall %", "F1 %", "entities"), rows)
        note = "An entity is right where its first word, its last word and its type are, as conlleval counts them."
        cards.append(Card("card-types", "Each type", "table", table, note, is_wide=True))
    if run.examples and run.examples.rows:
        cards.append(_sentences(run.examples.rows, types))
    return Section("evaluation", "Evaluation", tuple(cards))


def _sentences(rows: Sequence[dict[str, Any]], types: Sequence[str]) -> Card:
    known = {kind: place % SERIES + 1 for place, kind in enumerate(types)}
    wrong = [row for row in rows if row["gold"] != row["predicted"]]
    right = [row for row in rows if row["gold"] == row["predicted"]]
    shown = []
    for row in (*wrong[: _SHOWN * 2 // 3], *right[: _SHOWN // 3]):
        gold, found = entities(row["gold"]), entities(row["predicted"])
        shown.append(
            {
                "gold": _pieces(row["words"], gold, set(found), known),
                "predicted": _pieces(row["words"], found, set(gold), known),
                "is_right": row["gold"] == row["predicted"],
            }
        )
    note = "Colours are types; a dashed frame is an entity that the other line does not have."
    content = {"sentences": shown, "types": [(kind, known[kind]) for kind in types]}
    return Card("card-sentences", "Sentences", "sentences", content, note, is_wide=True)


def _pieces(words: Sequence[str], found: Sequence[Any], others: set, known: dict[str, int]) -> list[dict[str, Any]]:
    """Stretches of a sentence: an entity with its type and colour, or words between."""
    pieces: list[dict[str, Any]] = []
    place = 0
    for entity in found:
        if entity.start > place:
            pieces.append({"text": " ".join(words[place : entity.start])})
        text, place = " ".join(words[entity.start : entity.end]), entity.end
        colour = known.get(entity.type, 1)
        pieces.append({"text": text, "type": entity.type, "colour": colour, "is_odd": entity not in others})
    if place < len(words):
        pieces.append({"text": " ".join(words[place:])})
    return pieces
