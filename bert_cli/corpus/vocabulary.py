"""Builder of a new vocabulary from counted words: its characters and pieces.

The learner takes a threshold, and returns the pieces that occur at least that often, most frequent
first. WordCounts is a list of (word, occurrences), most frequent first.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.corpus.lost_marks import count_marked_words
from bert_cli.corpus.text import Block, decode_block
from bert_cli.text.tokenization import LONGEST_WORD, BasicTokenizer, WordpieceTokenizer
from bert_cli.text.vocabulary import SPECIAL, UNK

WordCounts = Sequence[tuple[str, int]]

# Accept a result with this fraction of surplus pieces, and cut off the least frequent ones.
_SURPLUS = 0.02


class BlockCounts(NamedTuple):
    """Words of a block.

    Attributes:
        words: occurrences of each word.
        marked: occurrences of the words that lost marks, with these marks (see `lost_marks`).
        position: as in Block.
    """

    words: Counter[str]
    marked: Counter[str]
    position: int


def count_block(tokenizer: BasicTokenizer, block: Block) -> BlockCounts:
    """Return the occurrences of each word in a block.

    Raises:
        InputError: the text is not UTF-8; the message has file:line.
    """
    text = decode_block(block)
    marked = count_marked_words(text) if tokenizer.strips_accents else Counter()
    # Line ends do not matter, because words never cross white space.
    return BlockCounts(Counter(tokenizer.tokenize(text)), marked, block.position)


def merge_counts(
    blocks: Iterable[BlockCounts], show: Callable[[int], None] = lambda position: None
) -> tuple[list[tuple[str, int]], Counter[str]]:
    """Return (word, occurrences) over all blocks, and the occurrences of words with marks.

    The words are ordered by frequency, most frequent first, ties by code point.

    Args:
        blocks: results of count_block.
        show: function that is called with the position after each block.
    """
    # Memory depends on the number of distinct words, not on the text.
    total: Counter[str] = Counter()
    marked: Counter[str] = Counter()
    for counts in blocks:
        total.update(counts.words)
        marked.update(counts.marked)
        show(counts.position)
    return sorted(total.items(), key=lambda item: (-item[1], item[0])), marked


class Coverage(NamedTuple):
    """Result of writing a text with a vocabulary: running words, their pieces, and [UNK] words."""

    words: int
    pieces: int
    unknown: int

    @property
    def pieces_per_word(self) -> float:
        return self.pieces / self.words if self.words else 0.0

    @property
    def unknown_share(self) -> float:
        """Return the share of words that are [UNK], 0…1.

        It is a share of words, not of pieces, so that fewer pieces do not increase it.
        """
        return self.unknown / self.words if self.words else 0.0


def first_tokens(reserved: Sequence[str]) -> list[str]:
    """Return a new vocabulary's first tokens: special tokens, then the other reserved ones."""
    return list(dict.fromkeys([*SPECIAL, *reserved]))


def measure_coverage(counts: WordCounts, tokens: Sequence[str]) -> Coverage:
    """Write all words with the vocabulary `tokens`, and count pieces and [UNK]."""
    tokenizer = wordpiece_tokenizer(tokens)
    pieces = unknown = 0
    for word, count in counts:
        word_pieces = tokenizer.tokenize_words((word,))
        pieces += count * len(word_pieces)
        unknown += count * (word_pieces == [UNK])
    return Coverage(sum(count for _, count in counts), pieces, unknown)


def character_pieces(counts: WordCounts, tokenizer: BasicTokenizer) -> list[str]:
    """Return the pieces with one character that can write any word: `c`, then `##c`, by code point.

    Characters that the tokenizer always separates (punctuation, ideographs) need no `##c`.
    """
    characters = sorted(set().union(*(word for word, _ in counts)))
    # A character that only begins words needs no ## form, which would never be used.
    inside = set().union(*(word[1:] for word, _ in counts))
    inside_characters = [c for c in characters if c in inside or len(tokenizer.tokenize("a" + c)) == 1]
    return characters + ["##" + c for c in inside_characters]


def learn_vocabulary(
    counts: WordCounts,
    reserved: Sequence[str],
    characters: Sequence[str],
    vocab_size: int,
    min_count: int,
    learn: Callable[[int], Sequence[str]],
) -> list[str]:
    """Return tokens for a new vocabulary: reserved tokens, characters and learned pieces.

    The vocabulary can write every word in the text. If there is no room for the characters, but for
    all whole words, the words are used as the vocabulary.

    Args:
        counts: words in the text.
        reserved: tokens that come first.
        characters: pieces with one character.
        vocab_size: maximum number of tokens.
        min_count: least occurrences for a learned piece.
        learn: the learner, see the module.

    Raises:
        InputError: vocab_size is too small for both; the message has the least size.
    """
    required = list(dict.fromkeys([*reserved, *characters]))
    if len(required) > vocab_size:
        return _whole_words(counts, reserved, len(required), vocab_size)
    required_set = frozenset(required)
    room = vocab_size - len(required)
    if not room:
        return required
    frequencies = [count for _, count in counts]
    # Most pieces are whole words, so word counts give a rough first threshold.
    guess = frequencies[min(len(counts), room) * 4 // 5]

    def new_pieces(threshold: int) -> list[str]:
        # Drop the `##c` that the learner adds per character: unless it is required, it is never
        # needed.
        return [piece for piece in learn(threshold) if piece not in required_set and len(piece.removeprefix("##")) > 1]

    return required + search_threshold(new_pieces, room, min_count, frequencies[0], guess)[:room]


def frequent_words(counts: WordCounts, first: Sequence[str], vocab_size: int, min_count: int) -> list[str]:
    """Return a vocabulary of whole words: `first`, then words by frequency, ties by code point.

    Words that are too long for the tokenizer are left out.

    Args:
        counts: words in the text.
        first: tokens that come first.
        vocab_size: maximum number of tokens.
        min_count: least occurrences for a word.

    Raises:
        InputError: no word is left.
    """
    first_set = frozenset(first)
    words = [
        word for word, count in counts if count >= min_count and len(word) <= LONGEST_WORD and word not in first_set
    ]
    refuse_if(not words, f"no word of the text occurs {min_count} times or more; give a smaller --min_count")
    return [*first, *words[: vocab_size - len(first)]]


def _whole_words(counts: WordCounts, reserved: Sequence[str], num_required: int, vocab_size: int) -> list[str]:
    tokens = list(dict.fromkeys([*reserved, *(word for word, _ in counts)]))
    if len(tokens) > vocab_size:
        raise InputError(
            f"--vocab_size={vocab_size} is too small for this text: its characters need "
            f"{num_required}, its whole words {len(tokens)}; give at least "
            f"{min(num_required, len(tokens))}, or --algorithm=words"
        )
    return tokens


def search_threshold(
    pieces_at: Callable[[int], list[str]], num_pieces: int, lower: int, upper: int, guess: int
) -> list[str]:
    """Return pieces_at(t) for the highest t with at least `num_pieces` pieces, or with a few more.

    If the text never has that many pieces, return pieces_at(lower). pieces_at takes seconds to
    minutes, so only a few thresholds are tried. The number of pieces grows with smaller t,
    approximately as a power of t.

    Args:
        pieces_at: function from a threshold to its pieces.
        num_pieces: number of pieces to reach.
        lower: lowest threshold.
        upper: highest threshold.
        guess: first threshold to try.
    """
    upper = max(lower, upper)
    enough: tuple[int, list[str]] | None = None
    few: tuple[int, list[str]] | None = None
    threshold = min(max(guess, lower), upper)
    while True:
        pieces = pieces_at(threshold)
        if len(pieces) >= num_pieces:
            enough = threshold, pieces
            if len(pieces) <= num_pieces * (1 + _SURPLUS) or threshold == upper:
                return pieces
        elif threshold == lower:
            return pieces
        else:
            few = threshold, pieces
        if enough is None:
            threshold = max(lower, threshold // 2)
        elif few is None:
            threshold = min(upper, threshold * 2)
        # Adjacent thresholds: there is no other one between them.
        elif few[0] - enough[0] <= 1:
            return enough[1]
        else:
            threshold = _between(enough, few, num_pieces)


def _between(enough: tuple[int, list[str]], few: tuple[int, list[str]], num_pieces: int) -> int:
    """Return a threshold strictly between the two, using a power law through both.

    It aims at slightly more than `num_pieces` pieces.
    """
    many = math.log(len(enough[1]))
    share = (many - math.log(num_pieces * (1 + _SURPLUS / 2))) / max(many - math.log(max(1, len(few[1]))), 1e-9)
    threshold = round(enough[0] * (few[0] / enough[0]) ** min(max(share, 0.0), 1.0))
    return min(max(threshold, enough[0] + 1), few[0] - 1)


def wordpiece_tokenizer(tokens: Sequence[str]) -> WordpieceTokenizer:
    """Return a tokenizer with these tokens and no cache, because each word is looked up once."""
    return WordpieceTokenizer(dict(zip(tokens, itertools.count())), cache_size=0)
