"""eval_examples.jsonl: what an evaluation knows of single rows of its data, for the report of the
run.

The first line has the kind and the number of rows, each further line one row:

    {"kind": "single_label", "labels": ["0", "1"], "rows": 1000} {"row": 3, "label": 1,
    "probabilities": [0.93, 0.07], "id": "dev-3", "text": "the dog sees a cat ."}

kind                the members of a row in addition to `row`, its number in the file, from 0
single_label        label: its index; probabilities of all labels
multi_label         labels: 0 or 1 for each; probabilities
regression          value, predicted
multiple_choice     label: the index of the correct ending, from 0; probabilities of all; with a text, endings
tagging             words, gold and predicted: their tags in BIO
squad               exact and f1 (0…1) of the answer; best_exact, best_f1: of the best one that is not none; null_odds, or null;
                    is_answerable; is_answered; is_right
pretraining         tokens; blanks: of the masked ones [place among them, the model's first choice, its probability]

The numbers are of all rows, or of MOST_ROWS evenly spread rows; texts are with the rows that a
reader wants to see: the most confident mistakes, the largest errors, and the first few.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import decode
from bert_cli.base.writing import atomic_write
from bert_cli.examples.squad.records import SquadExample
from bert_cli.examples.tag_schemes import entities
from bert_cli.metrics.squad import raw_scores
from bert_cli.outputs.squad import Prediction
from bert_cli.problem_types.columns import rows_of, significant
from bert_cli.problem_types.problem_type import Found, LabelSet, ProblemType

MOST_ROWS = 20_000
MOST_NUMBERS = 400_000  # of probabilities: of many labels there are fewer rows
MISTAKES, OTHERS = 25, 8  # rows with their text
MOST_CHARACTERS = 2_000  # of a text
MOST_WORDS = 120  # of a sentence with tags
SENTENCES = (40, 20)  # with mistakes, and without: by whether one is right
ANSWERS = (20, 20)  # wrong ones and right ones, so too
SEQUENCES = 6  # with blanks
_ADVICE = "remove the file, and evaluate again"


class EvalExamples(NamedTuple):
    """head: the first line. rows: the others, ready for JSON."""

    head: dict[str, Any]
    rows: list[dict[str, Any]]


def write_eval_examples(path: str, found: EvalExamples) -> None:
    """Write the file, whole or not at all. Half of a surrogate pair, which JSON can bring, becomes
    a question mark.
    """
    with atomic_write(path) as file:
        for line in (found.head, *found.rows):
            # Without spaces, as a row may hold hundreds of probabilities.
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            file.write(text.encode("utf-8", "replace").decode("utf-8") + "\n")


def read_eval_examples(path: str) -> EvalExamples | None:
    """What write_eval_examples wrote; None where there is no such file. InputError for a damaged
    one.
    """
    if not files.exists(path):
        return None
    lines = decode(files.read_bytes(path), path).split("\n")[:-1]
    parsed = [parse_json(line, path, number, _ADVICE) for number, line in enumerate(lines, 1)]
    if not parsed or not all(isinstance(line, dict) for line in parsed) or "kind" not in parsed[0]:
        raise InputError(f"{path}: is not a list of the rows of an evaluation; {_ADVICE}")
    return EvalExamples(parsed[0], parsed[1:])


def kept_rows(count: int, numbers: int = 1) -> np.ndarray:
    """The rows of `count` that are kept, given the numbers in each: all, or evenly spread rows;
    ascending.
    """
    most = max(1, min(MOST_ROWS, MOST_NUMBERS // max(1, numbers)))
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).round().astype(np.int64)


def shortened(text: str) -> str:
    """A text of MOST_CHARACTERS at most."""
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"


def classification_examples(
    problem_type: ProblemType,
    labels: LabelSet,
    label_ids: np.ndarray,
    found: Found,
    text_of: Callable[[int], dict[str, Any]],
    temperature: float | None = None,
) -> EvalExamples:
    """Of bert-classify, n rows. label_ids: see ProblemType.label_array; text_of: the id and the
    texts of a row, for JSON. temperature: of all logits, where the probabilities are calibrated.
    """
    # Many labels make long rows: numbers, not rows, decide the size of the file.
    predictions = found[problem_type.output_name]
    count = len(label_ids)
    kept = kept_rows(count, predictions.size // max(1, count))
    exact = rows_of(problem_type.eval_columns(label_ids[kept], {problem_type.output_name: predictions[kept]}))
    thresholds = [] if labels.thresholds is None else labels.thresholds.tolist()
    errors = [problem_type.row_error(row, thresholds) for row in exact]
    # The order of the members stays as in earlier versions: files are compared byte by byte.
    head: dict[str, Any] = {"kind": problem_type.name}
    if not problem_type.has_endings:
        head["labels"] = list(labels.names)
    head["rows"] = count
    if thresholds:
        head["thresholds"] = _rounded(thresholds)
    if temperature is not None:
        head["temperature"] = temperature
    rows = [
        {"row": int(row), **{name: _rounded(value) for name, value in values.items()}}
        for row, values in zip(kept, exact, strict=True)
    ]
    # Texts of the worst mistakes and of the first few rows only: a page shows no more, and they
    # make most of the file.
    mistakes = sorted((index for index, error in enumerate(errors) if error > 0), key=lambda index: -errors[index])
    for index in dict.fromkeys([*mistakes[:MISTAKES], *range(min(OTHERS, len(kept)))]):
        rows[index] |= text_of(int(kept[index]))
    return EvalExamples(head, rows)


def _rounded(value: Any) -> Any:
    """A number, or a list of them, with six significant digits; whole numbers as they are."""
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return significant(value) if isinstance(value, float) else value


def tagging_examples(
    words: Sequence[Sequence[str]],
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
) -> EvalExamples:
    """Of bert-tag: sentences, and their tags in BIO. Sentences of more than MOST_WORDS are left
    out.
    """
    left = list(SENTENCES)
    rows = []
    for number, (sentence, right, guess) in enumerate(zip(words, gold, predicted, strict=True)):
        row = {"row": number, "words": list(sentence), "gold": list(right), "predicted": list(guess)}
        is_right = row["gold"] == row["predicted"]
        if left[is_right] and 0 < len(sentence) <= MOST_WORDS and (entities(right) or entities(guess)):
            left[is_right] -= 1
            rows.append(row)
    return EvalExamples({"kind": "tagging", "rows": len(words)}, rows)


def _context(example: SquadExample, span: tuple[int, int] | None) -> dict[str, Any]:
    """The context, or MOST_CHARACTERS of it with the answer in it; answer: its characters there, or
    null.
    """
    context = example.paragraph.context
    first = 0
    # Around the middle of the cut where there is room on both sides.
    if span and len(context) > MOST_CHARACTERS:
        first = max(0, min(span[0] - MOST_CHARACTERS // 2, len(context) - MOST_CHARACTERS))
    part = context[first : first + MOST_CHARACTERS]
    answer = [max(0, span[0] - first), min(len(part), span[1] - first)] if span else None
    return {"context": part, "answer": answer, "is_cut": len(part) < len(context)}


def squad_examples(
    examples: Sequence[SquadExample],
    predictions: Sequence[Prediction],
    gold: Mapping[str, Sequence[str]],
) -> EvalExamples:
    """Of bert-squad: scores of each question, and some of them with their answers in the context."""
    by_id = {prediction.qas_id: prediction for prediction in predictions}
    scored = [example for example in examples if example.qas_id in by_id and example.qas_id in gold]
    rows = []
    left = list(ANSWERS)
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
            "null_odds": None if prediction.null_odds is None else significant(prediction.null_odds),
            "is_answerable": bool(answers), "is_answered": bool(prediction.text), "is_right": is_right,
        }  # fmt: skip
        if left[is_right]:
            left[is_right] -= 1
            row |= {"id": example.qas_id, "question": shortened(example.question)}
            row |= {"gold": [shortened(text) for text in dict.fromkeys(answers)]}
            row |= {"text": shortened(prediction.text)} | _context(example, prediction.span)
        rows.append(row)
    return EvalExamples({"kind": "squad", "rows": len(scored)}, rows)


def masked_word_examples(
    batch: Mapping[str, np.ndarray], logits: np.ndarray, tokens: Sequence[str], rows: int
) -> EvalExamples:
    """Of bert-pretrain: sequences with their blanks as the model fills them.

    batch: spec.PRETRAINING of some sequences; logits: float [n, P, V] of their predictions; tokens:
    id -> token; rows: how many sequences there are in all.
    """
    # The network may have more outputs than the vocabulary has tokens; those mean nothing.
    logits = np.asarray(logits, np.float64)[..., : len(tokens)]
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    found = []
    for row, (ids, mask) in enumerate(zip(batch["input_word_ids"], batch["input_mask"], strict=True)):
        names = [tokens[number] if number < len(tokens) else "?" for number in ids[mask > 0].tolist()]
        blanks = []
        for slot in np.flatnonzero(batch["masked_lm_weights"][row] > 0):
            place = int(batch["masked_lm_positions"][row, slot])
            best = int(shares[row, slot].argmax())
            names[place] = tokens[int(batch["masked_lm_ids"][row, slot])]
            blanks.append([place, tokens[best], float(f"{shares[row, slot, best]:.4g}")])
        found.append({"row": row, "tokens": names, "blanks": blanks})
    return EvalExamples({"kind": "pretraining", "rows": rows}, found)
