"""Which words of a text an existing vocabulary should get, and where."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.corpus.vocabulary import WordCounts, wordpiece_tokenizer
from bert_cli.text.tokenization import LONGEST_WORD
from bert_cli.text.vocabulary import UNK

_UNUSED = re.compile(r"\[unused\d+\]")


def rank_words(counts: WordCounts, tokens: Sequence[str], min_count: int) -> list[str]:
    """Words that the vocabulary cuts or cannot write, most worth first: occurrences × pieces that a
    token of its own saves.

    A word that is [UNK] counts as if it were written by its characters, none of which is known: it
    saves all of them. Words with fewer than min_count occurrences are left out, and those that are
    [UNK] for their length.
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
    return sorted(worth, key=lambda word: -worth[word])  # a stable sort: the more frequent word, then by code point


class Extension(NamedTuple):
    """A longer vocabulary. `placed`: words that took an [unusedN], `appended`: words after the old
    end; both by rank.
    """

    tokens: list[str]
    placed: list[str]
    appended: list[str]


def count_unused(tokens: Sequence[str]) -> int:
    """Rows reserved for later words: [unused0], [unused1] …"""
    return sum(map(bool, map(_UNUSED.fullmatch, tokens)))


def extend_vocabulary(tokens: Sequence[str], ranked: Sequence[str], vocab_size: int, counts: WordCounts) -> Extension:
    """Put the words into the places of [unusedN], in the order of ids, then at the end until there
    are vocab_size tokens.

    All other tokens keep their ids. A word is left out where it would make another one of the text
    [UNK]: as the first piece of that, it may leave a rest that no piece begins.
    """
    before = wordpiece_tokenizer(tokens)
    known = [word for word, _ in counts if before.tokenize_words((word,)) != [UNK]]
    # Again and again: what takes the place of a word that was left out may do harm, too.
    while True:
        extension = _place(tokens, ranked, vocab_size)
        new = {*extension.placed, *extension.appended}
        after = wordpiece_tokenizer(extension.tokens)
        harmful = {
            max((word[:end] for end in range(1, len(word)) if word[:end] in new), key=len)
            for word in known
            if after.tokenize_words((word,)) == [UNK]
        }
        if not harmful:
            return extension
        ranked = [word for word in ranked if word not in harmful]


def _place(tokens: Sequence[str], ranked: Sequence[str], vocab_size: int) -> Extension:
    extended = list(tokens)
    places = [index for index, token in enumerate(tokens) if _UNUSED.fullmatch(token)]
    for index, word in zip(places, ranked, strict=False):
        extended[index] = word
    placed, rest = ranked[: len(places)], ranked[len(places) :]
    appended = rest[: max(0, vocab_size - len(tokens))]
    return Extension([*extended, *appended], list(placed), list(appended))
