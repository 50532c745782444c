"""Windows over the word pieces of a document, and which of them gives each piece the most context."""

import functools
from typing import NamedTuple

import numpy as np


class DocSpan(NamedTuple):
    """One window, in word pieces of the document: `start` to `end`, and of these `owned_start` to `owned_end`.

    The owned pieces are those that no other window gives more context. All ends are exclusive.
    """

    start: int
    end: int
    owned_start: int
    owned_end: int


def _owners(bounds: list[tuple[int, int]], num_pieces: int) -> np.ndarray:
    """The window that owns each piece, int32 [num_pieces].

    The context of a piece in a window is the smaller of the numbers of pieces to its left and right, and a hundredth
    of the window's length; of equals the first window owns it (_check_is_max_context of the original).
    """
    best = np.full(num_pieces, -1.0)
    owner = np.zeros(num_pieces, np.int32)
    for index, (start, end) in enumerate(bounds):
        left = np.arange(end - start)
        score = np.minimum(left, left[::-1]) + 0.01 * (end - start)
        better = score > best[start:end]
        best[start:end][better] = score[better]
        owner[start:end][better] = index
    return owner


# A data set has few different pairs of lengths, and windows depend on nothing else.
@functools.lru_cache(maxsize=1024)
def doc_spans(num_pieces: int, budget: int, doc_stride: int) -> tuple[DocSpan, ...]:
    """The windows of at most `budget` pieces (> 0) over a document, each `doc_stride` pieces (> 0) behind the last.

    The last one ends with the document. A document without pieces has no window. Steps are never wider than a window.
    """
    bounds = []
    start = 0
    while start < num_pieces:
        end = min(start + budget, num_pieces)
        bounds.append((start, end))
        if end == num_pieces:
            break
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
