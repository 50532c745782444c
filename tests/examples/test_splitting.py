"""Stratified splits and folds, on rows that can be counted by hand."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.splitting import assign_folds, sample_per_stratum, split_dev
from bert_cli.problem_types.registry import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from bert_cli.settings.data import HeldOut
from tests.snapshots import check_message, raises


def make_examples(*labels):
    return [ClassificationExample(str(n), "t", None, label) for n, label in enumerate(labels)]


def test_split_keeps_label_shares():
    rows = make_examples(*(["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"]))
    train, dev = split_dev(rows, HeldOut(0.1), 1, SINGLE_LABEL)
    assert {label: sum(row.label == label for row in dev) for label in "abcd"} == {"a": 6, "b": 3, "c": 1, "d": 0}
    assert sorted([*train, *dev], key=lambda row: int(row.guid)) == rows
    for subset in (train, dev):
        assert [int(row.guid) for row in subset] == sorted(int(row.guid) for row in subset)
    assert split_dev(rows, HeldOut(0.1), 1, SINGLE_LABEL) == (train, dev)
    assert split_dev(rows, HeldOut(0.1), 2, SINGLE_LABEL)[1] != dev


def test_split_with_numbers_and_with_several_labels():
    numbers = make_examples(*(str(n / 4) for n in range(40)))
    _, dev = split_dev(numbers, HeldOut(0.25), 1, REGRESSION)
    assert [int(4 * float(row.label)) // 20 for row in sorted(dev, key=lambda row: float(row.label))] == [0] * 5 + [
        1
    ] * 5
    several = make_examples(*([(1, 0)] * 20 + [(0, 0)] * 80))
    assert sum(row.label == (1, 0) for row in split_dev(several, HeldOut(0.1), 1, MULTI_LABEL)[1]) == 2


def test_split_keeps_each_label_in_training():
    train, dev = split_dev(make_examples("a", "a", "b", "b"), HeldOut(0.9), 0, SINGLE_LABEL)
    assert {row.label for row in train} == {"a", "b"}
    assert dev
    with raises(InputError, "--dev_split=0.01: "):
        split_dev(make_examples("a", "a", "b", "b"), HeldOut(0.01), 0, SINGLE_LABEL)


def test_split_by_number_of_rows():
    rows = make_examples(*(["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"]))
    _, dev = split_dev(rows, HeldOut(count=20), 1, SINGLE_LABEL)
    assert {label: sum(row.label == label for row in dev) for label in "abcd"} == {"a": 12, "b": 6, "c": 2, "d": 0}
    train, dev = split_dev(rows, HeldOut(count=7, is_first=True), 1, SINGLE_LABEL)
    assert (train, dev) == (rows[7:], rows[:7])
    with raises(InputError, "--dev_split=first:100: "):
        split_dev(rows, HeldOut(count=100, is_first=True), 1, SINGLE_LABEL)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_folds_have_equal_label_shares(count):
    labels = ["x"] * 11 + ["y"] * 7 + ["z"]
    folds = assign_folds(labels, count, 5)
    sizes = Counter(folds.tolist())
    assert sorted(sizes) == list(range(count))
    assert max(sizes.values()) - min(sizes.values()) <= 1
    for label in "xy":
        fold_counts = Counter(
            fold for fold, row_label in zip(folds.tolist(), labels, strict=True) if row_label == label
        )
        assert max(fold_counts.values()) - min(fold_counts[fold] for fold in range(count)) <= 1


def test_folds_depend_only_on_the_seed():
    labels = ["x", "y"] * 20
    assert (assign_folds(labels, 4, 1) == assign_folds(labels, 4, 1)).all()
    assert (assign_folds(labels, 4, 1) != assign_folds(labels, 4, 2)).any()


def test_numbers_are_sorted_by_value():
    """Neighbors among 9.0, 10.0, 11.0 and 100.0 are in different folds; as texts, the order would differ."""
    folds = assign_folds([100.0, 9.0, 11.0, 10.0], 2, 0)
    assert folds.tolist() == [1, 0, 0, 1]


def test_fewer_rows_than_folds():
    with raises(InputError, "--cross_validation=5: "):
        assign_folds(["x"] * 3, 5, 0)


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=5, max_size=40), st.integers(2, 5))
def test_sizes_differ_by_one_row_at_most(labels, count):
    folds = assign_folds(labels, count, seed=3)
    sizes = np.bincount(folds, minlength=count)
    assert len(folds) == len(labels)
    assert sizes.max() - sizes.min() <= 1
    for label in set(labels):
        label_counts = np.bincount(folds[[row_label == label for row_label in labels]], minlength=count)
        assert label_counts.max() - label_counts.min() <= 1
    np.testing.assert_array_equal(folds, assign_folds(labels, count, seed=3))


def test_split_with_several_labels_has_the_requested_size():
    """Most label combinations occur once, and each label occurs 40 to 60 times."""
    rng = np.random.default_rng(3)
    rows = make_examples(
        *(tuple(int(label in chosen) for label in range(30)) for chosen in map(tuple, three_labels(rng, 500)))
    )
    for held_out, size in ((HeldOut(0.1), 50), (HeldOut(count=50), 50), (HeldOut(count=77), 77), (HeldOut(0.5), 250)):
        train, dev = split_dev(rows, held_out, 1, MULTI_LABEL)
        assert (len(train), len(dev)) == (500 - size, size)
        counts = np.array([row.label for row in dev]).sum(axis=0)
        expected = np.array([row.label for row in rows]).sum(axis=0) * size / 500
        assert np.abs(counts - expected).mean() < 0.7
        assert np.abs(counts - expected).max() < 4
        assert split_dev(rows, held_out, 1, MULTI_LABEL) == (train, dev)


def three_labels(rng, count):
    return [rng.choice(30, 3, replace=False).tolist() for _ in range(count)]


def test_every_label_stays_in_training_with_several_labels():
    rows = make_examples((1, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 0), (0, 0, 0), (0, 0, 0))
    train, dev = split_dev(rows, HeldOut(0.5), 1, MULTI_LABEL)
    assert np.array([row.label for row in train]).any(axis=0).all()
    assert len(dev) == 3


def warnings_of(caplog, rows, held_out, problem_type, names):
    caplog.clear()
    split_dev(rows, held_out, 1, problem_type, names)
    return [record.getMessage() for record in caplog.records]


def test_split_of_another_size_has_a_warning(caplog):
    rows = make_examples(*(["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"]))
    assert warnings_of(caplog, rows, HeldOut(0.1), SINGLE_LABEL, "abc") == []
    check_message(warnings_of(caplog, rows, HeldOut(0.1), SINGLE_LABEL, "abcd"), "--dev_split=0.1: ")
    pairs = make_examples(*(name for name in "abcdefghijklmnopqrst" for _ in range(2)))
    check_message(
        warnings_of(caplog, pairs, HeldOut(count=30), SINGLE_LABEL, "abcdefghijklmnopqrst"), "--dev_split=30: "
    )
    # This file is sorted by label.
    check_message(warnings_of(caplog, rows, HeldOut(count=60, is_first=True), SINGLE_LABEL, "abcd"))
    several = make_examples(*([(1, 0)] * 20 + [(0, 1)]))
    check_message(warnings_of(caplog, several, HeldOut(0.2), MULTI_LABEL, ("x", "y")), "--dev_split=0.2: ")


def test_larger_samples_contain_the_smaller_ones():
    strata = ["a"] * 9 + ["b"] * 5 + ["c"] * 2
    samples = [set(sample_per_stratum(strata, count, seed=3)) for count in (1, 3, 6)]
    assert samples[0] < samples[1] < samples[2]
    assert [Counter(strata[row] for row in sample) for sample in samples] == [
        {"a": 1, "b": 1, "c": 1},
        {"a": 3, "b": 3, "c": 2},
        {"a": 6, "b": 5, "c": 2},
    ]
    assert samples[1] != set(sample_per_stratum(strata, 3, seed=4))
