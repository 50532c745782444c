"""Which tokens of a masked-LM sequence are to be predicted, and what stands in their place."""

import dataclasses
import random

from bert_cli.corpus.random_draws import randbelow, shuffle
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
    """Masking for a vocabulary, given as token -> id in the order of the file. KeyError where it lacks a special token."""
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
    """Mask `[CLS] a [SEP] b [SEP]`, whose first [SEP] is at `separator`, in place, as the original does.

    Returns the positions to predict, ascending, and the ids that stood there. Of the chosen tokens 80 % become [MASK],
    10 % stay and 10 % become a token drawn from the whole vocabulary, special and unused ones included. With whole
    words, too, this is drawn for every piece by itself, and there may be no prediction at all: a word of more pieces
    than are to be predicted is never chosen.
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
    mask_id, random_ids, num_random = masking.mask_id, masking.random_ids, len(masking.random_ids)
    for position in chosen:
        if uniform() < 0.8:
            token_ids[position] = mask_id
        elif uniform() >= 0.5:
            token_ids[position] = random_ids[randbelow(getrandbits, num_random)]
    return positions, labels


def group_words(token_ids: list[int], positions: list[int], is_inside: bytes) -> list[list[int]]:
    """Positions that belong to one word, together.

    A piece with "##" joins the word before it. That word may stand across [SEP], where the start of the second text was
    cut off inside a word: the original's behaviour.
    """
    words: list[list[int]] = []
    for position in positions:
        if words and is_inside[token_ids[position]]:
            words[-1].append(position)
        else:
            words.append([position])
    return words


def _choose_words(words: list[list[int]], count: int) -> list[int]:
    """Positions of the first words that fit into `count` together; a word that does not fit is passed over."""
    chosen: list[int] = []
    for word in words:
        if len(chosen) >= count:
            break
        if len(chosen) + len(word) <= count:
            chosen.extend(word)
    return chosen
