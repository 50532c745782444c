"""Splits that keep the rows of a group together, such as all texts of a patient or an author.

Each group goes to one subset, and labels are stratified as far as groups allow that. The method is a
greedy one like scikit-learn's StratifiedGroupKFold, followed by moves of single groups that lower the
squared deviations from the shares.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG

DEV = 1  # subset of the rows to evaluate on; 0 is training
STAY_TOGETHER = "rows of a group stay together"  # reason for another size of a split
_BINS = 10  # strata of numeric labels
_MAX_PASSES = 10  # over all groups, to move single ones


class GroupCount:
    """Number of rows in a group, and number by stratum."""

    def __init__(self) -> None:
        self.num_rows = 0
        self.strata: Counter[str] = Counter()

    def add(self, strata: Iterable[str]) -> None:
        """Count a row with its strata, of which several labels have several."""
        self.num_rows += 1
        self.strata.update(strata)


GroupCounts = dict[str, GroupCount]


def count_groups(groups: Sequence[str], strata: Sequence[Iterable[str]]) -> GroupCounts:
    """Return the counts of each group, in order of appearance.

    Args:
        groups: group per row.
        strata: strata per row.
    """
    counts: GroupCounts = {}
    for group, row_strata in zip(groups, strata, strict=True):
        counts.setdefault(group, GroupCount()).add(row_strata)
    return counts


def assign_groups(
    counts: GroupCounts, shares: Sequence[float], seed: int, keeps_labels: bool = False
) -> dict[str, int]:
    """Return the subset of each group, a number from 0.

    A subset is empty only if there are too few groups, or because `keeps_labels` emptied it.

    Args:
        counts: rows of each group.
        shares: share of the rows per subset; their sum is 1.
        seed: seed for the order of groups of equal importance.
        keeps_labels: whether subset 0 must have a row of every label.
    """
    names = list(counts)
    assignment = _Assignment(list(counts.values()), shares)
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    # Groups with a large part of a label have the fewest good places.
    order.sort(key=lambda group: -assignment.parts[group].max())
    for group in order:
        assignment.move(group, int(assignment.costs(group).argmin()))
    for _ in range(_MAX_PASSES):
        if sum(assignment.improve(group) for group in order) == 0:
            break
    for subset in range(len(shares)):
        assignment.fill(subset)
    if keeps_labels:
        assignment.keep_labels(order)
    return dict(zip(names, assignment.subsets, strict=True))


class _Assignment:
    """Subset per group, and each subset's part of every label.

    Attributes:
        subsets: subset per group, -1 before it has one.
        columns: per group, the numbers of its labels. Label 0 is any row.
        parts: per group, its part of all rows with these labels, float64.
    """

    def __init__(self, counts: Sequence[GroupCount], shares: Sequence[float]):
        """Start without any group in a subset; see `assign_groups` for the arguments."""
        totals: Counter[str] = Counter()
        for group in counts:
            totals.update(group.strata)
        numbers = {stratum: number for number, stratum in enumerate(totals, 1)}
        num_rows = sum(group.num_rows for group in counts)
        self.columns = [np.array([0, *map(numbers.__getitem__, group.strata)]) for group in counts]
        self.parts = [
            np.array([group.num_rows / num_rows, *(count / totals[name] for name, count in group.strata.items())])
            for group in counts
        ]
        self.subsets = [-1] * len(counts)
        self._shares = np.array(shares)
        self._sums = np.zeros((len(shares), len(totals) + 1))
        self._num_groups = [0] * len(shares)

    def costs(self, group: int) -> np.ndarray:
        """Return by how much each subset's squared deviations grow if it gets the group."""
        part = self.parts[group]
        missing = self._sums[:, self.columns[group]] - self._shares[:, np.newaxis]
        return (part * (2 * missing + part)).sum(axis=1)

    def move(self, group: int, subset: int) -> None:
        """Put the group into a subset."""
        before = self.subsets[group]
        if before >= 0:
            self._sums[before, self.columns[group]] -= self.parts[group]
            self._num_groups[before] -= 1
        self._sums[subset, self.columns[group]] += self.parts[group]
        self._num_groups[subset] += 1
        self.subsets[group] = subset

    def improve(self, group: int) -> bool:
        """Move the group if that lowers the deviations; return whether it did."""
        before = self.subsets[group]
        if self._num_groups[before] == 1:
            return False
        changes = self._changes(group)
        best = int(changes.argmin())
        # Sums of floats in another order differ: a smaller gain may be none.
        if changes[best] > -1e-9:
            return False
        self.move(group, best)
        return True

    def _changes(self, group: int) -> np.ndarray:
        """Return the change of all deviations for moving the group to each subset."""
        before, part = self.subsets[group], self.parts[group]
        missing = self._sums[before, self.columns[group]] - self._shares[before]
        changes = self.costs(group) + (part * (part - 2 * missing)).sum()
        changes[before] = 0.0
        return changes

    def fill(self, subset: int) -> None:
        """Move the best group into a subset that has a share and no group."""
        movable = [group for group, other in enumerate(self.subsets) if self._num_groups[other] > 1]
        if not self._shares[subset] or self._num_groups[subset] or not movable:
            return
        self.move(min(movable, key=lambda group: self._changes(group)[subset]), subset)

    def keep_labels(self, order: Sequence[int]) -> None:
        """Move groups to subset 0 until it has each label."""
        present = set(
            itertools.chain(*(self.columns[group] for group, subset in enumerate(self.subsets) if not subset))
        )
        for group in sorted(order, key=lambda group: self.parts[group][0]):
            if not present.issuperset(self.columns[group]):
                self.move(group, 0)
                present.update(self.columns[group])


def split_groups(
    flag: str, counts: GroupCounts, shares: Mapping[str, float], seed: int, keeps_labels: bool = False
) -> dict[str, int]:
    """Return the subset of each group, a number from 0, and log the groups and rows of each subset.

    Args:
        flag: flag with its value, for example "--dev_split=0.2".
        counts: rows of each group.
        shares: share of the rows by subset name; their sum is 1.
        seed, keeps_labels: see `assign_groups`.

    Raises:
        InputError: there are fewer groups than subsets.
    """
    if len(counts) < len(shares):
        groups = "one group" if len(counts) == 1 else f"{len(counts)} groups"
        raise InputError(f"{flag}: --group_column has {groups}, and {len(shares)} are needed; check --group_column")
    subsets = assign_groups(counts, list(shares.values()), seed, keeps_labels)
    members: list[list[int]] = [[] for _ in shares]
    for group, subset in subsets.items():
        members[subset].append(counts[group].num_rows)
    shown = [f"{name} {len(rows)} ({sum(rows):,} rows)" for name, rows in zip(shares, members, strict=True)]
    LOG.info("%s: %d groups, each in one part: %s", flag, len(counts), ", ".join(shown))
    return subsets
