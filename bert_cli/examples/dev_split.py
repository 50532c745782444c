"""Rows held out of the training data to evaluate on, where there is no file for that."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import REGRESSION, SINGLE_LABEL


class Labelled(Protocol):
    """An example of any kind of problem."""

    @property
    def label(self) -> object: ...


Example = TypeVar("Example", bound=Labelled)


def split_dev(
    examples: Sequence[Example], share: float, seed: int, problem_type: str = SINGLE_LABEL
) -> tuple[list[Example], list[Example]]:
    """(those to train on, those to evaluate on), each in file order: `share` of the rows, of each label alike.

    Every k-th row is taken of the rows sorted by label (by value, for a regression) and shuffled within one. A label with one
    row stays in training, and of each other one row at least does. InputError where nothing is left to evaluate on.
    """
    is_number = problem_type == REGRESSION
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    order.sort(key=lambda number: float(str(examples[number].label)) if is_number else str(examples[number].label))
    if not is_number:
        counts = Counter(example.label for example in examples)
        order = [number for number in order if counts[examples[number].label] > 1]
    chosen = {number for place, number in enumerate(order) if int((place + 1) * share + 0.5) > int(place * share + 0.5)}
    kept = {example.label for number, example in enumerate(examples) if number not in chosen}
    for number in order:
        if examples[number].label not in kept and not is_number:
            chosen.discard(number)
            kept.add(examples[number].label)
    if not chosen:
        raise InputError(f"--dev_split={share}: leaves no row of {len(examples)} to evaluate on; give a larger share")
    train = [example for number, example in enumerate(examples) if number not in chosen]
    return train, [examples[number] for number in sorted(chosen)]
