"""Embedding rows that are added or removed."""

import numpy as np
import pytest

from bert_cli.model.resizing import resize_embeddings

WORDS, POSITIONS, BIAS = (
    "bert/embeddings/word_embeddings", "bert/embeddings/position_embeddings", "cls/predictions/output_bias",
)  # fmt: skip


@pytest.fixture
def tensors():
    return {
        WORDS: np.arange(23 * 12, dtype=np.float32).reshape(23, 12),
        POSITIONS: np.ones((9, 12), np.float32),
        BIAS: np.arange(23, dtype=np.float32),
        "other": np.zeros(2, np.float32),
    }


def test_unchanged_sizes(tensors, tiny_config):
    config = tiny_config()
    resized, same = resize_embeddings(tensors, config, None, None, 0)
    assert same == config
    assert all(np.array_equal(resized[name], tensors[name]) for name in tensors)


def test_new_rows(tensors, tiny_config):
    resized, config = resize_embeddings(tensors, tiny_config(initializer_range=0.1), 523, 40, 7)
    assert (config.vocab_size, config.max_position_embeddings) == (523, 40)
    assert resized[WORDS].shape == (523, 12)
    assert resized[POSITIONS].shape == (40, 12)
    assert {value.dtype for value in resized.values()} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(resized[WORDS][:23], tensors[WORDS])
    np.testing.assert_array_equal(resized[POSITIONS][:9], tensors[POSITIONS])
    np.testing.assert_array_equal(resized[BIAS], [*range(23), *[0] * 500])
    new = resized[WORDS][23:]
    assert np.abs(new).max() <= 0.2
    assert (
        0.085 < new.std() < 0.091
    )  # 0.88 of 0.1, because the normal distribution is truncated at two standard deviations
    same_seed, _ = resize_embeddings(tensors, tiny_config(initializer_range=0.1), 523, 40, 7)
    other_seed, _ = resize_embeddings(tensors, tiny_config(initializer_range=0.1), 523, 40, 8)
    np.testing.assert_array_equal(same_seed[WORDS], resized[WORDS])
    assert not np.array_equal(other_seed[WORDS], resized[WORDS])


def test_fewer_rows(tensors, tiny_config):
    resized, config = resize_embeddings(tensors, tiny_config(), 5, 3, 0)
    assert (config.vocab_size, config.max_position_embeddings) == (5, 3)
    np.testing.assert_array_equal(resized[WORDS], tensors[WORDS][:5])
    assert resized[POSITIONS].shape == (3, 12)
    np.testing.assert_array_equal(resized[BIAS], [0, 1, 2, 3, 4])
