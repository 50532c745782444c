"""Inputs of the benchmarks: texts of given lengths, in words that a vocabulary has whole, so that a word is a token."""

import pathlib
from collections.abc import Sequence

import numpy as np

LENGTHS = {
    "short": lambda rng, count: rng.gamma(6.2, 1.87, count),  # CoLA's: 11.6 tokens in the mean
    "news": lambda rng, count: rng.gamma(11.0, 4.55, count),  # headlines with a sentence: 50
    "lines": lambda rng, count: rng.gamma(2.6, 10.0, count),  # sentences of novels: 26
    "full": lambda rng, count: np.full(count, 128.0),
}
_LONGEST = 128


def whole_words(vocab_file: pathlib.Path) -> list[str]:
    """The pieces that are words of three or more small letters, sorted."""
    pieces = vocab_file.read_text(encoding="utf-8").split("\n")
    return sorted(
        {piece for piece in pieces if len(piece) > 2 and piece.isascii() and piece.isalpha() and piece.islower()}
    )


def token_counts(kind: str, count: int, seed: int) -> np.ndarray:
    """Tokens of each text, [CLS] and [SEP] among them: int64 [count]."""
    lengths = LENGTHS[kind](np.random.default_rng(seed), count)
    return np.clip(np.round(lengths), 4, _LONGEST).astype(np.int64)


def texts(words: Sequence[str], lengths: np.ndarray, labels: np.ndarray, seed: int) -> list[str]:
    """A text for each length; those of label 1 take every other word from the first hundredth of the words."""
    rng = np.random.default_rng(seed)
    few = max(1, len(words) // 100)
    made = []
    for length, label in zip(lengths, labels, strict=True):
        chosen = rng.integers(0, len(words), length - 2)
        if label:
            chosen[::2] %= few
        made.append(" ".join(words[number] for number in chosen))
    return made


def write_tsv(folder: pathlib.Path, words: Sequence[str], kind: str, rows: dict[str, int]) -> dict[str, np.ndarray]:
    """train.tsv, dev.tsv and test.tsv as CoLA has them, of so many rows; returns the tokens of each row."""
    folder.mkdir(exist_ok=True)
    found = {}
    for seed, (split, count) in enumerate(rows.items()):
        lengths = found[split] = token_counts(kind, count, seed)
        labels = np.random.default_rng([seed, 1]).integers(0, 2, count)
        made = texts(words, lengths, labels, seed)
        if split == "test":
            lines = ["index\tsentence", *(f"{number}\t{text}" for number, text in enumerate(made))]
        else:
            lines = [f"b\t{label}\t\t{text}" for label, text in zip(labels, made, strict=True)]
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return found
