"""Rows held out of the training data: a share of each label, the same for the same seed."""

import collections
import types

import pytest
from bert_cli.examples.dev_split import split_dev

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import REGRESSION


def rows(labels) -> list:
    return [types.SimpleNamespace(label=label, number=number) for number, label in enumerate(labels)]


def test_a_share_of_each_label_in_file_order():
    examples = rows("a" * 60 + "b" * 30 + "c" * 10)
    train, dev = split_dev(examples, 0.2, seed=1)
    assert collections.Counter(example.label for example in dev) == {"a": 12, "b": 6, "c": 2}
    for part in (train, dev):
        assert [example.number for example in part] == sorted(example.number for example in part)
    assert sorted(example.number for example in train + dev) == list(range(100))
    assert split_dev(examples, 0.2, seed=1) == (train, dev)
    assert split_dev(examples, 0.2, seed=2) != (train, dev)


def test_each_label_has_a_row_to_train_on():
    train, dev = split_dev(rows("aabbc"), 0.9, seed=1)
    assert {example.label for example in train} == {"a", "b", "c"}
    assert {example.label for example in dev} <= {"a", "b"}


def test_numbers_are_taken_over_their_range():
    _, dev = split_dev(rows([float(number) for number in range(100)]), 0.1, seed=1, problem_type=REGRESSION)
    assert [int(example.label) // 10 for example in dev] == list(range(10))


def test_nothing_to_evaluate_on():
    with pytest.raises(InputError, match=r"--dev_split=0\.1: leaves no row of 3"):
        split_dev(rows("abc"), 0.1, seed=1)
