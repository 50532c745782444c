"""What a cross-validation of bert-classify leaves: out-of-fold predictions, suspected label errors,
and a calibration.
"""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.base.log import LOG, RESULT
from bert_cli.outputs import folds as files_of_folds
from bert_cli.outputs.classification import Texts
from bert_cli.runs.tasks.classification.decoder import Answers
from bert_cli.settings.classification import CalibrationFlags


def write_folds(
    paths: tuple[str, str],
    answers: Answers,
    flags: CalibrationFlags,
    label_ids: np.ndarray,
    folds: np.ndarray,
    details: Sequence[Any],
    ids: Sequence[str],
    texts: Texts,
) -> int:
    """See DivisibleDataset.write_folds; with --calibrate also calibration.json, next to `paths`."""
    problem_type = answers.problem_type
    labels = answers.labels
    thresholds = [fitted.labels.thresholds for fitted, _ in details]
    if problem_type.has_thresholds:
        # The mean over the folds, which differ where each tunes its own.
        labels = labels._replace(thresholds=np.mean(thresholds, axis=0))
    joined = {
        name: _joined([found[name] for _, found in details], folds) for name in (problem_type.output_name, "logits")
    }
    if flags.calibrate:
        fitted = dataclasses.replace(answers, labels=labels, tunes=False, calibrates=flags).fitted(label_ids, joined)
        fitted.write(os.path.dirname(paths[0]))
        for line in fitted.calibration_lines(label_ids, joined, fitted.calibrated(joined, label_ids)):
            LOG.log(RESULT, line)
    columns = problem_type.out_of_fold(label_ids, joined, labels)
    suspects = problem_type.suspects(label_ids, joined, labels)
    files_of_folds.write_suspects(paths[1], ids, suspects, texts)
    files_of_folds.write_folds(paths[0], ids, folds, columns, texts)
    return len(suspects.rows)


def _joined(by_fold: Sequence[np.ndarray], folds: np.ndarray) -> np.ndarray:
    """The predictions of all rows, float32; folds: int64 [n], of each row the number of its fold."""
    joined = np.empty((len(folds), *by_fold[0].shape[1:]), np.float32)
    for fold, predictions in enumerate(by_fold):
        # Held-out rows keep their order within a fold, so a mask is enough to put them back.
        joined[folds == fold] = predictions
    return joined
