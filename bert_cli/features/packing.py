"""Packing of one or two texts into `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`.

Long texts are divided into windows, or cut: then the lost tokens are counted for a warning. doc_spans
finds the windows, and decides which window gives each word piece the most context.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import HEAD_TAIL, WINDOWS


class DocSpan(NamedTuple):
    """A window over a document's word pieces, from `start` to `end`.

    It owns the pieces from `owned_start` to `owned_end`: they have the most context in this window.
    All ends are exclusive.
    """

    start: int
    end: int
    owned_start: int
    owned_end: int


def _owners(bounds: list[tuple[int, int]], num_pieces: int) -> np.ndarray:
    """Return the window that owns each piece, int32 [num_pieces].

    A piece's context is the smaller number of pieces to its left or right, plus a hundredth of the
    window length. In a tie the first window owns the piece (the original's _check_is_max_context).
    """
    best = np.full(num_pieces, -1.0)
    owner = np.zeros(num_pieces, np.int32)
    for index, (start, end) in enumerate(bounds):
        left = np.arange(end - start)
        score = np.minimum(left, left[::-1]) + 0.01 * (end - start)
        # Greater, not equal: in a tie the first window owns a piece.
        better = score > best[start:end]
        best[start:end][better] = score[better]
        owner[start:end][better] = index
    return owner


# Data sets have few distinct pairs of lengths, and windows depend on nothing else.
@functools.lru_cache(maxsize=1024)
def doc_spans(num_pieces: int, budget: int, doc_stride: int) -> tuple[DocSpan, ...]:
    """Return the windows over a document, `doc_stride` pieces apart (at most a window's length).

    The last window ends with the document. A document without pieces has no window.

    Args:
        num_pieces: number of word pieces in the document.
        budget: maximum pieces per window, > 0.
        doc_stride: distance between window starts in pieces, > 0.
    """
    bounds = []
    start = 0
    while start < num_pieces:
        end = min(start + budget, num_pieces)
        bounds.append((start, end))
        if end == num_pieces:
            break
        # As in the original, limit the stride: a longer one would skip pieces.
        start += min(end - start, doc_stride)
    if len(bounds) < 2:
        return tuple(DocSpan(start, end, start, end) for start, end in bounds)
    # Starts and ends ascend, and so do owners. So each window owns one range.
    owner = _owners(bounds, num_pieces)
    numbers = np.arange(len(bounds))
    owned = zip(np.searchsorted(owner, numbers, "left"), np.searchsorted(owner, numbers, "right"), strict=True)
    return tuple(
        DocSpan(start, end, int(first), int(last)) for (start, end), (first, last) in zip(bounds, owned, strict=True)
    )


class PackedSequence(NamedTuple):
    """Token ids, segment ids (0 up to the first [SEP], then 1) and the number of cut tokens."""

    token_ids: list[int]
    segment_ids: list[int]
    num_cut: int


def check_max_seq_length(max_seq_length: int, pairs: bool) -> None:
    """Raise InputError unless special tokens and one token per text fit."""
    minimum = 5 if pairs else 3
    if max_seq_length < minimum:
        texts = "pairs of texts" if pairs else "single texts"
        raise InputError(f"--max_seq_length: {max_seq_length} is too short for {texts}; give {minimum} or more")


def check_doc_stride(doc_stride: int) -> None:
    """Raise InputError unless windows advance."""
    if doc_stride < 1:
        raise InputError(
            f"--doc_stride: {doc_stride} is too small: windows start this many tokens apart; give 1 or more"
        )


def truncated_lengths(length_a: int, length_b: int, budget: int) -> tuple[int, int]:
    """Return the lengths of two texts after cutting them to `budget` tokens together.

    The result is the same as removing tokens one by one from the longer text's end, or from b in a
    tie, as the original does.

    Args:
        length_a: tokens in the first text.
        length_b: tokens in the second text.
        budget: maximum tokens in both texts.
    """
    # Use a closed form: the original's loop takes one step per token.
    if length_a + length_b <= budget:
        return length_a, length_b
    half = budget // 2
    if length_a <= budget - half:  # a gets the odd token
        return length_a, budget - length_a
    if length_b <= half:
        return budget - length_b, length_b
    return budget - half, half


def pack(
    ids_a: Sequence[int], ids_b: Sequence[int] | None, max_seq_length: int, cls_id: int, sep_id: int
) -> PackedSequence:
    """Pack one or two texts into a sequence.

    Both texts are cut at their ends. A second text without tokens is ignored: there is one [SEP]
    then, not two. A first text without tokens is left empty.

    Args:
        ids_a: token ids of the first text.
        ids_b: token ids of the second text, None for a single text.
        max_seq_length: maximum ids in the sequence, including special tokens.
        cls_id: id of [CLS].
        sep_id: id of [SEP].
    """
    if not ids_b:
        kept = ids_a[: max_seq_length - 2]
        return PackedSequence([cls_id, *kept, sep_id], [0] * (len(kept) + 2), len(ids_a) - len(kept))
    length_a, length_b = truncated_lengths(len(ids_a), len(ids_b), max_seq_length - 3)
    return PackedSequence(
        token_ids=[cls_id, *ids_a[:length_a], sep_id, *ids_b[:length_b], sep_id],
        segment_ids=[0] * (length_a + 2) + [1] * (length_b + 1),
        num_cut=len(ids_a) + len(ids_b) - length_a - length_b,
    )


def head_and_tail(ids: Sequence[int], length: int) -> Sequence[int]:
    """Keep `length` ids: the first quarter, rounded up, and the last three quarters.

    For example 128 and 382 ids for length 510, as in Sun et al.
    """
    if len(ids) <= length:
        return ids
    head = math.ceil(length / 4)
    return [*ids[:head], *ids[len(ids) - (length - head) :]]


def long_sequences(
    ids_a: Sequence[int], ids_b: Sequence[int] | None, max_seq_length: int, cls_id: int, sep_id: int, long_text: str
) -> list[PackedSequence]:
    """Return the sequences for one or two texts, each with at most `max_seq_length` ids.

    num_cut counts the whole text, and is repeated in each window. The values of `long_text` are:

    truncate:  one sequence, cut as in Google's script.
    head_tail: one sequence. A cut text keeps as many tokens as in Google's script, from both ends.
    windows:   windows that start half a window apart. In a pair, each window has the shorter text, cut
               to half of the space, and windows slide over the longer text, or the second in a tie.

    Args:
        ids_a: token ids of the first text.
        ids_b: token ids of the second text, None for a single text.
        max_seq_length: maximum ids per sequence, including special tokens.
        cls_id: id of [CLS].
        sep_id: id of [SEP].
        long_text: treatment of long texts.
    """
    space = max_seq_length - (3 if ids_b else 2)
    length_b = len(ids_b) if ids_b else 0
    num_cut = len(ids_a) + length_b - space
    if num_cut <= 0 or long_text not in (HEAD_TAIL, WINDOWS):
        return [pack(ids_a, ids_b, max_seq_length, cls_id, sep_id)]
    if long_text == HEAD_TAIL:
        kept_a, kept_b = truncated_lengths(len(ids_a), length_b, space) if ids_b else (space, 0)
        texts = head_and_tail(ids_a, kept_a), head_and_tail(ids_b, kept_b) if ids_b else None
        return [pack(*texts, max_seq_length, cls_id, sep_id)._replace(num_cut=num_cut)]
    if not ids_b:
        return [pack(window, None, max_seq_length, cls_id, sep_id) for window in _windows(ids_a, space)]
    # In a tie the second text is long, as in truncated_lengths.
    first_is_long = len(ids_a) > length_b
    long, short = (ids_a, ids_b) if first_is_long else (ids_b, ids_a)
    kept = short[: space // 2]
    pairs = ((window, kept) if first_is_long else (kept, window) for window in _windows(long, space - len(kept)))
    num_cut = len(short) - len(kept)
    return [pack(*pair, max_seq_length, cls_id, sep_id)._replace(num_cut=num_cut) for pair in pairs]


def _windows(ids: Sequence[int], length: int) -> list[Sequence[int]]:
    """Return windows with `length` ids each, half a window apart; the last may be shorter."""
    return [ids[span.start : span.end] for span in doc_spans(len(ids), length, max(1, length // 2))]


@dataclass(frozen=True)
class CutCounts:
    """Counts of texts and tokens, without [CLS] and [SEP].

    Attributes:
        num_texts: number of texts.
        num_cut_texts: number of texts that lost tokens.
        num_tokens: number of tokens before texts were cut.
        num_cut_tokens: number of tokens that were left out.
    """

    num_texts: int = 0
    num_cut_texts: int = 0
    num_tokens: int = 0
    num_cut_tokens: int = 0

    def __add__(self, other: "CutCounts") -> "CutCounts":
        return CutCounts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


NOT_CUT = CutCounts()


def measure_cuts(lengths: Sequence[int], max_tokens: int) -> CutCounts:
    """Return the counts for texts of these lengths, each cut to `max_tokens`."""
    lost = [length - max_tokens for length in lengths if length > max_tokens]
    return CutCounts(len(lengths), len(lost), sum(lengths), sum(lost))


def cut_entry(num_cut: int) -> dict[str, int]:
    """Return the entry of an answer's record that says how many tokens its text lost; {} for none."""
    return {"cut": num_cut} if num_cut else {}


def describe_cuts(cuts: CutCounts, max_tokens: int, noun: str = "texts") -> str:
    """Return a sentence such as `1 of 2 texts were cut to 16 tokens: …`, "" if no text was cut.

    Args:
        cuts: the counts.
        max_tokens: the maximum length.
        noun: plural used for the texts.
    """
    if not cuts.num_cut_texts:
        return ""
    share = cuts.num_cut_tokens / cuts.num_tokens
    return (
        f"{cuts.num_cut_texts} of {cuts.num_texts} {noun} were cut to {max_tokens} tokens: "
        f"{cuts.num_cut_tokens} of {cuts.num_tokens} tokens ({share:.1%}) were left out"
    )


def warn_cuts(cuts: CutCounts, max_tokens: int, noun: str = "texts", place: str = "", advice: str = "") -> None:
    """Log a warning if texts were cut.

    Args:
        cuts: the counts.
        max_tokens: the maximum length.
        noun: plural used for the texts.
        place: file of the texts, or "".
        advice: advice to add, or "".
    """
    if line := describe_cuts(cuts, max_tokens, noun):
        ending = f"; {advice}" if advice else ""
        LOG.warning("%swarning: %s%s", f"{place}: " if place else "", line, ending)


class CuttingModel:
    """Base class for models that cut long texts, and report this once per call.

    Attributes:
        on_cut: function of the counts and the maximum length in tokens. By default it logs a
            warning.
    """

    on_cut: Callable[[CutCounts, int], None] = staticmethod(warn_cuts)
