"""Masked-LM and next-sentence instances from a corpus, equal to the original's draw for draw.

A document is divided into chunks of sentences. A chunk is split into A and B. Or A is followed by
sentences from another document, and later instances use the chunk's rest. The pair is cut, packed
and masked: some tokens are to be predicted, and other tokens replace them.
"""

import dataclasses
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_cli.corpus.random_draws import randbelow, shuffle
from bert_cli.corpus.space_words import mark_of, remove_marks
from bert_cli.corpus.store import Corpus
from bert_cli.settings.pretraining import SPACES, MaskedLM
from bert_cli.text.vocabulary import CLS, MASK, SEP


@dataclasses.dataclass(frozen=True)
class Masking:
    """Rules for masking tokens.

    Attributes:
        max_predictions_per_seq: maximum number of predicted tokens in a sequence.
        masked_lm_prob: share of tokens to predict, including special tokens, in (0, 1].
        whole_word: whether a word's pieces are predicted together.
        cls_id, sep_id, mask_id: ids of [CLS], [SEP] and [MASK].
        random_ids: ids used as random replacements: each distinct token, ordered by first line as
            in the original.
        is_inside: per id, also per marked one, 1 if the token continues a word, else 0.
        mark: number that marks ids inside a word, see space_words; 0 if no id has a mark.
    """

    max_predictions_per_seq: int
    masked_lm_prob: float
    whole_word: bool
    cls_id: int
    sep_id: int
    mask_id: int
    random_ids: tuple[int, ...]
    is_inside: bytes
    mark: int = 0


def make_masking(
    vocab_ids: dict[str, int], max_predictions_per_seq: int, masked_lm_prob: float, whole_word: bool = False
) -> Masking:
    """Return the masking rules for a vocabulary, token -> id in file order.

    Further arguments: see Masking.

    Raises:
        KeyError: the vocabulary lacks a special token.
    """
    is_inside = bytearray(max(vocab_ids.values()) + 1)
    for token, index in vocab_ids.items():
        is_inside[index] = token.startswith("##")
    return Masking(
        max_predictions_per_seq, masked_lm_prob, whole_word, vocab_ids[CLS], vocab_ids[SEP], vocab_ids[MASK],
        tuple(vocab_ids.values()), bytes(is_inside),
    )  # fmt: skip


def num_predictions(num_tokens: int, masking: Masking) -> int:
    """Return the maximum number of predicted tokens; halves round to even, as in Python 3."""
    return min(masking.max_predictions_per_seq, max(1, round(num_tokens * masking.masked_lm_prob)))


def mask_tokens(
    token_ids: list[int], candidates: list[int], masking: Masking, rng: random.Random, num_tokens: int | None = None
) -> tuple[list[int], list[int]]:
    """Mask a sequence in place, as the original does.

    80 % of the chosen tokens become [MASK], 10 % stay, and 10 % become a token from the whole
    vocabulary, including special and unused ones. Each piece is drawn separately, even for whole
    words. With whole words there may be no prediction: a word with too many pieces is never chosen.

    Args:
        token_ids: the sequence, which is changed.
        candidates: positions that may be masked, ascending; shuffled by the call.
        masking: the rules.
        rng: source of random numbers.
        num_tokens: number of tokens that masked_lm_prob is a share of; None for all, as in the
            original.

    Returns:
        The positions to predict, ascending, and their original ids.
    """
    getrandbits, uniform = rng.getrandbits, rng.random
    count = num_predictions(len(token_ids) if num_tokens is None else num_tokens, masking)
    if masking.whole_word:
        words = group_words(token_ids, candidates, masking.is_inside)
        shuffle(getrandbits, words)
        chosen = _choose_words(words, count)
    else:
        shuffle(getrandbits, candidates)
        chosen = candidates[:count]
    positions = sorted(chosen)
    labels = [token_ids[position] for position in positions]
    mask_id = masking.mask_id
    random_ids = masking.random_ids
    num_random = len(masking.random_ids)
    for position in chosen:
        if uniform() < 0.8:
            token_ids[position] = mask_id
        elif uniform() >= 0.5:
            token_ids[position] = random_ids[randbelow(getrandbits, num_random)]
    if masking.mark:
        token_ids[:], labels = remove_marks(token_ids, masking.mark), remove_marks(labels, masking.mark)
    return positions, labels


def group_words(token_ids: list[int], positions: list[int], is_inside: bytes) -> list[list[int]]:
    """Group positions by word.

    A piece with "##" joins the previous word. That word may be before [SEP], if the second text was
    cut inside a word: this is the original's behavior.

    Args:
        token_ids: the sequence.
        positions: positions to group, ascending.
        is_inside: see Masking.
    """
    words: list[list[int]] = []
    for position in positions:
        if words and is_inside[token_ids[position]]:
            words[-1].append(position)
        else:
            words.append([position])
    return words


def _choose_words(words: list[list[int]], count: int) -> list[int]:
    """Return positions for the first words that fit into `count`; skip words that do not fit."""
    chosen: list[int] = []
    for word in words:
        if len(chosen) >= count:
            break
        if len(chosen) + len(word) <= count:
            chosen.extend(word)
    return chosen


# Attempts to draw another document than the current one.
_ATTEMPTS = 10


@dataclasses.dataclass(frozen=True)
class Sampling:
    """Rules for making instances.

    Attributes:
        max_seq_length: maximum tokens per sequence.
        short_seq_prob: probability that a document gets shorter sequences.
        masking: rules for masking tokens.
    """

    max_seq_length: int
    short_seq_prob: float
    masking: Masking

    @staticmethod
    def of(vocab_ids: dict[str, int], max_seq_length: int, flags: MaskedLM) -> "Sampling":
        """Return the rules from `flags` and `max_seq_length`, for a vocabulary; see make_masking."""
        rules = (flags.max_predictions_per_seq, flags.masked_lm_prob, flags.do_whole_word_mask)
        masking = make_masking(vocab_ids, *rules)
        if flags.whole_words_from == SPACES:
            mark = mark_of(vocab_ids)
            masking = dataclasses.replace(masking, is_inside=masking.is_inside + b"\1" * mark, mark=mark)
        return Sampling(max_seq_length, flags.short_seq_prob, masking)


class Instance(NamedTuple):
    """One sequence `[CLS] a [SEP] b [SEP]`.

    Attributes:
        token_ids: masked ids, without padding.
        segment_start: index at which segment 1 begins, after the first [SEP].
        positions: positions to predict, ascending.
        labels: original ids at these positions.
        is_random_next: whether b is a random text.
        num_dropped: number of tokens cut from a and b.
    """

    token_ids: list[int]
    segment_start: int
    positions: list[int]
    labels: list[int]
    is_random_next: bool
    num_dropped: int


def document_instances(
    corpus: Corpus, order: Sequence[int], index: int, sampling: Sampling, rng: random.Random
) -> Iterator[Instance]:
    """Yield instances from one pass over document `order[index]`.

    The order of random draws is part of the result. As in the original, the target length is drawn
    once per document. A chunk with one sentence always gets a random next text, without a draw. If
    there is only one document, the random text comes from that document.

    Args:
        corpus: the documents.
        order: numbers of documents that are used for random texts.
        index: index of the document in `order`.
        sampling: rules for making instances.
        rng: source of random numbers.
    """
    getrandbits, uniform = rng.getrandbits, rng.random
    offsets = corpus.sentence_offsets
    masking = sampling.masking
    budget = target = sampling.max_seq_length - 3
    if uniform() < sampling.short_seq_prob:
        target = 2 + randbelow(getrandbits, budget - 1)
    sentence, end = corpus.document(order[index])
    while sentence < end:
        # A sentence has at least one token, so `target` sentences are enough for a chunk.
        bounds = offsets[sentence : min(sentence + target, end) + 1]
        size = min(bisect_left(bounds, bounds[0] + target), len(bounds) - 1)
        size_a = 1 + randbelow(getrandbits, size - 1) if size > 1 else 1
        start_a, stop_a = bounds[0], bounds[size_a]
        is_random_next = size == 1 or uniform() < 0.5
        if is_random_next:
            start_b, stop_b = _random_text(corpus, order, index, target - (stop_a - start_a), rng)
            sentence += size_a
        else:
            start_b = stop_a
            stop_b = bounds[size]
            sentence += size
        num_dropped = (stop_a - start_a) + (stop_b - start_b) - budget
        if num_dropped > 0:
            start_a, stop_a, start_b, stop_b = _truncate(start_a, stop_a, start_b, stop_b, num_dropped, rng)
        token_ids = [
            masking.cls_id, *corpus.token_ids[start_a:stop_a], masking.sep_id,
            *corpus.token_ids[start_b:stop_b], masking.sep_id,
        ]  # fmt: skip
        separator = stop_a - start_a + 1
        candidates = [*range(1, separator), *range(separator + 1, len(token_ids) - 1)]
        positions, labels = mask_tokens(token_ids, candidates, masking, rng)
        yield Instance(token_ids, separator + 1, positions, labels, is_random_next, max(num_dropped, 0))


def _random_text(corpus: Corpus, order: Sequence[int], index: int, target: int, rng: random.Random) -> tuple[int, int]:
    """Return the token range of consecutive sentences from another document.

    The range has `target` tokens or more, if the document has them.
    """
    getrandbits = rng.getrandbits
    for _ in range(_ATTEMPTS):
        other_index = randbelow(getrandbits, len(order))
        if other_index != index:
            break
    first, end = corpus.document(order[other_index])
    first += randbelow(getrandbits, end - first)
    target = max(target, 1)  # take at least one sentence
    bounds = corpus.sentence_offsets[first : min(first + target, end) + 1]
    return bounds[0], bounds[min(bisect_left(bounds, bounds[0] + target), len(bounds) - 1)]


def _truncate(
    start_a: int, stop_a: int, start_b: int, stop_b: int, num_dropped: int, rng: random.Random
) -> tuple[int, int, int, int]:
    """Return both ranges after dropping tokens from the longer one (b in a tie), at random ends."""
    uniform = rng.random
    for _ in range(num_dropped):
        if stop_a - start_a > stop_b - start_b:
            if uniform() < 0.5:
                start_a += 1
            else:
                stop_a -= 1
        elif uniform() < 0.5:
            start_b += 1
        else:
            stop_b -= 1
    return start_a, stop_a, start_b, stop_b
