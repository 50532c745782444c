"""Files of bert-squad: answers as in Google's run_squad.py, and examples for a report."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.writing import atomic_write
from bert_cli.examples.squad.records import SquadExample
from bert_cli.metrics.squad import raw_scores
from bert_cli.outputs.answers.squad import NBestEntry, SquadPrediction
from bert_cli.outputs.eval_examples import MOST_CHARACTERS, EvalExamples, kept_rows, shorten
from bert_cli.problem_types.columns import round_to_six_digits

ANSWERS = (20, 20)  # wrong and correct answers with their text, indexed by is_right


def _write(path: str, value: dict) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(value, indent=4) + "\n")


def write_predictions(path: str, predictions: Sequence[SquadPrediction]) -> None:
    """Write predictions.json, {id: text}, in prediction order."""
    _write(path, {prediction.qas_id: prediction.text for prediction in predictions})


def write_nbest_predictions(path: str, predictions: Sequence[SquadPrediction]) -> None:
    """Write nbest_predictions.json, with entries best first.

    The layout is {id: [{"text", "probability", "start_logit", "end_logit"}]}.
    """
    names = NBestEntry._fields[:-1]  # without the span, which the original's file does not have
    entries = {
        prediction.qas_id: [dict(zip(names, entry, strict=False)) for entry in prediction.nbest]
        for prediction in predictions
    }
    _write(path, entries)


def write_null_odds(path: str, predictions: Sequence[SquadPrediction]) -> None:
    """Write null_odds.json, {id: null odds}."""
    _write(path, {prediction.qas_id: prediction.null_odds for prediction in predictions})


def _context(example: SquadExample, span: tuple[int, int] | None) -> dict[str, Any]:
    """Return up to MOST_CHARACTERS from the context around the answer, and the answer's span there."""
    context = example.paragraph.context
    first = 0
    # Center the answer in the excerpt if there is text on both sides.
    if span and len(context) > MOST_CHARACTERS:
        first = max(0, min(span[0] - MOST_CHARACTERS // 2, len(context) - MOST_CHARACTERS))
    excerpt = context[first : first + MOST_CHARACTERS]
    answer = [max(0, span[0] - first), min(len(excerpt), span[1] - first)] if span else None
    return {"context": excerpt, "answer": answer, "is_cut": len(excerpt) < len(context)}


def squad_examples(
    examples: Sequence[SquadExample],
    predictions: Sequence[SquadPrediction],
    gold: Mapping[str, Sequence[str]],
) -> EvalExamples:
    """Return examples for bert-squad: scores per question, and some answers in their context.

    Args:
        examples: questions.
        predictions: predictions for questions.
        gold: gold answers per question.
    """
    by_id = {prediction.qas_id: prediction for prediction in predictions}
    scored = [example for example in examples if example.qas_id in by_id and example.qas_id in gold]
    rows = []
    remaining = list(ANSWERS)
    for number in kept_rows(len(scored)).tolist():
        example = scored[number]
        answers = list(gold[example.qas_id])
        prediction = by_id[example.qas_id]
        exact, f1 = raw_scores(answers, prediction.text)
        best = next((entry.text for entry in prediction.nbest if entry.text), "")
        best_exact, best_f1 = raw_scores(answers, best)
        is_right = exact == 1.0
        row: dict[str, Any] = {
            "row": number, "exact": exact, "f1": round(f1, 6), "best_exact": best_exact, "best_f1": round(best_f1, 6),
            "null_odds": None if prediction.null_odds is None else round_to_six_digits(prediction.null_odds),
            "is_answerable": bool(answers), "is_answered": bool(prediction.text), "is_right": is_right,
        }  # fmt: skip
        if remaining[is_right]:
            remaining[is_right] -= 1
            row |= {"id": example.qas_id, "question": shorten(example.question)}
            row |= {"gold": [shorten(text) for text in dict.fromkeys(answers)]}
            row |= {"text": shorten(prediction.text)} | _context(example, prediction.span)
        rows.append(row)
    return EvalExamples({"kind": "squad", "rows": len(scored)}, rows)
