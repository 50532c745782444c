"""Word pieces and their places in a text, in characters."""

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from bert_cli.text.tokenization import DELETED_WHITE_SPACE, FullTokenizer
from bert_cli.text.vocabulary import UNK

_SPACES = re.compile(rf"[^\S{DELETED_WHITE_SPACE}]+")


class Piece(NamedTuple):
    """A word piece.

    Attributes:
        token: the piece in the vocabulary, such as ##ing.
        token_id: its id.
        start, end: its place, text[start:end]. An unknown word is one piece with the word's place.
    """

    token: str
    token_id: int
    start: int
    end: int


def find_pieces(tokenizer: FullTokenizer, text: str) -> list[Piece]:
    """Return the pieces that `tokenizer.tokenize(text)` returns, with their places.

    If one character becomes several pieces, they have the same place. Deleted characters and accents
    belong to the piece before them, if there is one.
    """
    pieces: list[Piece] = []
    done = 0
    for start, end in tokenizer.splitter.spans(text) if tokenizer.splitter else ():
        pieces += _pieces_between(tokenizer, text, done, start)
        (token,) = tokenizer.tokenize(text[start:end].strip())
        pieces.append(Piece(token, tokenizer.ids[token], start, end))
        done = end
    return [*pieces, *_pieces_between(tokenizer, text, done, len(text))]


def token_offsets(tokenizer: FullTokenizer, text: str, text_b: str | None = None) -> list[list[int] | None]:
    """Return each token's [start, end] in its text, or None for [CLS] and [SEP].

    Args:
        tokenizer, text, text_b: as for features.encoded_text.encode_text, which returns the tokens.
    """
    offsets: list[list[int] | None] = [None]
    for single in (text,) if text_b is None else (text, text_b):
        offsets += [[piece.start, piece.end] for piece in find_pieces(tokenizer, single)]
        offsets.append(None)
    return offsets


def _pieces_between(tokenizer: FullTokenizer, text: str, begin: int, stop: int) -> Iterator[Piece]:
    """Yield the pieces in text[begin:stop], which has no added token."""
    start = begin
    for space in _SPACES.finditer(text, begin, stop):
        yield from _chunk_pieces(tokenizer, text[start : space.start()], start)
        start = space.end()
    yield from _chunk_pieces(tokenizer, text[start:stop], start)


def _chunk_pieces(tokenizer: FullTokenizer, chunk: str, begin: int) -> Iterator[Piece]:
    """Yield the pieces in a chunk without white space, which begins at text[begin]."""
    basic = tokenizer.basic_tokenizer
    words = basic.tokenize(chunk)
    spans = _places(tokenizer, chunk, sum(map(len, words)))
    position = 0
    for word in words:
        end_of_word = position + len(word)
        tokens = [word] if word in basic.never_split else tokenizer.wordpiece_tokenizer.tokenize_words([word])
        for number, token in enumerate(tokens):
            is_unknown = token == UNK or token not in tokenizer.ids
            token = UNK if is_unknown else token
            length = end_of_word - position if is_unknown else len(token) - (2 if number else 0)
            start, end = spans[position][0], spans[position + length - 1][1]
            yield Piece(token, tokenizer.ids[token], begin + start, begin + end)
            position += length


def _places(tokenizer: FullTokenizer, chunk: str, count: int) -> list[tuple[int, int]]:
    """Return each normalized character's (start, end) in a chunk; there are `count`."""
    if chunk.isascii() and count == len(chunk):
        return [(index, index + 1) for index in range(count)]
    tokenize = tokenizer.basic_tokenizer.tokenize
    lengths = [sum(map(len, tokenize(character))) for character in chunk]
    if sum(lengths) != count:
        # A character's neighbors change the length, so
        # measure what each beginning of the chunk becomes.
        totals = [sum(map(len, tokenize(chunk[:end]))) for end in range(len(chunk) + 1)]
        lengths = [max(after - before, 0) for before, after in itertools.pairwise(totals)]
    spans: list[tuple[int, int]] = []
    for index, length in enumerate(lengths):
        if not length and spans:
            spans[-1] = (spans[-1][0], index + 1)
        spans += [(index, index + 1)] * length
    return spans
