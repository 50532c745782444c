"""Faster versions of random.Random's draws, and permutations that are too large for memory.

The functions take the bound method `rng.getrandbits`. Results and final state equal `rng.randint`,
`rng.shuffle` and so on in Python 3.11 to 3.13 (a test compares them on the installed Python).
"""

import random
from collections.abc import Callable, MutableSequence

import numpy as np

_ROUNDS = 6


def randbelow(getrandbits: Callable[[int], int], stop: int) -> int:
    """Return rng.randint(0, stop - 1), for stop > 0."""
    bits = stop.bit_length()
    # Reject draws that are too large and draw again, as random.Random does.
    value = getrandbits(bits)
    while value >= stop:
        value = getrandbits(bits)
    return value


def shuffle(getrandbits: Callable[[int], int], items: MutableSequence) -> None:
    """Shuffle the items in place like rng.shuffle(items)."""
    last = len(items) - 1
    while last > 0:
        bits = (last + 1).bit_length()
        first = (1 << bits - 1) - 1  # from here to `last`, draws use the same number of bits
        for index in range(last, first - 1, -1):
            swap_index = getrandbits(bits)
            while swap_index > index:
                swap_index = getrandbits(bits)
            items[index], items[swap_index] = items[swap_index], items[index]
        last = first - 1


def permute_range(start: int, stop: int, size: int, seed: str) -> np.ndarray:
    """Return entries start…stop of a random permutation of range(size), int64 [stop - start].

    The other entries are not computed. A Feistel network permutes all numbers with an even number
    of bits. Values outside of range(size) go through the network again, which leaves a permutation
    of range(size).

    Args:
        start: first entry.
        stop: last entry, exclusive.
        size: length of the permutation.
        seed: text that chooses the permutation.
    """
    # Use an even number of bits, because two halves are swapped. This is at most four times the
    # range.
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
    """Apply SplitMix64's finalizer, uint64 -> uint64: an input bit changes half the output bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
