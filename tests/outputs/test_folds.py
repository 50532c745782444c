"""Folds and doubtful labels, on rows that can be checked by hand."""

from collections import Counter

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.features.folds import stratified_folds
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.outputs.classification import Probabilities
from bert_cli.outputs.folds import (
    disputed,
    disputed_pairs,
    write_folds,
    write_suspects_of_labels,
    write_suspects_of_pairs,
    write_suspects_of_values,
)

TEXTS = [("one", None), ("two", None), ("three", None), ("four", None)]
IDS = ("a", "b", "c", "d")


@pytest.mark.parametrize("count", [2, 3, 5])
def test_folds_have_their_share_of_each_label(count):
    labels = ["x"] * 11 + ["y"] * 7 + ["z"]
    folds = stratified_folds(labels, count, 5)
    sizes = Counter(folds.tolist())
    assert sorted(sizes) == list(range(count))
    assert max(sizes.values()) - min(sizes.values()) <= 1
    for label in "xy":
        own = Counter(fold for fold, each in zip(folds.tolist(), labels, strict=True) if each == label)
        assert max(own.values()) - min(own[fold] for fold in range(count)) <= 1


def test_folds_depend_on_the_seed_alone():
    labels = ["x", "y"] * 20
    assert (stratified_folds(labels, 4, 1) == stratified_folds(labels, 4, 1)).all()
    assert (stratified_folds(labels, 4, 1) != stratified_folds(labels, 4, 2)).any()


def test_numbers_are_dealt_out_by_their_value():
    """Of 9.0, 10.0, 11.0, 100.0 each pair of neighbours is divided; as texts the order would be another."""
    folds = stratified_folds([100.0, 9.0, 11.0, 10.0], 2, 0)
    assert folds.tolist() == [1, 0, 0, 1]


def test_fewer_rows_than_folds():
    with pytest.raises(
        InputError, match="--cross_validation=5: there are 3 rows to train on; give at most as many parts"
    ):
        stratified_folds(["x"] * 3, 5, 0)


def test_rows_of_ragged_features_are_taken():
    features = RaggedFeatures(
        np.arange(6, dtype=np.int32), np.array([0, 0, 1, 0, 1, 1], np.int8), np.array([0, 2, 3, 6])
    )
    taken = features.take(np.array([2, 0]))
    assert taken.token_ids.tolist() == [3, 4, 5, 0, 1]
    assert taken.segment_ids.tolist() == [0, 1, 1, 0, 0]
    assert taken.offsets.tolist() == [0, 3, 5]
    assert features.take(np.zeros(0, np.int64)).offsets.tolist() == [0]


PROBABILITIES = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875], [0.25, 0.75]], np.float32)


def test_disputed_labels_come_the_surest_first(tmp_path):
    given = np.array([1, 0, 0, 0])  # row 1 is undecided: of equal ones the first is predicted, which it has
    assert disputed(given, PROBABILITIES).tolist() == [2, 0, 3]
    path = tmp_path / "suspects.tsv"
    assert write_suspects_of_labels(str(path), IDS, given, PROBABILITIES, ("no", "yes"), TEXTS) == 3
    assert path.read_text().splitlines() == [
        "id\tgiven\tpredicted\tprobability\ttext",
        "c\tno\tyes\t0.125\tthree",
        "a\tyes\tno\t0.25\tone",
        "d\tno\tyes\t0.25\tfour",
    ]


def test_labels_that_do_not_exclude_each_other_are_disputed_one_by_one(tmp_path):
    has = np.array([[True, False], [True, True], [False, True], [True, True]])
    thresholds = np.array([0.5, 0.5])
    assert disputed_pairs(has, PROBABILITIES, thresholds) == [(3, 0)]
    path = tmp_path / "suspects.tsv"
    wrong = np.array([[False, False], [True, True], [False, False], [False, True]])
    assert write_suspects_of_pairs(str(path), IDS, wrong, PROBABILITIES, thresholds, ("p", "q"), TEXTS) == 2
    assert path.read_text().splitlines() == [
        "id\tlabel\tgiven\tpredicted\tprobability\ttext",
        "c\tq\tno\tyes\t0.125\tthree",
        "a\tp\tno\tyes\t0.25\tone",
    ]


def test_numbers_that_are_furthest_off_come_first(tmp_path):
    path = tmp_path / "suspects.tsv"
    given, values = np.array([1, 2, 3, 4], np.float32), np.array([1.5, 2, 5, 2.5], np.float32)
    assert write_suspects_of_values(str(path), IDS, given, values, TEXTS) == 4
    assert [line.split("\t")[0:4] for line in path.read_text().splitlines()] == [
        ["id", "given", "predicted", "difference"],
        ["c", "3.0", "5.0", "2.0"],
        ["d", "4.0", "2.5", "-1.5"],
        ["a", "1.0", "1.5", "0.5"],
        ["b", "2.0", "2.0", "0.0"],
    ]


def test_out_of_fold_has_every_row(tmp_path):
    path = tmp_path / "out_of_fold.tsv"
    found = {"predicted": ["no", "no", "yes", "yes"], "probabilities": Probabilities(("no", "yes"), PROBABILITIES)}
    write_folds(str(path), IDS, np.array([0, 1, 1, 0]), ["no"] * 4, found, [*TEXTS[:3], ("four", "five")])
    assert path.read_text().splitlines()[:2] == [
        "id\tfold\tgiven\tpredicted\tprob_no\tprob_yes\ttext\ttext_b",
        "a\t1\tno\tno\t0.75\t0.25\tone\t",
    ]
