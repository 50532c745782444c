"""One or two texts in one sequence: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, cut to a length, or
windows over them.

doc_spans says where the windows of a long text are, and which of them gives each word piece the
most context.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.settings.groups import HEAD_TAIL, WINDOWS


class DocSpan(NamedTuple):
    """One window, in word pieces of the document: `start` to `end`, and of these `owned_start` to
    `owned_end`.

    The owned pieces are those that no other window gives more context. All ends are exclusive.
    """

    start: int
    end: int
    owned_start: int
    owned_end: int


def _owners(bounds: list[tuple[int, int]], num_pieces: int) -> np.ndarray:
    """The window that owns each piece, int32 [num_pieces].

    The context of a piece in a window is the smaller of the numbers of pieces to its left and
    right, and a hundredth of the window's length; of equals the first window owns it
    (_check_is_max_context of the original).
    """
    best = np.full(num_pieces, -1.0)
    owner = np.zeros(num_pieces, np.int32)
    for index, (start, end) in enumerate(bounds):
        left = np.arange(end - start)
        score = np.minimum(left, left[::-1]) + 0.01 * (end - start)
        # Greater, not equal: of windows with equal context the first one owns a piece.
        better = score > best[start:end]
        best[start:end][better] = score[better]
        owner[start:end][better] = index
    return owner


# A data set has few different pairs of lengths, and windows depend on nothing else.
@functools.lru_cache(maxsize=1024)
def doc_spans(num_pieces: int, budget: int, doc_stride: int) -> tuple[DocSpan, ...]:
    """The windows of at most `budget` pieces (> 0) over a document, each `doc_stride` pieces (> 0)
    after the last.

    The last one ends with the document. A document without pieces has no window. Steps are never
    wider than a window.
    """
    bounds = []
    start = 0
    while start < num_pieces:
        end = min(start + budget, num_pieces)
        bounds.append((start, end))
        if end == num_pieces:
            break
        # As in the original; a stride beyond the window would leave out pieces.
        start += min(end - start, doc_stride)
    if len(bounds) < 2:
        return tuple(DocSpan(start, end, start, end) for start, end in bounds)
    # Starts and ends ascend, and so do owners: what a window owns is one range.
    owner = _owners(bounds, num_pieces)
    numbers = np.arange(len(bounds))
    owned = zip(np.searchsorted(owner, numbers, "left"), np.searchsorted(owner, numbers, "right"), strict=True)
    return tuple(
        DocSpan(start, end, int(first), int(last)) for (start, end), (first, last) in zip(bounds, owned, strict=True)
    )


class PackedSequence(NamedTuple):
    """Token ids, segment ids (0 up to the first [SEP], 1 after it) and how many tokens were cut off."""

    token_ids: list[int]
    segment_ids: list[int]
    num_cut: int


def check_max_seq_length(max_seq_length: int, pairs: bool) -> None:
    """InputError unless there is room for the special tokens and one token of each text."""
    minimum = 5 if pairs else 3
    if max_seq_length < minimum:
        texts = "pairs of texts" if pairs else "single texts"
        raise InputError(f"--max_seq_length: {max_seq_length} is too short for {texts}; give {minimum} or more")


def check_doc_stride(doc_stride: int) -> None:
    """InputError unless windows advance."""
    if doc_stride < 1:
        raise InputError(
            f"--doc_stride: {doc_stride} is too small: windows start this many tokens apart; give 1 or more"
        )


def truncated_lengths(length_a: int, length_b: int, budget: int) -> tuple[int, int]:
    """The lengths of two texts after cutting them to `budget` tokens together.

    The result equals taking tokens one by one from the end of the longer text, from b where both
    are equal, as the original does.
    """
    # In closed form: the loop of the original takes a step for each token.
    if length_a + length_b <= budget:
        return length_a, length_b
    half = budget // 2
    if length_a <= budget - half:  # the odd token goes to a
        return length_a, budget - length_a
    if length_b <= half:
        return budget - length_b, length_b
    return budget - half, half


def pack(
    ids_a: Sequence[int], ids_b: Sequence[int] | None, max_seq_length: int, cls_id: int, sep_id: int
) -> PackedSequence:
    """Pack the token ids of one or two texts into at most `max_seq_length` ids; both texts are cut
    at their ends.

    A second text without tokens counts as none: there is one [SEP] then, not two. A first text
    without tokens leaves its place empty.
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
    """The first quarter, rounded up, and the last three quarters of `length` ids: 128 and 382 of
    510, as in Sun et al.
    """
    if len(ids) <= length:
        return ids
    head = math.ceil(length / 4)
    return [*ids[:head], *ids[len(ids) - (length - head) :]]


def long_sequences(
    ids_a: Sequence[int], ids_b: Sequence[int] | None, max_seq_length: int, cls_id: int, sep_id: int, long_text: str
) -> list[PackedSequence]:
    """The one or more sequences of one or two texts, each of at most `max_seq_length` ids;
    num_cut of the texts as a whole, also in each of several windows.

    truncate   one, as in Google's script
    head_tail  one: of each text that has to be cut, as much as Google's script keeps of it, but its beginning and its end
    windows    windows over the text, each of which begins half a window after the one before. Of a pair the shorter text
               is in each window, cut to half of the room, and the windows are over the other one, the second of equals.
    """
    room = max_seq_length - (3 if ids_b else 2)
    length_b = len(ids_b) if ids_b else 0
    num_cut = len(ids_a) + length_b - room
    if num_cut <= 0 or long_text not in (HEAD_TAIL, WINDOWS):
        return [pack(ids_a, ids_b, max_seq_length, cls_id, sep_id)]
    if long_text == HEAD_TAIL:
        kept_a, kept_b = truncated_lengths(len(ids_a), length_b, room) if ids_b else (room, 0)
        parts = head_and_tail(ids_a, kept_a), head_and_tail(ids_b, kept_b) if ids_b else None
        return [pack(*parts, max_seq_length, cls_id, sep_id)._replace(num_cut=num_cut)]
    if not ids_b:
        return [pack(part, None, max_seq_length, cls_id, sep_id) for part in _windows(ids_a, room)]
    # Of equals the second is cut, as in truncated_lengths.
    first_is_long = len(ids_a) > length_b
    long, short = (ids_a, ids_b) if first_is_long else (ids_b, ids_a)
    kept = short[: room // 2]
    pairs = ((part, kept) if first_is_long else (kept, part) for part in _windows(long, room - len(kept)))
    num_cut = len(short) - len(kept)
    return [pack(*pair, max_seq_length, cls_id, sep_id)._replace(num_cut=num_cut) for pair in pairs]


def _windows(ids: Sequence[int], length: int) -> list[Sequence[int]]:
    """Windows of `length` ids, the last one of those that are left, which begin half a window
    apart.
    """
    return [ids[span.start : span.end] for span in doc_spans(len(ids), length, max(1, length // 2))]
