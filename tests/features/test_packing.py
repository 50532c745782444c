"""Packing of one or two texts into a sequence, and truncation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.features.packing import check_max_seq_length, pack, truncated_lengths
from tests.snapshots import raises

CLS, SEP = 101, 102


def test_single_text():
    assert pack([7, 8], None, 6, CLS, SEP) == ([CLS, 7, 8, SEP], [0, 0, 0, 0], False)


def test_single_text_is_cut_at_its_end():
    assert pack([7, 8, 9], None, 4, CLS, SEP) == ([CLS, 7, 8, SEP], [0, 0, 0, 0], True)


def test_pair():
    expected = ([CLS, 7, 8, SEP, 9, SEP], [0, 0, 0, 0, 1, 1], False)
    assert pack([7, 8], [9], 6, CLS, SEP) == expected


@pytest.mark.parametrize("max_seq_length", [5, 6])
def test_second_text_without_tokens_is_ignored(max_seq_length):
    expected = pack([7, 8, 9, 10], None, max_seq_length, CLS, SEP)
    assert pack([7, 8, 9, 10], [], max_seq_length, CLS, SEP) == expected
    assert expected.token_ids.count(SEP) == 1


def test_first_text_without_tokens_keeps_its_separator():
    assert pack([], [9], 8, CLS, SEP) == ([CLS, SEP, 9, SEP], [0, 0, 1, 1], 0)


def test_two_texts_without_tokens():
    assert pack([], [], 8, CLS, SEP) == ([CLS, SEP], [0, 0], 0)


def test_pair_with_equal_lengths_loses_the_odd_token_from_the_second():
    # The budget is 8 - 3 = 5 for 4 + 4 tokens, so b, a and b are removed.
    expected = ([CLS, 1, 2, 3, SEP, 5, 6, SEP], [0] * 5 + [1] * 3, 3)
    assert pack([1, 2, 3, 4], [5, 6, 7, 8], 8, CLS, SEP) == expected


@pytest.mark.parametrize(
    ("lengths", "budget", "expected"),
    [
        ((3, 4), 7, (3, 4)),
        ((10, 2), 7, (5, 2)),
        ((2, 10), 7, (2, 5)),
        ((10, 3), 7, (4, 3)),
        ((3, 10), 7, (3, 4)),
        ((4, 10), 7, (4, 3)),
        ((10, 4), 7, (4, 3)),
        ((4, 4), 7, (4, 3)),
        ((0, 9), 4, (0, 4)),
        ((1, 1), 1, (1, 0)),
    ],
)
def test_truncated_lengths(lengths, budget, expected):
    assert truncated_lengths(*lengths, budget) == expected


@settings(derandomize=True, max_examples=500)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 30))
def test_truncated_lengths_equal_token_by_token_truncation(length_a, length_b, budget):
    left_a, left_b = length_a, length_b
    while left_a + left_b > budget:
        if left_a > left_b:
            left_a -= 1
        else:
            left_b -= 1
    assert truncated_lengths(length_a, length_b, budget) == (left_a, left_b)


@settings(derandomize=True, max_examples=200)
@given(st.lists(st.integers(1, 99), max_size=20), st.lists(st.integers(1, 99), max_size=20), st.integers(5, 20))
def test_packed_sequences(ids_a, ids_b, max_seq_length):
    packed = pack(ids_a, ids_b, max_seq_length, CLS, SEP)
    specials = 3 if ids_b else 2
    assert len(packed.token_ids) == len(packed.segment_ids) == min(max_seq_length, len(ids_a) + len(ids_b) + specials)
    assert packed.num_cut == max(0, len(ids_a) + len(ids_b) + specials - max_seq_length)
    first_sep = packed.token_ids.index(SEP)
    assert packed.segment_ids == [int(position > first_sep) for position in range(len(packed.token_ids))]
    assert ids_a[: first_sep - 1] == packed.token_ids[1:first_sep]
    kept_b = packed.token_ids[first_sep + 1 : -1]
    assert kept_b == ids_b[: len(kept_b)]


@pytest.mark.parametrize(("length", "pairs"), [(3, False), (5, True), (512, True)])
def test_long_enough(length, pairs):
    check_max_seq_length(length, pairs)


@pytest.mark.parametrize(
    ("length", "pairs"),
    [
        (2, False),
        (4, True),
    ],
)
def test_too_short(length, pairs):
    with raises(InputError, "--max_seq_length: "):
        check_max_seq_length(length, pairs)
