"""One or two texts in one sequence: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, cut to a length."""

from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError


class PackedSequence(NamedTuple):
    """Token ids, segment ids (0 up to the first [SEP], 1 behind it) and whether tokens were cut off."""

    token_ids: list[int]
    segment_ids: list[int]
    is_truncated: bool


def check_max_seq_length(max_seq_length: int, pairs: bool) -> None:
    """InputError unless there is room for the special tokens and one token of each text."""
    minimum = 5 if pairs else 3
    if max_seq_length < minimum:
        texts = "pairs of texts" if pairs else "single texts"
        raise InputError(f"--max_seq_length: {max_seq_length} is too short for {texts}; give {minimum} or more")


def truncated_lengths(length_a: int, length_b: int, budget: int) -> tuple[int, int]:
    """The lengths of two texts after cutting them to `budget` tokens together.

    The result is that of taking tokens one by one from the end of the longer text, from b where both are equal, as the
    original does.
    """
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
    """Pack the token ids of one or two texts into at most `max_seq_length` ids; both texts are cut at their ends.

    A second text without tokens counts as none: there is one [SEP] then, not two. A first text without tokens leaves
    its place empty.
    """
    if not ids_b:
        kept = ids_a[: max_seq_length - 2]
        return PackedSequence([cls_id, *kept, sep_id], [0] * (len(kept) + 2), len(kept) < len(ids_a))
    length_a, length_b = truncated_lengths(len(ids_a), len(ids_b), max_seq_length - 3)
    return PackedSequence(
        token_ids=[cls_id, *ids_a[:length_a], sep_id, *ids_b[:length_b], sep_id],
        segment_ids=[0] * (length_a + 2) + [1] * (length_b + 1),
        is_truncated=length_a + length_b < len(ids_a) + len(ids_b),
    )
