"""What --cross_validation needs of bert-classify: the rows of a part, and the files of all rows; see task.DividedTask."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.base.head_types import MULTI_LABEL, REGRESSION
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.outputs import folds as files_of_folds
from bert_cli.outputs.classification import Column, Probabilities
from bert_cli.runs.tasks.classification.results import Answers, SeveralLabels
from bert_cli.runs.tasks.classification.split import Split

LOG = logging.getLogger("bert_cli")


def _texts(split: Split) -> tuple[list[ClassificationExample], ClassificationFeatures]:
    examples = [example for example in split.examples if isinstance(example, ClassificationExample)]
    assert isinstance(split.features, ClassificationFeatures), "a choice is refused before it is read"
    return examples, split.features


def strata(split: Split, problem_type: str) -> list[object]:
    """The label of each row, or its number."""
    labels = [example.label for example in split.examples]
    return [float(str(label)) for label in labels] if problem_type == REGRESSION else list(labels)


def divided(split: Split, held_out: np.ndarray) -> dict[str, Split]:
    """The rows of a split but those held out, bool [n], as "train", and these as "dev"."""
    (examples, features), splits = _texts(split), {}
    for name, is_in in (("train", ~held_out), ("dev", held_out)):
        rows = np.flatnonzero(is_in)
        splits[name] = Split([examples[row] for row in rows], features.take(rows))
        LOG.info("%s: %d of %d rows", name, len(rows), len(held_out))
    return splits


def write_folds(
    paths: tuple[str, str],
    split: Split,
    problem_type: str,
    names: tuple[str, ...],
    folds: np.ndarray,
    parts: Sequence[tuple[Answers, dict[str, Any]]],
) -> int:
    """Write out_of_fold.tsv and suspects.tsv, the `paths`; returns how many lines the second has.

    folds: int64 [n], the place in `parts` of the part that each row was held out of: its answers, and what its model found.
    names: the labels.
    """
    examples, features = _texts(split)
    texts, ids = [(example.text_a, example.text_b) for example in examples], features.guids
    found: dict[str, Column]
    numbers = _joined("values" if problem_type == REGRESSION else "probabilities", folds, [each for _, each in parts])
    if problem_type == REGRESSION:
        found = {"predicted": numbers.astype(np.float32)}
        given = [str(value) for value in features.label_ids]
        count = files_of_folds.write_suspects_of_values(paths[1], ids, features.label_ids, numbers, texts)
    elif problem_type == MULTI_LABEL:
        # The mean over the folds, which differ where each tunes its own.
        thresholds = np.mean([answers.thresholds for answers, _ in parts if isinstance(answers, SeveralLabels)], axis=0)
        has = features.label_ids > 0
        given = [_several(names, row) for row in has]
        over = [_several(names, row) for row in numbers >= thresholds]
        found = {"predicted": over, "probabilities": Probabilities(names, numbers)}
        count = files_of_folds.write_suspects_of_pairs(paths[1], ids, has, numbers, thresholds, names, texts)
    else:
        given = [names[label] for label in features.label_ids]
        best = [names[column] for column in numbers.argmax(axis=1)]
        found = {"predicted": best, "probabilities": Probabilities(names, numbers)}
        count = files_of_folds.write_suspects_of_labels(paths[1], ids, features.label_ids, numbers, names, texts)
    files_of_folds.write_folds(paths[0], ids, folds, given, found, texts)
    return count


def _several(names: Sequence[str], has: np.ndarray) -> str:
    return ",".join(name for name, each in zip(names, has, strict=True) if each)


def _joined(name: str, folds: np.ndarray, parts: Sequence[dict[str, Any]]) -> np.ndarray:
    """What the part of each row found of it: float32 [n, …]."""
    joined = np.empty((len(folds), *parts[0][name].shape[1:]), np.float32)
    for fold, found in enumerate(parts):
        joined[folds == fold] = found[name]
    return joined
