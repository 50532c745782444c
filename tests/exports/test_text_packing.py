"""Packing in a graph, which equals the packing in features/."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.exports import text_packing
from bert_cli.features import packing

CLS, SEP = 2, 3


@pytest.mark.parametrize("max_seq_length", [5, 6, 9])
def test_every_pair_of_lengths(max_seq_length):
    lengths = list(itertools.product(range(1, 6), repeat=2))
    texts = [(list(range(10, 10 + first)), list(range(20, 20 + second))) for first, second in lengths]
    batch = text_packing.pack_batch(
        tf.ragged.constant([first for first, _ in texts], tf.int32),
        tf.ragged.constant([second for _, second in texts], tf.int32),
        max_seq_length, CLS, SEP,
    )  # fmt: skip
    for row, (first, second) in enumerate(texts):
        expected = packing.pack(first, second, max_seq_length, CLS, SEP)
        length = len(expected.token_ids)
        assert batch["input_word_ids"][row, :length].numpy().tolist() == list(expected.token_ids)
        assert batch["input_type_ids"][row, :length].numpy().tolist() == list(expected.segment_ids)
        assert int(tf.reduce_sum(batch["input_mask"][row])) == length


def test_single_texts():
    batch = text_packing.pack_batch(tf.ragged.constant([[10], [10, 11, 12, 13]], tf.int32), None, 5, CLS, SEP)
    assert batch["input_word_ids"].numpy().tolist() == [[2, 10, 3, 0, 0], [2, 10, 11, 12, 3]]
    assert batch["input_mask"].numpy().tolist() == [[1, 1, 1, 0, 0], [1] * 5]
    assert not np.any(batch["input_type_ids"])


def test_an_empty_second_text_makes_a_single_text():
    ids = tf.ragged.constant([[10], [10]], tf.int32)
    batch = text_packing.pack_batch(ids, tf.ragged.constant([[], [20]], tf.int32), 9, CLS, SEP)
    assert batch["input_word_ids"].numpy().tolist() == [[2, 10, 3, 0, 0], [2, 10, 3, 20, 3]]
    assert batch["input_type_ids"].numpy().tolist() == [[0] * 5, [0, 0, 0, 1, 1]]


def test_rows_are_padded_with_the_given_id():
    batch = text_packing.pack_batch(tf.ragged.constant([[10], [10, 11]], tf.int32), None, 5, CLS, SEP, pad_id=1)
    assert batch["input_word_ids"].numpy().tolist() == [[2, 10, 3, 1], [2, 10, 11, 3]]
    assert batch["input_mask"].numpy().tolist() == [[1, 1, 1, 0], [1] * 4]
