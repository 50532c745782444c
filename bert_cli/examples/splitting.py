"""Stratified splits: rows held out for evaluation, and cross-validation folds.

Both shuffle the rows, sort them by label and select rows at even distances, so each split has its
share of every label.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_some
from bert_cli.base.log import LOG
from bert_cli.examples.choice import ChoiceExample
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.grouping import (
    DEV,
    STAY_TOGETHER,
    count_groups,
    split_groups,
)
from bert_cli.examples.stratification import hold_out
from bert_cli.problem_types.parts import Strata
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.settings.data import HeldOut

RARE_LABELS = "rows of rare labels stay in training"
Example = TypeVar("Example", bound=ClassificationExample | ChoiceExample)


def _sorted_rows(strata: Sequence[str | float], seed: int) -> list[int]:
    """Return row numbers sorted by stratum, in random order within a stratum."""
    # Shuffle before sorting: the sort is stable.
    order = np.random.default_rng(seed).permutation(len(strata)).tolist()
    order.sort(key=lambda row: strata[row])
    return order


def split_dev(
    examples: Sequence[Example],
    held_out: HeldOut,
    seed: int,
    problem_type: ProblemType,
    names: Sequence[str] = (),
) -> tuple[list[Example], list[Example]]:
    """Return training examples and evaluation examples, both in file order.

    Args:
        examples, held_out, seed, problem_type: see `select_dev_rows`.
        names: label names; the log warns if training or evaluation lacks a label.

    Raises:
        InputError: no example is left to train or evaluate on.
    """
    dev_rows = select_dev_rows(examples, held_out, seed, problem_type)
    # Restore file order: training shuffles with a separate seed.
    train = [example for row, example in enumerate(examples) if row not in dev_rows]
    dev = [examples[row] for row in sorted(dev_rows)]
    for subset, rows in (("the dev split", dev), ("training", train)) if names else ():
        present = set(iterate_labels(rows, problem_type, names))
        absent = [name for name in names if name not in present]
        warn_about_absent_labels(f"--dev_split={held_out}", subset, absent, len(names))
    return train, dev


def select_dev_rows(examples: Sequence[Example], held_out: HeldOut, seed: int, problem_type: ProblemType) -> set[int]:
    """Return the rows to hold out.

    They are the first rows, or rows at even distances after sorting by label. In the second case, at
    least one row per label stays in training. Numeric labels have no such rule, and
    `stratification.hold_out` selects rows with several labels. Rows of one group stay together, see
    `grouping`.

    Args:
        examples: all labeled examples.
        held_out: share or number of rows to hold out, or number of first rows.
        seed: seed used to shuffle the rows.

    Raises:
        InputError: no example is left to train or evaluate on.
    """
    if held_out.count >= len(examples):
        raise InputError(f"--dev_split={held_out}: leaves no row of {len(examples)} to train on; give a smaller count")
    labels: list[Any] = [example.label for example in examples]
    target_size = held_out.count or int(held_out.share * len(examples) + 0.5)
    flag, has_groups = f"--dev_split={held_out}", examples[0].group is not None
    are_names = label_strata(examples, problem_type).are_names
    if has_groups:
        dev_rows = _select_dev_groups(examples, held_out, target_size / len(examples), seed, problem_type)
    elif held_out.is_first:
        dev_rows = set(range(target_size))
    elif problem_type.reader.takes_sets:
        dev_rows = set(hold_out([np.flatnonzero(label).tolist() for label in labels], target_size, seed))
    else:
        keys = [problem_type.reader.stratum(label) for label in labels]
        dev_rows = select_by_stratum(keys, held_out, seed, are_names)
    if not dev_rows:
        is_single = not has_groups and are_names and len(set(map(str, labels))) == len(labels)
        advice = "every label has one row, which stays in training; give --dev_file" if is_single else ""
        advice = "every group has a label that no other one has; give --dev_file" if has_groups else advice
        raise InputError(
            f"{flag}: leaves no row of {len(examples)} to evaluate on; {advice or 'give a larger fraction'}"
        )
    reason = STAY_TOGETHER if has_groups else RARE_LABELS
    warn_about_size(flag, "the dev split", target_size, len(dev_rows), reason)
    return dev_rows


def select_by_stratum(strata: Sequence[str | float], held_out: HeldOut, seed: int, are_names: bool = True) -> set[int]:
    """Return the rows to hold out if each row has a single stratum.

    Args:
        strata: stratum per row.
        held_out: share or number of rows to hold out, which are not the first ones.
        seed: seed used to shuffle the rows.
        are_names: whether strata are names, which have to stay in training, not numbers.
    """
    order = _sorted_rows(strata, seed)
    # Apply the rule for rare labels only to names: nearly every number occurs once.
    if are_names:
        counts = Counter(strata)
        order = [row for row in order if counts[strata[row]] > 1]
    share = held_out.share or held_out.count / max(1, len(order))
    # Round positions instead of taking every k-th row, so any share gives the nearest count.
    dev_rows = {
        row for position, row in enumerate(order) if int((position + 1) * share + 0.5) > int(position * share + 0.5)
    }
    if are_names:
        # Return a label's first row to training if all its rows were selected.
        trained_strata = {stratum for row, stratum in enumerate(strata) if row not in dev_rows}
        for row in order:
            if strata[row] not in trained_strata:
                dev_rows.discard(row)
                trained_strata.add(strata[row])
    return dev_rows


def _select_dev_groups(
    examples: Sequence[Example], held_out: HeldOut, share: float, seed: int, problem_type: ProblemType
) -> set[int]:
    """Return the rows of the groups to hold out."""
    flag = f"--dev_split={held_out}"
    if held_out.is_first:
        raise InputError(f"{flag}: the first rows may be a part of a group of --group_column; give {held_out.count}")
    groups = [str(example.group) for example in examples]
    strata = label_strata(examples, problem_type)
    counts = count_groups(groups, strata.rows)
    shares = {"training": 1 - share, "dev": share}
    subsets = split_groups(flag, counts, shares, seed, keeps_labels=strata.are_names)
    return {row for row, group in enumerate(groups) if subsets[group] == DEV}


def label_strata(examples: Sequence[Example], problem_type: ProblemType) -> Strata:
    """Return the strata of rows."""
    return problem_type.reader.strata([example.label for example in examples])


def iterate_labels(
    examples: Sequence[Example],
    problem_type: ProblemType,
    names: Sequence[str],
) -> Iterator[str]:
    """Yield each example's label names.

    Args:
        examples: labeled examples.
        names: label names in output column order.
    """
    for example in examples:
        yield from problem_type.reader.row_names(example.label, names)


def warn_about_size(flag: str, subset: str, target_size: int, size: int, reason: str = RARE_LABELS) -> None:
    """Log a warning if a subset's size differs from the flag's size by more than a tenth.

    Each label's share is rounded, so small differences are normal.

    Args:
        flag: flag with its value, for example "--dev_split=0.2".
        subset: subset name, for example "the dev split".
        target_size: number of rows that the flag requests.
        size: number of rows.
        reason: reason for another size.
    """
    if abs(size - target_size) > max(1, target_size // 10):
        LOG.warning(
            "%s: warning: %s has %d rows instead of %d, as %s",
            flag,
            subset,
            size,
            target_size,
            reason,
        )


def warn_about_absent_labels(
    flag: str,
    subset: str,
    absent: Sequence[str],
    num_labels: int,
) -> None:
    """Log a warning if a subset lacks labels.

    Args:
        flag, subset: see `warn_about_size`.
        absent: labels without a row in the subset.
        num_labels: total number of labels.
    """
    if absent:
        LOG.warning(
            "%s: warning: %s has no row of %d of %d labels: %s",
            flag,
            subset,
            len(absent),
            num_labels,
            list_some(absent),
        )


def assign_folds(strata: Sequence[str | float], count: int, seed: int) -> np.ndarray:
    """Return a fold number per row, 0 to count - 1, as int64 [n].

    Rows are sorted by stratum and dealt out in turn. So fold sizes differ by at most one row, both
    in total and for any label.

    Args:
        strata: stratum per row, see LabelReader.stratum.
        count: number of folds.
        seed: seed used to shuffle the rows.

    Raises:
        InputError: there are fewer rows than folds.
    """
    if len(strata) < count:
        raise InputError(
            f"--cross_validation={count}: there are {len(strata)} rows to train on; give at most as many folds"
        )
    folds = np.empty(len(strata), np.int64)
    folds[_sorted_rows(strata, seed)] = np.arange(len(strata)) % count
    return folds


def sample_per_stratum(strata: Sequence[str | float], count: int, seed: int) -> list[int]:
    """Return random rows, at most `count` per stratum; a larger count adds rows to the same ones.

    Args:
        strata: stratum per row.
        count: number of rows per stratum.
        seed: seed used to shuffle the rows.
    """
    drawn: Counter[str | float] = Counter()
    rows = []
    for row in _sorted_rows(strata, seed):
        drawn[strata[row]] += 1
        rows += [int(row)] if drawn[strata[row]] <= count else []
    return rows


def assign_group_folds(examples: Sequence[Example], problem_type: ProblemType, count: int, seed: int) -> np.ndarray:
    """Return a fold number per row, int64 [n], with the rows of a group in one fold.

    Args:
        examples: rows with groups.
        count: number of folds.
        seed: seed used to shuffle the groups.

    Raises:
        InputError: there are fewer groups than folds.
    """
    groups = [str(example.group) for example in examples]
    counts = count_groups(groups, label_strata(examples, problem_type).rows)
    shares = {f"fold {fold}": 1 / count for fold in range(1, count + 1)}
    subsets = split_groups(f"--cross_validation={count}", counts, shares, seed)
    return np.array([subsets[group] for group in groups], np.int64)
