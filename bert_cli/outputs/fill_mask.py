"""Results of bert-fill-mask, for people and for programs."""

import numpy as np

from bert_cli.text.vocabulary import MASK


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
