"""Random draws, compared with random.Random and its state, and permutations."""

import collections
import random

import numpy as np
import pytest

from bert_cli.corpus.random_draws import permute_range, randbelow, shuffle

# Sizes next to powers of two, at which the number of drawn bits changes.
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 127, 128, 129, 1000]


@pytest.mark.parametrize("size", SIZES)
def test_shuffle_equals_random_shuffle(size):
    ours, theirs = random.Random(size), random.Random(size)
    shuffled, expected = list(range(size)), list(range(size))
    shuffle(ours.getrandbits, shuffled)
    theirs.shuffle(expected)
    assert shuffled == expected
    assert ours.getstate() == theirs.getstate()


@pytest.mark.parametrize("stop", [*SIZES[1:], 30522, 119547, 2**32 - 1, 2**32, 2**32 + 1])
def test_randbelow_equals_randint(stop):
    ours, theirs = random.Random(stop), random.Random(stop)
    assert [randbelow(ours.getrandbits, stop) for _ in range(50)] == [theirs.randint(0, stop - 1) for _ in range(50)]
    assert ours.getstate() == theirs.getstate()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 64, 65, 1000, 4097])
def test_permutation_has_each_number_once(size):
    permutation = permute_range(0, size, size, "seed")
    assert permutation.dtype == np.int64
    assert sorted(permutation.tolist()) == list(range(size))


def test_ranges_of_a_permutation_fit_together():
    permutation = permute_range(0, 1000, 1000, "seed").tolist()
    assert permute_range(0, 300, 1000, "seed").tolist() + permute_range(300, 1000, 1000, "seed").tolist() == permutation
    assert permute_range(500, 500, 1000, "seed").tolist() == []


def test_seeds_give_different_permutations():
    assert permute_range(0, 100, 100, "a").tolist() != permute_range(0, 100, 100, "b").tolist()


def test_permutations_of_three_are_equally_likely():
    counts = collections.Counter(tuple(permute_range(0, 3, 3, str(seed)).tolist()) for seed in range(3000))
    assert len(counts) == 6
    assert all(400 < count < 600 for count in counts.values())  # 500 expected, standard deviation 20


def test_permutation_is_uncorrelated_with_position():
    """The correlation between positions and values is as small as by chance."""
    size = 20_000
    assert abs(np.corrcoef(np.arange(size), permute_range(0, size, size, "x"))[0, 1]) < 4 / size**0.5
