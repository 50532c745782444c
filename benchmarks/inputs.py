"""Benchmark inputs: texts with given lengths.

All words are whole tokens in the vocabulary, so that a text's length is its token count.
"""

import pathlib
from collections.abc import Sequence

import numpy as np

LENGTHS = {
    "short": lambda rng, count: rng.gamma(6.2, 1.87, count),  # as in CoLA, mean 11.6 tokens
    "news": lambda rng, count: rng.gamma(11.0, 4.55, count),  # a headline and a sentence, mean 50
    "lines": lambda rng, count: rng.gamma(2.6, 10.0, count),  # sentences from novels, mean 26
    "full": lambda rng, count: np.full(count, 128.0),
}
_LONGEST = 128


def whole_words(vocab_file: pathlib.Path) -> list[str]:
    """Return the pieces that are words of three or more lower-case letters, sorted."""
    pieces = vocab_file.read_text(encoding="utf-8").split("\n")
    return sorted(
        {piece for piece in pieces if len(piece) > 2 and piece.isascii() and piece.isalpha() and piece.islower()}
    )


def token_counts(length_name: str, count: int, seed: int) -> np.ndarray:
    """Return each text's token count, including [CLS] and [SEP]: int64 [count].

    Args:
        length_name: key of LENGTHS.
        count: number of texts.
        seed: seed for the random lengths.
    """
    lengths = LENGTHS[length_name](np.random.default_rng(seed), count)
    return np.clip(np.round(lengths), 4, _LONGEST).astype(np.int64)


def texts(words: Sequence[str], lengths: np.ndarray, labels: np.ndarray, seed: int) -> list[str]:
    """Return one text per length, in a task that a classifier can learn.

    Texts with label 1 take every other word from the first hundredth of the vocabulary.

    Args:
        words: the vocabulary.
        lengths: token counts, int64 [n].
        labels: 0 or 1 per text.
        seed: seed for the random words.
    """
    rng = np.random.default_rng(seed)
    num_frequent = max(1, len(words) // 100)
    result = []
    for length, label in zip(lengths, labels, strict=True):
        chosen = rng.integers(0, len(words), length - 2)
        if label:
            chosen[::2] %= num_frequent
        result.append(" ".join(words[number] for number in chosen))
    return result


def write_tsv(
    folder: pathlib.Path, words: Sequence[str], length_name: str, rows: dict[str, int]
) -> dict[str, np.ndarray]:
    """Write train.tsv, dev.tsv and test.tsv in CoLA's format, and return token counts per split.

    Args:
        folder: directory to write into.
        words: the vocabulary.
        length_name: key of LENGTHS.
        rows: number of rows by split.
    """
    folder.mkdir(exist_ok=True)
    token_counts_by_split = {}
    for seed, (split, count) in enumerate(rows.items()):
        lengths = token_counts_by_split[split] = token_counts(length_name, count, seed)
        labels = np.random.default_rng([seed, 1]).integers(0, 2, count)
        sentences = texts(words, lengths, labels, seed)
        if split == "test":
            lines = ["index\tsentence", *(f"{number}\t{text}" for number, text in enumerate(sentences))]
        else:
            lines = [f"b\t{label}\t\t{text}" for label, text in zip(labels, sentences, strict=True)]
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return token_counts_by_split
