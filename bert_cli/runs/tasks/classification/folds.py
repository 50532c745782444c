"""What --cross_validation needs of bert-classify: the rows of a part, and the files of all rows; see task.DividedTask."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.outputs import folds as files_of_folds
from bert_cli.runs.tasks.classification.results import Answers
from bert_cli.runs.tasks.classification.split import Split

LOG = logging.getLogger("bert_cli")


def _texts(split: Split) -> tuple[list[ClassificationExample], ClassificationFeatures]:
    examples = [example for example in split.examples if isinstance(example, ClassificationExample)]
    assert isinstance(split.features, ClassificationFeatures), "a choice is refused before it is read"
    return examples, split.features


def divided(split: Split, held_out: np.ndarray) -> dict[str, Split]:
    """The rows of a split but those held out, bool [n], as "train", and these as "dev"."""
    (examples, features), splits = _texts(split), {}
    for name, is_in in (("train", ~held_out), ("dev", held_out)):
        rows = np.flatnonzero(is_in)
        splits[name] = Split([examples[row] for row in rows], features.take(rows))
        LOG.info("%s: %d of %d rows", name, len(rows), len(held_out))
    return splits


def write_folds(
    paths: tuple[str, str], split: Split, folds: np.ndarray, parts: Sequence[tuple[Answers, dict[str, Any]]]
) -> int:
    """Write out_of_fold.tsv and suspects.tsv, the `paths`; returns how many lines the second has.

    folds: int64 [n], the index in `parts` of the part that each row was held out of: its answers, and the predictions of its
    model.
    """
    examples, features = _texts(split)
    texts, ids, label_ids = [(each.text_a, each.text_b) for each in examples], features.guids, features.label_ids
    problem_type, labels = parts[0][0].problem_type, parts[0][0].labels
    tuned = [answers.labels.thresholds for answers, _ in parts if answers.labels.thresholds is not None]
    if tuned:
        # The mean over the folds, which differ where each tunes its own.
        labels = labels._replace(thresholds=np.mean(tuned, axis=0))
    name = problem_type.output_name
    found = {name: _joined(folds, [predictions[name] for _, predictions in parts])}
    given, columns = problem_type.out_of_fold(label_ids, found, labels)
    suspects = problem_type.suspects(label_ids, found, labels)
    files_of_folds.write_suspects(paths[1], ids, suspects, texts)
    files_of_folds.write_folds(paths[0], ids, folds, given, columns, texts)
    return len(suspects.rows)


def _joined(folds: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
    """The prediction for each row by the model of its part: float32 [n, …]."""
    joined = np.empty((len(folds), *parts[0].shape[1:]), np.float32)
    for fold, predictions in enumerate(parts):
        joined[folds == fold] = predictions
    return joined
