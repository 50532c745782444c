"""Ragged token arrays and padding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.features.ragged import RaggedFeatures
from tests.snapshots import raises


def ragged(sequences: list[list[int]], segments: list[list[int]] | None = None) -> RaggedFeatures:
    segments = segments or [[0] * len(sequence) for sequence in sequences]
    return RaggedFeatures(
        token_ids=np.array([token for sequence in sequences for token in sequence], np.int32),
        segment_ids=np.array([segment for sequence in segments for segment in sequence], np.int8),
        offsets=np.cumsum([0, *map(len, sequences)], dtype=np.int64),
    )


THREE = ragged([[4, 7, 3], [4, 3], [4, 9, 3, 8, 3]], [[0, 0, 0], [0, 0], [0, 0, 0, 1, 1]])


def test_lengths():
    assert len(THREE) == 3
    assert THREE.lengths.tolist() == [3, 2, 5]


def test_selected_rows_are_padded_with_zeros():
    padded = THREE.pad(np.array([2, 0, 2]), width=6)
    assert {name: array.tolist() for name, array in padded.items()} == {
        "input_word_ids": [[4, 9, 3, 8, 3, 0], [4, 7, 3, 0, 0, 0], [4, 9, 3, 8, 3, 0]],
        "input_mask": [[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]],
        "input_type_ids": [[0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]],
    }
    assert {array.dtype for array in padded.values()} == {np.dtype(np.int32)}


def test_width_of_the_longest_row():
    assert THREE.pad([2], width=5)["input_mask"].tolist() == [[1, 1, 1, 1, 1]]


def test_too_small_width():
    with raises(ValueError, "5 tokens"):
        THREE.pad([0, 2], width=4)


@pytest.mark.parametrize("features", [THREE, ragged([])])
def test_no_rows(features):
    assert {name: array.shape for name, array in features.pad([], width=4).items()} == {
        "input_word_ids": (0, 4),
        "input_mask": (0, 4),
        "input_type_ids": (0, 4),
    }


@settings(derandomize=True, max_examples=50)
@given(st.lists(st.lists(st.integers(1, 30000), max_size=6), min_size=1, max_size=8), st.data())
def test_only_padding_is_added(sequences, data):
    rows = data.draw(st.lists(st.integers(0, len(sequences) - 1), max_size=8))
    padded = ragged(sequences).pad(rows, width=7)
    expected = [sequences[row] + [0] * (7 - len(sequences[row])) for row in rows]
    assert padded["input_word_ids"].tolist() == expected
    assert padded["input_mask"].tolist() == [[int(cell > 0) for cell in row] for row in expected]
