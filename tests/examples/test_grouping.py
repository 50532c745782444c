"""Groups of rows in splits: by hand, and compared with scikit-learn's StratifiedGroupKFold."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold

from bert_cli.base.errors import InputError
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.grouping import assign_groups, count_groups
from bert_cli.examples.splitting import assign_group_folds, split_dev
from bert_cli.problem_types.registry import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from bert_cli.settings.data import HeldOut
from tests.snapshots import check_message, raises


def make_examples(labels, groups):
    rows = enumerate(zip(labels, groups, strict=True))
    return [ClassificationExample(str(n), "t", None, label, group=group) for n, (label, group) in rows]


def groups_of(examples):
    return {example.group for example in examples}


def test_groups_that_divide_evenly(caplog):
    caplog.set_level("INFO")
    # Four groups with a and b, and four with c: each half has two of both.
    labels = "aab" * 4 + "cc" * 4
    groups = [f"m{n // 3}" for n in range(12)] + [f"n{n // 2}" for n in range(8)]
    folds = assign_group_folds(make_examples(labels, groups), SINGLE_LABEL, 2, 7)
    for fold in (0, 1):
        assert Counter(label for label, n in zip(labels, folds, strict=True) if n == fold) == {"a": 4, "b": 2, "c": 4}
    check_message(caplog.messages[-1], "8 groups, each in one part: fold 1 4 (10 rows), fold 2 4 (10 rows)")


@pytest.mark.parametrize("problem_type", [SINGLE_LABEL, MULTI_LABEL, REGRESSION], ids=lambda t: t.name)
def test_dev_split_keeps_groups_together(problem_type):
    rng = np.random.default_rng(3)
    groups = [f"g{n}" for n in rng.integers(20, size=200)]
    labels = {
        "single_label": rng.choice(["a", "b"], 200, p=[0.8, 0.2]).tolist(),
        "multi_label": list(map(tuple, rng.integers(2, size=(200, 3)).tolist())),
        "regression": list(map(str, rng.normal(size=200))),
    }[problem_type.name]
    rows = make_examples(labels, groups)
    train, dev = split_dev(rows, HeldOut(0.2), 1, problem_type)
    assert not groups_of(train) & groups_of(dev)
    assert sorted([*train, *dev], key=lambda row: int(row.guid)) == rows
    assert 36 <= len(dev) <= 44
    assert split_dev(rows, HeldOut(0.2), 1, problem_type) == (train, dev)
    assert groups_of(split_dev(rows, HeldOut(0.2), 2, problem_type)[1]) != groups_of(dev)


def test_a_label_in_one_group_stays_in_training():
    rows = make_examples("ab" * 10 + "c", [f"g{n // 2}" for n in range(20)] + ["only"])
    train, dev = split_dev(rows, HeldOut(0.5), 1, SINGLE_LABEL)
    assert "only" in groups_of(train)
    assert len(dev) == 10
    # Each group has a label that the other one lacks.
    with raises(InputError, "leaves no row of 4 to evaluate on"):
        split_dev(make_examples("aabb", "xxyy"), HeldOut(0.5), 1, SINGLE_LABEL)


def test_large_groups_give_the_nearest_size(caplog):
    rows = make_examples("ab" * 15, ["x"] * 10 + ["y"] * 10 + ["z"] * 10)
    _, dev = split_dev(rows, HeldOut(0.1), 1, SINGLE_LABEL)
    assert len(dev) == 10
    assert "the dev split has 10 rows instead of 3, as rows of a group stay together" in caplog.text


def test_too_few_groups():
    rows = make_examples("abab", "xxyy")
    with raises(InputError, "--group_column has 2 groups, and 3 are needed"):
        assign_group_folds(rows, SINGLE_LABEL, 3, 1)
    with raises(InputError, "--group_column has one group"):
        split_dev(make_examples("abab", "xxxx"), HeldOut(0.5), 1, SINGLE_LABEL)
    with raises(InputError, "--dev_split=first:2: "):
        split_dev(rows, HeldOut(count=2, is_first=True), 1, SINGLE_LABEL)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=3, max_size=60),
    st.integers(1, 4),
    st.integers(0, 5),
)
def test_each_fold_has_a_group(rows, count, seed):
    labels, groups = zip(*rows, strict=True)
    examples = make_examples(labels, map(str, groups))
    if len(set(groups)) < count:
        return
    folds = assign_group_folds(examples, SINGLE_LABEL, count, seed)
    assert set(folds.tolist()) == set(range(count))
    pairs = set(zip(groups, folds.tolist(), strict=True))
    assert len(pairs) == len(set(groups))


def deviation(labels, folds, count):
    """Return the mean squared deviation of each fold's part of every label and of all rows from 1 / count."""
    columns = np.column_stack([labels[:, np.newaxis] == np.unique(labels), np.ones(len(labels))])
    parts = np.array([columns[folds == fold].sum(axis=0) for fold in range(count)]) / columns.sum(axis=0)
    return float(((parts - 1 / count) ** 2).mean())


def test_folds_are_as_good_as_those_of_scikit_learn():
    ours, theirs = [], []
    for seed, (num_rows, num_groups, num_labels, count) in enumerate(
        [(200, 30, 2, 5), (1000, 60, 3, 5), (2000, 200, 5, 10), (500, 20, 2, 5)]
    ):
        rng = np.random.default_rng(seed)
        groups = rng.choice(num_groups, num_rows, p=rng.dirichlet(np.ones(num_groups)))
        shares = rng.dirichlet(np.ones(num_labels), num_groups)
        labels = np.array([rng.choice(num_labels, p=shares[group]) for group in groups])
        subsets = assign_groups(
            count_groups(list(map(str, groups)), [[str(label)] for label in labels]), [1 / count] * count, seed
        )
        folds = np.array([subsets[str(group)] for group in groups])
        ours.append(deviation(labels, folds, count))
        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        for fold, (_, rows) in enumerate(splitter.split(labels, labels, groups)):
            folds[rows] = fold
        theirs.append(deviation(labels, folds, count))
    assert (np.array(ours) <= np.array(theirs)).all()
    assert sum(ours) < 0.9 * sum(theirs)
