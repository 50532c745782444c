"""Stratified splitting: rows held out for evaluation, and the folds of a cross-validation.

Both shuffle the rows, sort them by label and take rows at even distances, so each part has its
share of every label.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_some
from bert_cli.examples.choice import ChoiceExample
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.stratification import hold_out
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.settings.data import HeldOut

Example = TypeVar("Example", bound=ClassificationExample | ChoiceExample)


def _sorted_rows(strata: Sequence[str | float], seed: int) -> list[int]:
    """The rows sorted by stratum, shuffled within each: the sort is stable, so shuffling comes
    first.
    """
    order = np.random.default_rng(seed).permutation(len(strata)).tolist()
    order.sort(key=lambda row: strata[row])
    return order


def split_dev(
    examples: Sequence[Example], held_out: HeldOut, seed: int, problem_type: ProblemType, names: Sequence[str] = ()
) -> tuple[list[Example], list[Example]]:
    """(training examples, evaluation examples), each in file order.

    The first rows are held out, or every k-th of the sorted ones. Of these a label with one row
    stays in training, and of each other label one row at least does; numbers have no such rule.
    Rows with several labels are held out by `stratification.hold_out`. InputError if nothing is
    left to train or to evaluate on.

    names: the labels; the log warns if one is missing in one of both parts.
    """
    if held_out.count >= len(examples):
        raise InputError(f"--dev_split={held_out}: leaves no row of {len(examples)} to train on; give a smaller count")
    labels: list[Any] = [example.label for example in examples]
    asked = held_out.count or int(held_out.share * len(examples) + 0.5)
    if held_out.is_first:
        chosen = set(range(asked))
    elif problem_type.has_thresholds:
        chosen = set(hold_out([np.flatnonzero(label).tolist() for label in labels], asked, seed))
    else:
        strata = [problem_type.stratum(label) for label in labels]
        chosen = _held_out_rows(strata, held_out, seed, problem_type.is_numeric)
    if not chosen:
        is_single = not problem_type.is_numeric and len(set(map(str, labels))) == len(labels)
        advice = "every label has one row, which stays in training; give --dev_file" if is_single else ""
        raise InputError(
            f"--dev_split={held_out}: leaves no row of {len(examples)} to evaluate on; "
            f"{advice or 'give a larger fraction'}"
        )
    # In file order again: the order of training comes from its own seed.
    train = [example for row, example in enumerate(examples) if row not in chosen]
    dev = [examples[row] for row in sorted(chosen)]
    flag = f"--dev_split={held_out}"
    warn_of_size(flag, "the dev split", asked, len(dev))
    for part, rows in (("the dev split", dev), ("training", train)) if names else ():
        present = set(labels_of(rows, problem_type, names))
        warn_of_absent(flag, part, [name for name in names if name not in present], len(names))
    return train, dev


def _held_out_rows(strata: Sequence[str | float], held_out: HeldOut, seed: int, is_numeric: bool) -> set[int]:
    """Return the rows to hold out if each row has a single stratum."""
    order = _sorted_rows(strata, seed)
    # Nearly every number occurs once, so the rules of rare labels would keep all of them.
    if not is_numeric:
        counts = Counter(strata)
        order = [row for row in order if counts[strata[row]] > 1]
    share = held_out.share or held_out.count / max(1, len(order))
    # Rounded positions, not every k-th row from a start: any share gives the nearest number of
    # rows.
    chosen = {row for place, row in enumerate(order) if int((place + 1) * share + 0.5) > int(place * share + 0.5)}
    if not is_numeric:
        # A label whose rows were all chosen would never be trained; its first row goes back.
        kept = {stratum for row, stratum in enumerate(strata) if row not in chosen}
        for row in order:
            if strata[row] not in kept:
                chosen.discard(row)
                kept.add(strata[row])
    return chosen


def labels_of(examples: Sequence[Example], problem_type: ProblemType, names: Sequence[str]) -> Iterator[str]:
    """Yield the names of the labels of each row, `names` in the order of the output columns."""
    for example in examples:
        label: Any = example.label
        yield from itertools.compress(names, label) if problem_type.has_thresholds else (str(label),)


def warn_of_size(flag: str, part: str, asked: int, size: int) -> None:
    """Log a warning if a part has another size than its flag asks for.

    One row in ten may be missing, as every label's share is rounded.
    """
    if abs(size - asked) > max(1, asked // 10):
        LOG.warning(
            "%s: warning: %s has %d rows instead of %d, as rows of rare labels stay in training",
            flag,
            part,
            size,
            asked,
        )


def warn_of_absent(flag: str, part: str, absent: Sequence[str], num_labels: int) -> None:
    """Log a warning about the labels that have no row in one part of the data."""
    if absent:
        LOG.warning(
            "%s: warning: %s has no row of %d of %d labels: %s", flag, part, len(absent), num_labels, list_some(absent)
        )


def stratified_folds(strata: Sequence[str | float], count: int, seed: int) -> np.ndarray:
    """The fold of each row, 0 to count - 1, int64 [n]. strata: of each row, see
    ProblemType.stratum.

    The sorted rows are dealt out in turn; so the folds differ by at most one row, and so do the
    rows of any label in them. InputError for fewer rows than folds.
    """
    if len(strata) < count:
        raise InputError(
            f"--cross_validation={count}: there are {len(strata)} rows to train on; give at most as many folds"
        )
    folds = np.empty(len(strata), np.int64)
    folds[_sorted_rows(strata, seed)] = np.arange(len(strata)) % count
    return folds
