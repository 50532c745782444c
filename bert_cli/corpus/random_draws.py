"""The draws of random.Random with fewer layers of calls, and permutations too large to be held in
memory.

The functions take the bound method `rng.getrandbits`. Their results, and the state that they leave,
are equal to `rng.randint`, `rng.shuffle` and so on in Python 3.11 to 3.13 (a test compares
them on the Python at hand).
"""

import random
from collections.abc import Callable, MutableSequence

import numpy as np

_ROUNDS = 6


def randbelow(getrandbits: Callable[[int], int], stop: int) -> int:
    """As rng.randint(0, stop - 1), for stop > 0."""
    bits = stop.bit_length()
    # Rejection, as random.Random does it: each draw that is too large is thrown away, and drawn
    # again.
    value = getrandbits(bits)
    while value >= stop:
        value = getrandbits(bits)
    return value


def shuffle(getrandbits: Callable[[int], int], items: MutableSequence) -> None:
    """As rng.shuffle(items)."""
    last = len(items) - 1
    while last > 0:
        bits = (last + 1).bit_length()
        first = (1 << bits - 1) - 1  # from here to `last`, draws take the same number of bits
        for index in range(last, first - 1, -1):
            other = getrandbits(bits)
            while other > index:
                other = getrandbits(bits)
            items[index], items[other] = items[other], items[index]
        last = first - 1


def permuted(start: int, stop: int, size: int, seed: str) -> np.ndarray:
    """Entries start…stop of a random permutation of range(size), int64 [stop - start], made without
    the others.

    `seed` chooses the permutation. A Feistel network shuffles the numbers of an even number of
    bits, and is applied again to what falls outside of range(size), which leaves a permutation of
    the rest.
    """
    # An even number of bits, as the two halves change places; at most four times the range.
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    low = np.uint64((1 << int(half)) - 1)
    source = random.Random(seed)
    keys = [np.uint64(source.getrandbits(64)) for _ in range(_ROUNDS)]

    def network(values: np.ndarray) -> np.ndarray:
        left, right = values >> half, values & low
        for key in keys:
            left, right = right, left ^ (_scramble(right ^ key) & low)
        return (left << half) | right

    values = network(np.arange(start, stop, dtype=np.uint64))
    outside = np.flatnonzero(values >= size)
    while outside.size:
        values[outside] = network(values[outside])
        outside = outside[values[outside] >= size]
    return values.astype(np.int64)


def _scramble(values: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: every bit of the input changes half of the output's, uint64 ->
    uint64.
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
