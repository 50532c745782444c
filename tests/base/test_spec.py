"""Batches have the arrays in the table: names, dtypes and sizes."""

import numpy as np
import pytest

from bert_cli.base import spec
from bert_cli.features.choice import ChoiceFeatures
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.packing import NOT_CUT
from bert_cli.features.pretraining_batch import model_batch, training_batch
from bert_cli.features.ragged import RaggedFeatures, row_lengths, with_token_ids
from bert_cli.features.squad import SquadFeatures
from bert_cli.features.tagging import TaggingFeatures, TaggingStates
from bert_cli.problem_types.registry import PROBLEM_TYPES

SEQUENCES = RaggedFeatures(np.arange(9, dtype=np.int32), np.ones(9, np.int8), np.array([0, 4, 6, 9]))
NUMBERS = np.arange(3, dtype=np.int32)
LABELS = np.array([-1, 2, 0, -1, -1, -1, 1, 1, -1], np.int32)


SIX = RaggedFeatures(np.arange(13, dtype=np.int32), np.ones(13, np.int8), np.array([0, 4, 6, 8, 9, 10, 13]))
CHOICES = ChoiceFeatures(SIX, NUMBERS, ("a", "b", "c"))


def classification(label_ids: np.ndarray) -> ClassificationFeatures:
    return ClassificationFeatures(SEQUENCES, label_ids, ("a", "b", "c"))


def squad_features() -> SquadFeatures:
    unused = [None] * 6
    return SquadFeatures(SEQUENCES, *unused[:4], NUMBERS, NUMBERS + 1, *unused[:4], False, 3, NOT_CUT)


def pretraining_features(max_seq_length=6, predictions=3) -> dict:
    features = {
        feature.name: np.ones((3, feature.length), feature.dtype)
        for feature in spec.pretraining_features(max_seq_length, predictions)
    }
    features["input_mask"][:, 4:] = 0
    features["masked_lm_weights"][:, 2:] = 0
    return features


FEATURES = {
    "classification": (PROBLEM_TYPES["single_label"].batch_columns, classification(NUMBERS).batch),
    "multi_label": (PROBLEM_TYPES["multi_label"].batch_columns, classification(np.ones((3, 5), np.float32)).batch),
    "regression": (PROBLEM_TYPES["regression"].batch_columns, classification(np.ones(3, np.float32)).batch),
    "choice": (PROBLEM_TYPES["multiple_choice"].batch_columns, CHOICES.batch),
    "squad": (spec.SQUAD, squad_features().batch),
    "tagging": (spec.TAGGING, TaggingFeatures(SEQUENCES, LABELS, LABELS, NUMBERS, NUMBERS).batch),
    "states": (spec.TAGGING_STATES, TaggingStates(np.ones((9, 5), np.float32), LABELS, SEQUENCES.offsets).batch),
}


@pytest.mark.parametrize("feature_name", FEATURES)
@pytest.mark.parametrize(("rows", "width", "length"), [([0, 1], None, 4), ([2, 1], None, 3), ([1], 7, 7)])
def test_batches(feature_name, rows, width, length):
    columns, make_batch = FEATURES[feature_name]
    batch = make_batch(np.array(rows), width)
    sizes = {"B": len(rows), "S": length, "W": 5, "L": 5, "K": 2}
    assert batch.keys() == {column.name for column in columns}
    for column in columns:
        values = batch[column.name]
        assert (values.dtype, values.shape) == (column.dtype, tuple(sizes[letter] for letter in column.shape))


@pytest.mark.parametrize("make_batch", [model_batch, training_batch])
@pytest.mark.parametrize(("trim", "sizes"), [(True, {"B": 3, "S": 4, "P": 2}), (False, {"B": 3, "S": 6, "P": 3})])
def test_batches_of_pretraining(make_batch, trim, sizes):
    batch = make_batch(pretraining_features(), trim)
    assert batch.keys() == {column.name for column in spec.PRETRAINING}
    for column in spec.PRETRAINING:
        values = batch[column.name]
        assert (values.dtype, values.shape) == (column.dtype, tuple(sizes[letter] for letter in column.shape))


def test_masked_word_weights_sum_to_one_only_in_training():
    assert model_batch(pretraining_features(), True)["masked_lm_weights"].tolist() == [[1, 1]] * 3
    np.testing.assert_allclose(training_batch(pretraining_features(), True)["masked_lm_weights"], 1 / (6 + 1e-5))


def test_labeled_pieces_share_the_loss_of_their_batch():
    batch = FEATURES["tagging"][1](np.array([0, 2]))
    assert batch["label_ids"].tolist() == [[-1, 2, 0, -1], [1, 1, -1, -1]]
    assert batch["label_weights"].tolist() == [[0, 0.25, 0.25, 0], [0.25, 0.25, 0, 0]]
    # No labeled piece.
    assert FEATURES["tagging"][1](np.array([1]))["label_weights"].tolist() == [[0, 0]]


def test_with_token_ids_keeps_the_labels():
    batch = with_token_ids(classification(NUMBERS), SEQUENCES.token_ids + 50).batch(np.array([1]))
    assert batch["input_word_ids"].tolist() == [[54, 55]]
    assert batch["label_ids"].tolist() == [1]


def test_choices_of_an_example_are_adjacent():
    batch = CHOICES.batch(np.array([2, 0]))
    assert batch["input_word_ids"].tolist() == [[[9, 0, 0, 0], [10, 11, 12, 0]], [[0, 1, 2, 3], [4, 5, 0, 0]]]
    assert batch["input_mask"].sum(axis=2).tolist() == [[1, 3], [4, 2]]
    assert batch["label_ids"].tolist() == [2, 0]


def test_row_lengths():
    assert row_lengths(CHOICES).tolist() == [4, 2, 3]
    assert row_lengths(classification(NUMBERS)).tolist() == [4, 2, 3]
