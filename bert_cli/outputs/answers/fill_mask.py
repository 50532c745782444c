"""Results of bert-fill-mask, for people and for programs."""

import numpy as np

from bert_cli.problem_types.exclusive import log_softmax
from bert_cli.text.vocabulary import MASK


def most_probable(logits: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the most probable tokens of each mask, best first, and the smallest id first in a tie.

    Args:
        logits: float32 [M, V].
        count: k, the tokens per mask.

    Returns:
        Token ids, int64 [M, k], and probabilities, float32 [M, k].
    """
    probabilities = np.exp(log_softmax(logits))
    candidates = np.empty((len(logits), count), np.int64)
    for row, values in enumerate(probabilities):
        # Sort only the best tokens: sorting a vocabulary of 30,000 takes milliseconds.
        best = np.flatnonzero(values >= np.partition(values, -count)[-count])
        candidates[row] = best[np.argsort(-values[best], kind="stable")[:count]]
    return candidates, np.take_along_axis(probabilities, candidates, axis=1)


def fill_mask_record(
    text: str, tokens: list[list[str]], probabilities: np.ndarray, next_sentence: float | None
) -> dict[str, object]:
    """Return the candidates for a text's masks as a JSON object.

    Args:
        text: the text with its masks.
        tokens: k candidates per mask, best first.
        probabilities: float32 [masks, k].
        next_sentence: probability that the second text follows the first, None for a single text.
    """
    masks = [
        [
            {"token": token, "probability": round(float(value), 6)}
            for token, value in zip(names, values, strict=True)
        ]
        for names, values in zip(tokens, probabilities, strict=True)
    ]  # fmt: skip
    record: dict[str, object] = {"text": text, "masks": masks}
    if next_sentence is not None:
        record["next_sentence_probability"] = round(next_sentence, 6)
    return record


def format_record(record: dict) -> list[str]:
    """Return the record as lines for a terminal."""
    lines = [record["text"]]
    several = len(record["masks"]) > 1
    for number, candidates in enumerate(record["masks"], start=1):
        if several:
            lines.append(f" {MASK} {number}")
        lines += [f"  {candidate['probability']:.4f}  {candidate['token']}" for candidate in candidates]
    if "next_sentence_probability" in record:
        lines.append(f"  {record['next_sentence_probability']:.4f}  the second text follows the first")
    return lines
