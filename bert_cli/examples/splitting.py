"""Stratified splitting: rows held out for evaluation, and the folds of a cross-validation.

Both shuffle the rows, sort them by label and take rows at even distances, so each part has its
share of every label.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.examples.choice import ChoiceExample
from bert_cli.examples.classification import ClassificationExample
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
    examples: Sequence[Example], held_out: HeldOut, seed: int, problem_type: ProblemType
) -> tuple[list[Example], list[Example]]:
    """(training examples, evaluation examples), each in file order.

    The first rows are held out, or every k-th of the sorted ones. Of these a label with one row
    stays in training, and of each other label one row at least does; numbers have no such rule.
    InputError where nothing is left to train or to evaluate on.
    """
    if held_out.count >= len(examples):
        raise InputError(f"--dev_split={held_out}: leaves no row of {len(examples)} to train on; give a smaller count")
    if held_out.is_first:
        return list(examples[held_out.count :]), list(examples[: held_out.count])
    strata = [problem_type.stratum(example.label) for example in examples]
    order = _sorted_rows(strata, seed)
    # Nearly every number occurs once, so the rules of rare labels would keep all of them.
    if not problem_type.is_numeric:
        counts = Counter(strata)
        order = [row for row in order if counts[strata[row]] > 1]
    share = held_out.share or held_out.count / max(1, len(order))
    # Rounded positions, not every k-th row from a start: any share gives the nearest number of
    # rows.
    chosen = {row for place, row in enumerate(order) if int((place + 1) * share + 0.5) > int(place * share + 0.5)}
    if not problem_type.is_numeric:
        # A label whose rows were all chosen would never be trained; its first row goes back.
        kept = {stratum for row, stratum in enumerate(strata) if row not in chosen}
        for row in order:
            if strata[row] not in kept:
                chosen.discard(row)
                kept.add(strata[row])
    if not chosen:
        raise InputError(
            f"--dev_split={held_out}: leaves no row of {len(examples)} to evaluate on; give a larger fraction"
        )
    # In file order again: the order of training comes from its own seed.
    train = [example for row, example in enumerate(examples) if row not in chosen]
    return train, [examples[row] for row in sorted(chosen)]


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
