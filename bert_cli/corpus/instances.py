"""Masked-LM and next-sentence instances of the documents of a corpus, equal to the original's draw
for draw.

A document is walked through in chunks of sentences. A chunk is split into A and B, or A is followed
by sentences from elsewhere and the rest of the chunk is used again; the pair is cut to length,
packed and masked: some tokens are to be predicted, and others are put in their place.
"""

import dataclasses
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_cli.corpus.random_draws import randbelow, shuffle
from bert_cli.corpus.store import Corpus
from bert_cli.settings.pretraining import MaskedLM
from bert_cli.text.vocabulary import CLS, MASK, SEP


@dataclasses.dataclass(frozen=True)
class Masking:
    """How tokens are masked.

    Attributes:
      max_predictions_per_seq: most tokens that are predicted in a sequence.
      masked_lm_prob: share of a sequence, special tokens counted, that is predicted; 0 < masked_lm_prob <= 1.
      whole_word: pieces of a word are predicted together or not at all.
      cls_id, sep_id, mask_id: ids of the special tokens.
      random_ids: ids that a random replacement is drawn from: every different token of the vocabulary once, in the
        order of their first lines, as the original lists them.
      is_inside: for each id 1 where the token begins with "##", else 0.
    """

    max_predictions_per_seq: int
    masked_lm_prob: float
    whole_word: bool
    cls_id: int
    sep_id: int
    mask_id: int
    random_ids: tuple[int, ...]
    is_inside: bytes


def make_masking(
    vocab_ids: dict[str, int], max_predictions_per_seq: int, masked_lm_prob: float, whole_word: bool = False
) -> Masking:
    """Masking for a vocabulary, given as token -> id in the order of the file. KeyError where it
    lacks a special token.
    """
    is_inside = bytearray(max(vocab_ids.values()) + 1)
    for token, index in vocab_ids.items():
        is_inside[index] = token.startswith("##")
    return Masking(
        max_predictions_per_seq, masked_lm_prob, whole_word, vocab_ids[CLS], vocab_ids[SEP], vocab_ids[MASK],
        tuple(vocab_ids.values()), bytes(is_inside),
    )  # fmt: skip


def num_predictions(num_tokens: int, masking: Masking) -> int:
    """How many tokens of a sequence are predicted at most; halves round to even, as in Python 3."""
    return min(masking.max_predictions_per_seq, max(1, round(num_tokens * masking.masked_lm_prob)))


def mask_tokens(
    token_ids: list[int], separator: int, masking: Masking, rng: random.Random
) -> tuple[list[int], list[int]]:
    """Mask `[CLS] a [SEP] b [SEP]`, with its first [SEP] at `separator`, in place, as the original
    does.

    Returns the positions to predict, ascending, and the ids that stood there. Of the chosen tokens
    80 % become [MASK], 10 % stay and 10 % become a token drawn from the whole vocabulary, special
    and unused ones included. With whole words, too, this is drawn for every piece by itself, and
    there may be no prediction at all: a word of more pieces than are to be predicted is never
    chosen.
    """
    getrandbits, uniform = rng.getrandbits, rng.random
    candidates = [*range(1, separator), *range(separator + 1, len(token_ids) - 1)]
    count = num_predictions(len(token_ids), masking)
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
    return positions, labels


def group_words(token_ids: list[int], positions: list[int], is_inside: bytes) -> list[list[int]]:
    """Positions that belong to one word, together.

    A piece with "##" joins the word before it. That word may be across [SEP], where the start of
    the second text was cut off inside a word: the original's behaviour.
    """
    words: list[list[int]] = []
    for position in positions:
        if words and is_inside[token_ids[position]]:
            words[-1].append(position)
        else:
            words.append([position])
    return words


def _choose_words(words: list[list[int]], count: int) -> list[int]:
    """Positions of the first words that fit into `count` together; a word that does not fit is
    passed over.
    """
    chosen: list[int] = []
    for word in words:
        if len(chosen) >= count:
            break
        if len(chosen) + len(word) <= count:
            chosen.extend(word)
    return chosen


# How often another document is drawn where the present one comes out.
_ATTEMPTS = 10


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How instances are made: longest sequence in tokens, probability that a document gets a
    shorter one, masking.
    """

    max_seq_length: int
    short_seq_prob: float
    masking: Masking

    @staticmethod
    def of(vocab_ids: dict[str, int], max_seq_length: int, flags: MaskedLM) -> "Sampling":
        """As the flags say, for a vocabulary; see make_masking."""
        rules = (flags.max_predictions_per_seq, flags.masked_lm_prob, flags.do_whole_word_mask)
        return Sampling(max_seq_length, flags.short_seq_prob, make_masking(vocab_ids, *rules))


class Instance(NamedTuple):
    """One sequence `[CLS] a [SEP] b [SEP]`.

    token_ids       masked, without padding
    segment_start   where segment 1 begins: after the first [SEP]
    positions       of the tokens to predict, ascending
    labels          the tokens that stood there
    is_random_next  whether b is from elsewhere
    num_dropped     tokens of a and b that were cut off
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
    """Instances of one pass over document `order[index]`; `order` lists all documents that a random
    text may come from.

    The order of the draws is part of the result. As in the original: the target length is drawn
    once for all of the document; a chunk of one sentence always gets a random next text, without a
    draw; where there is no other document, the random text comes from the same one.
    """
    getrandbits, uniform = rng.getrandbits, rng.random
    offsets = corpus.sentence_offsets
    masking = sampling.masking
    budget = target = sampling.max_seq_length - 3
    if uniform() < sampling.short_seq_prob:
        target = 2 + randbelow(getrandbits, budget - 1)
    sentence, end = corpus.document(order[index])
    while sentence < end:
        # A sentence has a token at least, so that `target` sentences are always enough for a chunk.
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
            start_a, stop_a, start_b, stop_b = _truncated(start_a, stop_a, start_b, stop_b, num_dropped, rng)
        token_ids = [
            masking.cls_id, *corpus.token_ids[start_a:stop_a], masking.sep_id,
            *corpus.token_ids[start_b:stop_b], masking.sep_id,
        ]  # fmt: skip
        separator = stop_a - start_a + 1
        positions, labels = mask_tokens(token_ids, separator, masking, rng)
        yield Instance(token_ids, separator + 1, positions, labels, is_random_next, max(num_dropped, 0))


def document_sequences(corpus: Corpus, number: int, sampling: Sampling, rng: random.Random) -> Iterator[Instance]:
    """One pass over document `number` as single sequences `[CLS] a [SEP]`, for masked-LM training
    alone.

    Each holds as many whole sentences in a row as fit, as in FULL-SENTENCES of RoBERTa (Liu et al.,
    2019) but within the document; a sentence that is longer than a sequence goes on in the next
    one. No token is lost.
    """
    budget = target = sampling.max_seq_length - 2
    if rng.random() < sampling.short_seq_prob:
        target = 1 + randbelow(rng.getrandbits, budget)
    sentence, end = corpus.document(number)
    start = corpus.sentence_offsets[sentence : sentence + 1][0]
    while sentence < end:
        # Every sentence has a token, so that the bounds of `target` more are enough.
        bounds = corpus.sentence_offsets[sentence : min(sentence + target + 1, end) + 1]
        size = bisect_left(bounds, start + target + 1) - 1  # sentences that end within the sequence
        stop = bounds[size] if bounds[size] > start else start + target
        token_ids = [sampling.masking.cls_id, *corpus.token_ids[start:stop], sampling.masking.sep_id]
        positions, labels = mask_tokens(token_ids, len(token_ids) - 1, sampling.masking, rng)
        yield Instance(token_ids, len(token_ids), positions, labels, False, 0)
        sentence = sentence + size
        start = stop


def _random_text(corpus: Corpus, order: Sequence[int], index: int, target: int, rng: random.Random) -> tuple[int, int]:
    """Token range of sentences in a row, of `target` tokens or more where the document has them,
    from another document.
    """
    getrandbits = rng.getrandbits
    for _ in range(_ATTEMPTS):
        other = randbelow(getrandbits, len(order))
        if other != index:
            break
    first, end = corpus.document(order[other])
    first += randbelow(getrandbits, end - first)
    target = max(target, 1)  # one sentence is always taken
    bounds = corpus.sentence_offsets[first : min(first + target, end) + 1]
    return bounds[0], bounds[min(bisect_left(bounds, bounds[0] + target), len(bounds) - 1)]


def _truncated(
    start_a: int, stop_a: int, start_b: int, stop_b: int, num_dropped: int, rng: random.Random
) -> tuple[int, int, int, int]:
    """Both ranges after the longer one (b where both are equal) has lost a token at one of its
    ends, again and again.
    """
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
