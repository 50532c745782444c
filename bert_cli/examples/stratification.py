"""Iterative stratification: splits of multi-label rows that have the same share of every label.

Source: Sechidis, Tsoumakas and Vlahavas, "On the Stratification of Multi-Label Data", ECML PKDD
2011.
"""

import random
from collections.abc import Sequence

import numpy as np

LabelNumbers = Sequence[Sequence[int]]  # label numbers per row


def iterative_stratification(rows: LabelNumbers, shares: Sequence[float], seed: int) -> list[int]:
    """Return a 0-based subset number per row.

    The algorithm repeatedly assigns the rows with the rarest remaining label. A row is assigned to
    the subset that needs the most rows with this label. Ties are decided by the number of rows that
    a subset needs, then at random. Rows without labels are assigned last.

    Args:
        shares: share per subset; their sum is 1.
        seed: seed used for the order of rows and for ties.
    """
    rng = random.Random(seed)
    order = rng.sample(range(len(rows)), len(rows))
    label_rows: dict[int, list[int]] = {}
    for row in order:
        for label in rows[row]:
            label_rows.setdefault(label, []).append(row)
    num_remaining = {label: len(labeled) for label, labeled in sorted(label_rows.items())}
    needed = [share * len(rows) for share in shares]
    label_needed = {label: [share * count for share in shares] for label, count in num_remaining.items()}
    subsets = [-1] * len(rows)

    def assign(row: int, needs: list[float]) -> None:
        most = max(needs)
        tied = [subset for subset, need in enumerate(needs) if need == most]
        most = max(needed[subset] for subset in tied)
        tied = [subset for subset in tied if needed[subset] == most]
        subset = tied[0] if len(tied) == 1 else rng.choice(tied)
        subsets[row] = subset
        needed[subset] -= 1
        for label in rows[row]:
            label_needed[label][subset] -= 1
            num_remaining[label] -= 1

    while any(num_remaining.values()):
        fewest = min(count for count in num_remaining.values() if count)
        rarest = [label for label, count in num_remaining.items() if count == fewest]
        label = rarest[0] if len(rarest) == 1 else rng.choice(rarest)
        for row in label_rows[label]:
            if subsets[row] < 0:
                assign(row, label_needed[label])
    for row in order:
        if subsets[row] < 0:
            assign(row, needed)
    return subsets


def hold_out(rows: LabelNumbers, num_held_out: int, seed: int) -> list[int]:
    """Return the row numbers to hold out, with their share of every label.

    `iterative_stratification` gives subsets of approximately the requested size. Then rows are
    moved, so that at least one row per label stays in training and the size is exact if possible.

    Args:
        num_held_out: number of rows to hold out.
        seed: seed for the stratification.
    """
    share = num_held_out / len(rows)
    is_held_out = np.array(iterative_stratification(rows, (1 - share, share), seed)) == 1
    # Store (row, label) pairs as two columns: a matrix of rows and labels would be large.
    pair_rows = np.repeat(np.arange(len(rows)), [len(labels) for labels in rows])
    pair_labels = np.array([label for labels in rows for label in labels], np.int64)
    counts = np.bincount(pair_labels)
    for label in range(len(counts)):
        labeled = pair_rows[pair_labels == label]
        if len(labeled) and is_held_out[labeled].all():
            is_held_out[labeled[0]] = False
    while (missing := num_held_out - int(is_held_out.sum())) != 0:
        trained = np.bincount(pair_labels[~is_held_out[pair_rows]], minlength=len(counts))
        # For each row, sum over its labels how many rows training has above its share.
        surplus = np.bincount(pair_rows, (trained - (1 - share) * counts)[pair_labels], len(rows))
        if missing > 0:
            is_movable = ~is_held_out
            is_movable[pair_rows[trained[pair_labels] < 2]] = False
        else:
            is_movable = is_held_out.copy()
            surplus = -surplus
        if not is_movable.any():
            break
        is_held_out[np.where(is_movable, surplus, -np.inf).argmax()] = missing > 0
    return np.flatnonzero(is_held_out).tolist()
