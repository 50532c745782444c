"""Extension of an existing vocabulary with words from a text."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.corpus.vocabulary import WordCounts, wordpiece_tokenizer
from bert_cli.text.tokenization import LONGEST_WORD
from bert_cli.text.vocabulary import UNK

_UNUSED = re.compile(r"\[unused\d+\]")


def rank_words(counts: WordCounts, tokens: Sequence[str], min_count: int) -> list[str]:
    """Return words that the vocabulary splits or cannot write, in the order of saved pieces.

    A word's value is occurrences × pieces saved by a separate token. A word that is [UNK] counts as
    if it were written with its characters. Words that are [UNK] only because they are too long are
    left out.

    Args:
        counts: words in the text.
        tokens: the vocabulary.
        min_count: least occurrences for a word.
    """
    tokenizer = wordpiece_tokenizer(tokens)
    worth = {}
    for word, count in counts:
        if count < min_count or len(word) > LONGEST_WORD:
            continue
        pieces = tokenizer.tokenize_words((word,))
        saved = len(word) if pieces == [UNK] else len(pieces) - 1
        if saved:
            worth[word] = count * saved
    return sorted(worth, key=lambda word: -worth[word])  # stable, so ties stay in order of frequency and code point


class Extension(NamedTuple):
    """A longer vocabulary.

    Attributes:
        tokens: all tokens.
        placed: words that replaced an [unusedN], by rank.
        appended: words after the old end, by rank.
    """

    tokens: list[str]
    placed: list[str]
    appended: list[str]


def count_unused(tokens: Sequence[str]) -> int:
    """Return the number of rows that are reserved for later words, such as [unused0]."""
    return sum(map(bool, map(_UNUSED.fullmatch, tokens)))


def extend_vocabulary(tokens: Sequence[str], ranked: Sequence[str], vocab_size: int, counts: WordCounts) -> Extension:
    """Replace [unusedN] by the words, in id order, then append words up to vocab_size tokens.

    All other tokens keep their ids. A word is left out if it would turn another word into [UNK]: as
    that word's first piece, it may leave a rest that no piece matches.

    Args:
        tokens: the vocabulary.
        ranked: words to add, best first.
        vocab_size: maximum number of tokens.
        counts: words in the text.
    """
    before = wordpiece_tokenizer(tokens)
    writable_words = [word for word, _ in counts if before.tokenize_words((word,)) != [UNK]]
    # Repeat, because the words that replace harmful ones may also do harm.
    while True:
        extension = _place(tokens, ranked, vocab_size)
        new = {*extension.placed, *extension.appended}
        after = wordpiece_tokenizer(extension.tokens)
        harmful = {
            max((word[:end] for end in range(1, len(word)) if word[:end] in new), key=len)
            for word in writable_words
            if after.tokenize_words((word,)) == [UNK]
        }
        if not harmful:
            return extension
        ranked = [word for word in ranked if word not in harmful]


def _place(tokens: Sequence[str], ranked: Sequence[str], vocab_size: int) -> Extension:
    extended = list(tokens)
    unused_indices = [index for index, token in enumerate(tokens) if _UNUSED.fullmatch(token)]
    for index, word in zip(unused_indices, ranked, strict=False):
        extended[index] = word
    placed, rest = ranked[: len(unused_indices)], ranked[len(unused_indices) :]
    appended = rest[: max(0, vocab_size - len(tokens))]
    return Extension([*extended, *appended], list(placed), list(appended))
