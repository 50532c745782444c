"""Counted words and a new vocabulary for them: which characters and pieces it holds.

The learner of pieces comes in as a function of a threshold: it returns the pieces that occur at
least so often, the most frequent first. WordCounts below is a list of (word, occurrences), the most
frequent first.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.corpus.text import Block, decode_block
from bert_cli.text.tokenization import LONGEST_WORD, BasicTokenizer, WordpieceTokenizer
from bert_cli.text.vocabulary import SPECIAL, UNK

WordCounts = Sequence[tuple[str, int]]

# A result with this fraction of pieces too many is near enough: the least frequent ones are cut
# off.
_SURPLUS = 0.02


def count_block(tokenizer: BasicTokenizer, block: Block) -> tuple[Counter[str], int]:
    """(word -> occurrences in all lines, the block's position). InputError, with file:line, for
    text that is not UTF-8.
    """
    # Words never cross white space, so that line ends do not matter.
    return Counter(tokenizer.tokenize(decode_block(block))), block.position


def merge_counts(
    blocks: Iterable[tuple[Counter[str], int]], show: Callable[[int], None] = lambda position: None
) -> list[tuple[str, int]]:
    """(word, occurrences) of all blocks, the most frequent first, equally frequent ones by code
    point.

    blocks: of count_block. `show` is called with the position after each block.
    """
    # Memory is bounded by the number of different words, not by the text.
    total: Counter[str] = Counter()
    for counts, position in blocks:
        total.update(counts)
        show(position)
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))


class Coverage(NamedTuple):
    """How a vocabulary writes a text: running words, their pieces, and how many of the words are
    [UNK].
    """

    words: int
    pieces: int
    unknown: int

    @property
    def pieces_per_word(self) -> float:
        return self.pieces / self.words if self.words else 0.0

    @property
    def unknown_share(self) -> float:
        """Words that are [UNK], 0…1. Of the words, not of the pieces: fewer pieces do not make it
        larger.
        """
        return self.unknown / self.words if self.words else 0.0


def first_tokens(reserved: Sequence[str]) -> list[str]:
    """The special tokens, then the reserved ones that are not among them: a new vocabulary begins
    with these.
    """
    return list(dict.fromkeys([*SPECIAL, *reserved]))


def measure_coverage(counts: WordCounts, tokens: Sequence[str]) -> Coverage:
    """Write all words with the vocabulary `tokens`."""
    tokenizer = wordpiece_tokenizer(tokens)
    pieces = unknown = 0
    for word, count in counts:
        cut = tokenizer.tokenize_words((word,))
        pieces += count * len(cut)
        unknown += count * (cut == [UNK])
    return Coverage(sum(count for _, count in counts), pieces, unknown)


def character_pieces(counts: WordCounts, tokenizer: BasicTokenizer) -> list[str]:
    """The pieces of one character that write any word of these characters: `c`, then `##c`, by code
    point.

    Characters that the tokenizer always sets apart (punctuation, ideographs) need no `##c`.
    """
    characters = sorted(set().union(*(word for word, _ in counts)))
    # A character that only begins words gets no ## form, which would never be used.
    inside = set().union(*(word[1:] for word, _ in counts))
    joined = [c for c in characters if c in inside or len(tokenizer.tokenize("a" + c)) == 1]
    return characters + ["##" + c for c in joined]


def learn_vocabulary(
    counts: WordCounts,
    reserved: Sequence[str],
    characters: Sequence[str],
    vocab_size: int,
    min_count: int,
    learn: Callable[[int], Sequence[str]],
) -> list[str]:
    """Tokens of a new vocabulary, `vocab_size` of them or as many as there are: reserved,
    characters, learned pieces.

    Every word of the text can be written with it. Where the characters have no room, but all words
    as they are have, these are the vocabulary. min_count: fewest occurrences of a learned piece;
    learn: see the module.

    Raises:
      InputError: vocab_size is too small for either; says how many are needed at least.
    """
    required = list(dict.fromkeys([*reserved, *characters]))
    if len(required) > vocab_size:
        return _whole_words(counts, reserved, len(required), vocab_size)
    known = frozenset(required)
    room = vocab_size - len(required)
    if not room:
        return required
    frequencies = [count for _, count in counts]
    # Most of the pieces are whole words, so that their counts say roughly where to look.
    guess = frequencies[min(len(counts), room) * 4 // 5]

    def new_pieces(threshold: int) -> list[str]:
        # The learner adds `##c` for each character; those that are not known yet are never needed.
        return [piece for piece in learn(threshold) if piece not in known and len(piece.removeprefix("##")) > 1]

    return required + search_threshold(new_pieces, room, min_count, frequencies[0], guess)[:room]


def frequent_words(counts: WordCounts, first: Sequence[str], vocab_size: int, min_count: int) -> list[str]:
    """Tokens of a vocabulary of whole words: `first`, then the words, most frequent first, equally
    frequent ones by code point.

    There are at most vocab_size tokens. Words with fewer than min_count occurrences are left out,
    and words that are too long to be looked up. InputError where no word is left.
    """
    taken = frozenset(first)
    words = [word for word, count in counts if count >= min_count and len(word) <= LONGEST_WORD and word not in taken]
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
    pieces_at: Callable[[int], list[str]], wanted: int, lower: int, upper: int, guess: int
) -> list[str]:
    """pieces_at(t) with the highest t, lower <= t <= upper, that gives at least `wanted` pieces;
    some more are near enough.

    Where the text never gives that number, it is pieces_at(lower). pieces_at takes seconds to
    minutes, so few t are tried: more pieces come with a smaller t, about as a power of it.
    """
    upper = max(lower, upper)
    enough: tuple[int, list[str]] | None = None
    few: tuple[int, list[str]] | None = None
    threshold = min(max(guess, lower), upper)
    while True:
        pieces = pieces_at(threshold)
        if len(pieces) >= wanted:
            enough = threshold, pieces
            if len(pieces) <= wanted * (1 + _SURPLUS) or threshold == upper:
                return pieces
        elif threshold == lower:
            return pieces
        else:
            few = threshold, pieces
        if enough is None:
            threshold = max(lower, threshold // 2)
        elif few is None:
            threshold = min(upper, threshold * 2)
        # Neighbouring thresholds: none is left between.
        elif few[0] - enough[0] <= 1:
            return enough[1]
        else:
            threshold = _between(enough, few, wanted)


def _between(enough: tuple[int, list[str]], few: tuple[int, list[str]], wanted: int) -> int:
    """A threshold strictly between the two, where a power law through both says `wanted`, and a
    little more.
    """
    many = math.log(len(enough[1]))
    share = (many - math.log(wanted * (1 + _SURPLUS / 2))) / max(many - math.log(max(1, len(few[1]))), 1e-9)
    threshold = round(enough[0] * (few[0] / enough[0]) ** min(max(share, 0.0), 1.0))
    return min(max(threshold, enough[0] + 1), few[0] - 1)


def wordpiece_tokenizer(tokens: Sequence[str]) -> WordpieceTokenizer:
    """A tokenizer with these tokens, which remembers no words: each is asked for once."""
    return WordpieceTokenizer(dict(zip(tokens, itertools.count())), cache_size=0)
