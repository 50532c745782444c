"""Batches from stored instances."""

import numpy as np
import pytest

from bert_cli.features.pretraining_batch import loss_shares, model_batch, training_batch

FEATURES = {
    "input_ids": np.array([[2, 5, 3, 0, 0], [2, 3, 0, 0, 0]]),
    "input_mask": np.array([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]]),
    "segment_ids": np.array([[0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]),
    "masked_lm_positions": np.array([[1, 2, 0], [1, 0, 0]]),
    "masked_lm_ids": np.array([[7, 8, 0], [9, 0, 0]]),
    "masked_lm_weights": np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    "next_sentence_labels": np.array([[1], [0]]),
}


def test_trimmed_batches_have_the_widest_row():
    batch = model_batch(FEATURES, trim=True)
    assert batch["input_word_ids"].tolist() == [[2, 5, 3], [2, 3, 0]]
    assert batch["input_type_ids"].tolist() == [[0, 0, 1], [0, 0, 0]]
    assert batch["masked_lm_positions"].tolist() == [[1, 2], [1, 0]]
    assert batch["masked_lm_ids"].tolist() == [[7, 8], [9, 0]]
    assert batch["next_sentence_labels"].tolist() == [1, 0]
    assert {values.dtype.name for values in batch.values()} == {"int32", "float32"}


def test_whole_batches_keep_their_widths():
    batch = model_batch(FEATURES, trim=False)
    assert batch["input_mask"].shape == (2, 5)
    assert batch["masked_lm_weights"].shape == (2, 3)


def test_empty_rows_keep_a_column():
    empty = FEATURES | {"masked_lm_weights": np.zeros((2, 3))}
    assert model_batch(empty, trim=True)["masked_lm_ids"].shape == (2, 1)


def test_loss_shares_add_up_to_one():
    shares = training_batch(FEATURES, trim=True)["masked_lm_weights"]
    assert shares.tolist() == pytest.approx(np.array([[1, 1], [1, 0]]) / 3.00001)
    assert loss_shares(np.zeros((1, 2))).tolist() == [[0.0, 0.0]]
