"""eval_examples.jsonl: single rows from an evaluation, for the run's report.

The first line has the kind and the number of rows. Each further line is one row:

    {"kind": "single_label", "labels": ["0", "1"], "rows": 1000}
    {"row": 3, "label": 1, "probabilities": [0.93, 0.07], "id": "dev-3", "text": "the dog sees a cat ."}

kind                a row's members in addition to `row`, its number in the file, from 0
single_label        label: its index; probabilities per label
multi_label         labels: 0 or 1 per label; probabilities
regression          value, predicted
multiple_choice     label: index of the correct choice, from 0; probabilities per choice; endings if it has a text
tagging             gold_entities, predicted_entities, correct_entities: counts;
                    words, and gold and predicted BIO tags, for some sentences
squad               exact and f1 (0…1); best_exact, best_f1: for the best nonempty answer; null_odds or null;
                    is_answerable; is_answered; is_right
pretraining         tokens; blanks: [index in tokens, most probable token, its probability] per masked token

Numbers are written for all rows, or for MOST_ROWS evenly spaced rows. Texts are written for rows
that a reader wants to see: the most confident mistakes, the largest errors, and the first few rows.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import decode
from bert_cli.base.writing import atomic_write
from bert_cli.problem_types.columns import round_to_six_digits, rows_of
from bert_cli.problem_types.parts import LabelSet, PredictionArrays
from bert_cli.problem_types.problem_type import ProblemType

MOST_ROWS = 20_000
MOST_NUMBERS = 400_000  # maximum number of probabilities, so that many labels mean fewer rows
MISTAKES, OTHERS = 25, 8  # rows with their text: mistakes, and first rows
MOST_CHARACTERS = 2_000  # characters per text
SEQUENCES = 6  # sequences with blanks
ENTITY_COUNTS = ("gold_entities", "predicted_entities", "correct_entities")  # members of a row of bert-tag
_ADVICE = "remove the file, and evaluate again"


class EvalExamples(NamedTuple):
    """File contents: `head` is the first line, and `rows` are the other lines."""

    head: dict[str, Any]
    rows: list[dict[str, Any]]


def write_eval_examples(path: str, examples: EvalExamples) -> None:
    """Write the file, whole or not at all.

    Half a surrogate pair, which JSON may contain, becomes a question mark.
    """
    with atomic_write(path) as file:
        for line in (examples.head, *examples.rows):
            # Write no spaces: a row may have hundreds of probabilities.
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            file.write(text.encode("utf-8", "replace").decode("utf-8") + "\n")


def read_eval_examples(path: str) -> EvalExamples | None:
    """Read the file from write_eval_examples; return None if it does not exist.

    Raises:
        InputError: the file is damaged.
    """
    if not files.exists(path):
        return None
    lines = decode(files.read_bytes(path), path).split("\n")[:-1]
    parsed = [parse_json(line, path, number, _ADVICE) for number, line in enumerate(lines, 1)]
    if not parsed or not all(isinstance(line, dict) for line in parsed) or "kind" not in parsed[0]:
        raise InputError(f"{path}: is not a list of the rows of an evaluation; {_ADVICE}")
    return EvalExamples(parsed[0], parsed[1:])


def kept_rows(count: int, numbers: int = 1) -> np.ndarray:
    """Return the rows to keep, ascending: all, or evenly spaced ones if there are too many.

    Args:
        count: number of rows.
        numbers: number of probabilities per row.
    """
    most = max(1, min(MOST_ROWS, MOST_NUMBERS // max(1, numbers)))
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).round().astype(np.int64)


def shorten(text: str) -> str:
    """Return a text cut to MOST_CHARACTERS."""
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"


def classification_examples(
    problem_type: ProblemType,
    labels: LabelSet,
    label_ids: np.ndarray,
    predictions: PredictionArrays,
    text_of: Callable[[int], dict[str, Any]],
    temperature: float | None = None,
) -> EvalExamples:
    """Return examples for bert-classify.

    Args:
        labels: label names and thresholds.
        label_ids: n labels, see LabelReader.label_array.
        predictions: predictions for the n rows.
        text_of: function from a row number to the row's id and texts, for JSON.
        temperature: temperature used for all logits if the probabilities are calibrated, else None.
    """
    # Limit numbers, not rows: with many labels, rows are long.
    outputs = predictions[problem_type.decoder.output_name]
    count = len(label_ids)
    kept = kept_rows(count, outputs.size // max(1, count))
    exact = rows_of(
        problem_type.columns.eval_columns(label_ids[kept], {problem_type.decoder.output_name: outputs[kept]})
    )
    thresholds = [] if labels.thresholds is None else labels.thresholds.tolist()
    errors = [problem_type.metrics.row_error(row, thresholds) for row in exact]
    head: dict[str, Any] = {"kind": problem_type.name, **problem_type.columns.eval_head(labels), "rows": count}
    if thresholds:
        # JSON has no NaN.
        head["thresholds"] = [
            None if math.isnan(threshold) else round_to_six_digits(threshold) for threshold in thresholds
        ]
    if temperature is not None:
        head["temperature"] = temperature
    rows = [
        {"row": int(row), **{name: _round(value) for name, value in values.items()}}
        for row, values in zip(kept, exact, strict=True)
    ]
    # Keep only texts from the worst mistakes and the first rows: a page shows no more, and texts
    # use most space.
    mistakes = sorted((index for index, error in enumerate(errors) if error > 0), key=lambda index: -errors[index])
    for index in dict.fromkeys([*mistakes[:MISTAKES], *range(min(OTHERS, len(kept)))]):
        rows[index] |= text_of(int(kept[index]))
    return EvalExamples(head, rows)


def _round(value: Any) -> Any:
    """Return a number, or each number in a list, with six significant digits."""
    if isinstance(value, list):
        return [_round(item) for item in value]
    return round_to_six_digits(value) if isinstance(value, float) else value


def masked_word_examples(
    batch: Mapping[str, np.ndarray], logits: np.ndarray, tokens: Sequence[str], rows: int
) -> EvalExamples:
    """Return examples for bert-pretrain: sequences with the model's predictions for their masks.

    Args:
        batch: spec.PRETRAINING for some sequences.
        logits: logits at the masked positions, float [n, P, V].
        tokens: token per id.
        rows: number of evaluated sequences.
    """
    # Ignore outputs beyond the vocabulary, which have no meaning.
    logits = np.asarray(logits, np.float64)[..., : len(tokens)]
    probabilities = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    sequences = []
    for row, (ids, mask) in enumerate(zip(batch["input_word_ids"], batch["input_mask"], strict=True)):
        names = [tokens[number] if number < len(tokens) else "?" for number in ids[mask > 0].tolist()]
        blanks = []
        for slot in np.flatnonzero(batch["masked_lm_weights"][row] > 0):
            position = int(batch["masked_lm_positions"][row, slot])
            best = int(probabilities[row, slot].argmax())
            names[position] = tokens[int(batch["masked_lm_ids"][row, slot])]
            blanks.append([position, tokens[best], float(f"{probabilities[row, slot, best]:.4g}")])
        sequences.append({"row": row, "tokens": names, "blanks": blanks})
    return EvalExamples({"kind": "pretraining", "rows": rows}, sequences)
