"""Iterative stratification: parts of rows with several labels, each with its share of every label.

Source: Sechidis, Tsoumakas and Vlahavas, "On the Stratification of Multi-Label Data", ECML PKDD 2011.
"""

import random
from collections.abc import Sequence

import numpy as np

LabelRows = Sequence[Sequence[int]]  # of each row the numbers of its labels


def iterative_stratification(rows: LabelRows, shares: Sequence[float], seed: int) -> list[int]:
    """Return the part of each row, from 0.

    The rarest label that is left comes first. Each of its rows goes to the part that still needs
    most rows of this label; of equal parts, to a part that needs most rows, which is drawn if there are several.
    Rows without a label come last.

    Args:
        rows: label numbers of each row.
        shares: share of each part; their sum is 1.
        seed: seed of the order of equal rows and of random parts.
    """
    rng = random.Random(seed)
    order = rng.sample(range(len(rows)), len(rows))
    rows_of: dict[int, list[int]] = {}
    for row in order:
        for label in rows[row]:
            rows_of.setdefault(label, []).append(row)
    left = {label: len(labeled) for label, labeled in sorted(rows_of.items())}
    needed = [share * len(rows) for share in shares]
    needed_of = {label: [share * count for share in shares] for label, count in left.items()}
    parts = [-1] * len(rows)

    def put(row: int, needs: list[float]) -> None:
        most = max(needs)
        equal = [part for part, need in enumerate(needs) if need == most]
        most = max(needed[part] for part in equal)
        equal = [part for part in equal if needed[part] == most]
        part = equal[0] if len(equal) == 1 else rng.choice(equal)
        parts[row] = part
        needed[part] -= 1
        for label in rows[row]:
            needed_of[label][part] -= 1
            left[label] -= 1

    while any(left.values()):
        fewest = min(count for count in left.values() if count)
        rarest = [label for label, count in left.items() if count == fewest]
        label = rarest[0] if len(rarest) == 1 else rng.choice(rarest)
        for row in rows_of[label]:
            if parts[row] < 0:
                put(row, needed_of[label])
    for row in order:
        if parts[row] < 0:
            put(row, needed)
    return parts


def hold_out(rows: LabelRows, num_held_out: int, seed: int) -> list[int]:
    """Return the rows to hold out: as many as asked for, with their share of every label.

    Rows are moved after `iterative_stratification`, whose parts have about their share: at least one
    row of every label stays in training, and the number of rows becomes exact if it can be.
    """
    share = num_held_out / len(rows)
    is_held_out = np.array(iterative_stratification(rows, (1 - share, share), seed)) == 1
    # Each label of each row, as two columns: a table of all labels would be large.
    row_of = np.repeat(np.arange(len(rows)), [len(labels) for labels in rows])
    label_of = np.array([label for labels in rows for label in labels], np.int64)
    counts = np.bincount(label_of)
    for label in range(len(counts)):
        of_label = row_of[label_of == label]
        if len(of_label) and is_held_out[of_label].all():
            is_held_out[of_label[0]] = False
    while (missing := num_held_out - int(is_held_out.sum())) != 0:
        trained = np.bincount(label_of[~is_held_out[row_of]], minlength=len(counts))
        # The number of rows with its labels that training has above its share, summed over the labels.
        surplus = np.bincount(row_of, (trained - (1 - share) * counts)[label_of], len(rows))
        if missing > 0:
            movable = ~is_held_out
            movable[row_of[trained[label_of] < 2]] = False
        else:
            movable = is_held_out.copy()
            surplus = -surplus
        if not movable.any():
            break
        is_held_out[np.where(movable, surplus, -np.inf).argmax()] = missing > 0
    return np.flatnonzero(is_held_out).tolist()
