"""Rows in batches: training order, and groups with similar lengths."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.features.row_batches import (
    balance_lengths,
    epoch_order,
    equal_length_groups,
    iterate_chunks,
    length_groups,
    similar_length_groups,
    steps_and_batch,
    training_rows,
)
from tests.snapshots import check_message, raises


def take(count: int, *arguments) -> list[list[int]]:
    return [rows.tolist() for rows in itertools.islice(training_rows(*arguments), count)]


@pytest.mark.parametrize(
    ("examples", "batch_size", "epochs", "steps"),
    [(8551, 32, 3.0, 801), (100, 32, 1.0, 3), (96, 32, 1.0, 3), (10, 4, 0.5, 1), (3, 32, 11.0, 1), (7, 1, 2.5, 17)],
)
def test_number_of_steps_equals_the_originals(examples, batch_size, epochs, steps):
    assert steps_and_batch(examples, batch_size, epochs) == (steps, batch_size)


@pytest.mark.parametrize(("examples", "epochs", "batch"), [(31, 1.0, 31), (14, 2.0, 28), (3, 10.0, 30), (7, 0.5, 3)])
def test_incomplete_batch_is_one_smaller_step(examples, epochs, batch, caplog):
    assert steps_and_batch(examples, 32, epochs) == (1, batch)
    told = f"{examples} examples for {epochs:g} epochs are less than one batch of 32: training has one step of {batch}"
    assert told in caplog.text


@pytest.mark.parametrize(("examples", "epochs"), [(0, 3.0), (100, 0.0), (3, 0.1)])
def test_training_without_steps_is_refused(examples, epochs):
    with pytest.raises(InputError) as caught:
        steps_and_batch(examples, 32, epochs)
    message = str(caught.value)
    check_message(message, f"{examples} examples")
    assert "--num_train_epochs" in message
    assert "\n" not in message


def test_too_many_steps_are_refused():
    with raises(InputError, "--num_train_epochs=1e+30"):
        steps_and_batch(100, 1, 1e30)


@pytest.mark.parametrize(("examples", "batch_size"), [(12, 4), (10, 4), (7, 3), (1, 1), (5, 1), (3, 8), (1, 4), (4, 4)])
def test_epochs_have_each_row_once(examples, batch_size):
    """Batches larger than the data have rows from several epochs."""
    epochs = 12
    batches = take(-(-examples * epochs // batch_size), examples, batch_size, 3)
    assert {len(rows) for rows in batches} == {batch_size}
    seen = list(itertools.chain.from_iterable(batches))
    for epoch in range(epochs):
        assert sorted(seen[epoch * examples : (epoch + 1) * examples]) == list(range(examples))


def test_epochs_differ_and_shuffle_all_rows():
    first, second = (epoch_order(1000, 3, epoch) for epoch in (0, 1))
    for order in (first, second):
        assert sorted(order) == list(range(1000))
        moved = np.abs(order - np.arange(1000)).mean()
        assert moved == pytest.approx(1000 / 3, abs=40)  # the mean distance of two random positions
    assert (first == second).mean() < 0.02
    assert (first == epoch_order(1000, 4, 0)).mean() < 0.02


@pytest.mark.parametrize(("examples", "batch_size"), [(10, 4), (12, 4), (3, 8), (100, 7), (1, 1)])
def test_starting_at_a_step_equals_skipping(examples, batch_size):
    whole = take(20, examples, batch_size, 5)
    for start in (0, 1, 2, 3, 7, 19):
        assert take(20 - start, examples, batch_size, 5, start) == whole[start:]


def test_order_depends_only_on_the_seed():
    np.random.seed(1)
    first = take(9, 20, 6, 11)
    np.random.seed(2)
    assert take(9, 20, 6, 11) == first
    assert take(9, 20, 6, 12) != first


@pytest.mark.parametrize(("shares", "most"), [(2, 1.03), (4, 1.06), (8, 1.12)])
def test_shares_of_a_batch_have_similar_numbers_of_tokens(shares, most):
    """Training batches keep their rows, but order them so that equal shares have similar numbers of tokens."""
    lengths = np.random.default_rng(3).integers(3, 60, 500)
    drawn, balanced = (
        itertools.islice(training_rows(500, 32, 1, 0, row_lengths), 40) for row_lengths in (None, lengths)
    )
    heaviest = []
    for rows, dealt_rows in zip(drawn, balanced, strict=True):
        assert sorted(rows) == sorted(dealt_rows)
        heaviest.append([lengths[batch_rows].reshape(shares, -1).sum(1).max() for batch_rows in (rows, dealt_rows)])
    before, after = np.mean(heaviest, axis=0) / (32 / shares * lengths.mean())
    assert after < most < before


@pytest.mark.parametrize("count", [0, 1, 2, 3, 6, 7, 12])
def test_any_number_of_rows_can_be_balanced(count):
    lengths = np.arange(count)[::-1] ** 2
    order = balance_lengths(lengths)
    assert sorted(order) == list(range(count))
    if count == 6:  # from 25, 16, 9, 4, 1, 0, first come 25, 4 and 1, beginning with 25
        assert lengths[order].tolist() == [25, 4, 1, 16, 9, 0]


def test_late_start_is_fast():
    rows = next(training_rows(50, 32, 1, 10**9))
    assert len(rows) == 32
    assert rows.max() < 50


LENGTHS = {
    "mixed": np.array([5, 1, 9, 3, 3, 8, 2, 9, 4, 1]),
    "equal": np.full(11, 4),
    "one": np.array([7]),
    "none": np.array([], np.int64),
    "with an empty one": np.array([0, 3, 0]),
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("max_tokens", [1, 5, 9, 12, 20, 1000])
def test_groups_have_every_row_once_and_limit_tokens(name, max_tokens):
    lengths = LENGTHS[name]
    groups = length_groups(lengths, max_tokens)
    assert sorted(itertools.chain.from_iterable(groups)) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * lengths[group].max() <= max_tokens
    longest = [lengths[group].max() for group in groups]
    assert longest == sorted(longest, reverse=True)
    for before, after in itertools.pairwise(groups):
        assert lengths[before].min() >= lengths[after].max()
        assert (len(before) + 1) * max(
            1, lengths[before].max()
        ) > max_tokens  # the row did not fit into the previous group


def test_groups_by_hand():
    groups = length_groups(np.array([2, 9, 4, 4, 1]), 8)
    assert [group.tolist() for group in groups] == [[1], [2, 3], [0, 4]]


@given(st.lists(st.integers(1, 9), max_size=60), st.integers(1, 40))
def test_groups_with_equal_lengths_have_each_row_once(lengths, max_tokens):
    lengths = np.array(lengths, np.int64)
    groups = equal_length_groups(lengths, max_tokens)
    assert sorted(np.concatenate(groups).tolist() if groups else []) == list(range(len(lengths)))
    for rows in groups:
        assert len(rows)
        assert len(set(lengths[rows].tolist())) == 1
        assert len(rows) == 1 or lengths[rows].sum() <= max_tokens
    firsts = [lengths[rows[0]] for rows in groups]
    assert firsts == sorted(firsts, reverse=True)
    assert len(groups) <= sum(-(-int((lengths == n).sum()) // max(1, max_tokens // n)) for n in set(lengths.tolist()))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1000))
def test_groups_with_similar_lengths_have_each_row_once_and_limit_padding(lengths, max_tokens):
    lengths = np.array(lengths, np.int64)
    groups = similar_length_groups(lengths, max_tokens)
    assert sorted(row for group in groups for row in group.tolist()) == list(range(len(lengths)))
    for group in groups:
        longest, real = lengths[group[0]], lengths[group].sum()
        assert longest == lengths[group].max()
        assert longest * len(group) - real <= max(16, 0.3 * real)
        assert len(group) == 1 or len(group) * longest <= max_tokens


def test_large_groups_with_equal_lengths_are_not_padded():
    lengths = np.array([50] * 20 + [49] * 20 + [48] * 2 + [10] * 3)
    groups = [sorted(set(lengths[group].tolist())) for group in similar_length_groups(lengths, 10_000)]
    assert groups == [[50], [49], [48], [10]]
    assert [len(group) for group in similar_length_groups(np.array([50, 49, 48, 46, 10, 10, 10]), 10_000)] == [5, 2]


def test_chunks():
    assert list(iterate_chunks(iter("abcde"), 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(iterate_chunks(iter(""), 2)) == []
