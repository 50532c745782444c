"""Results of --cross_validation: out-of-fold predictions, suspected label errors, a calibration."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.base.log import LOG, RESULT
from bert_cli.outputs import folds as fold_files
from bert_cli.outputs.classification import TextPairs
from bert_cli.runs.tasks.classification.decoder import Decoder
from bert_cli.settings.classification import CalibrationFlags


def write_folds(
    paths: tuple[str, str],
    decoder: Decoder,
    flags: CalibrationFlags,
    label_ids: np.ndarray,
    folds: np.ndarray,
    details: Sequence[Any],
    ids: Sequence[str],
    texts: TextPairs,
) -> int:
    """Write out-of-fold predictions, suspects, and with --calibrate calibration.json next to them.

    Return the number of suspected label errors.

    Args:
        paths: out_of_fold.tsv and suspects.tsv.
        decoder: problem type and labels.
        flags: flags with --calibrate.
        label_ids: labels in the data, see LabelReader.label_array.
        folds: index of the fold per row, int64 [n].
        details: decoder and predictions from the evaluation per fold.
        ids: row ids.
        texts: text or pair per row.
    """
    problem_type = decoder.problem_type
    labels = decoder.labels
    thresholds = [fold_decoder.labels.thresholds for fold_decoder, _ in details]
    if problem_type.decoder.has_thresholds:
        # Use the mean: each fold may have tuned separate thresholds.
        labels = labels._replace(thresholds=np.mean(thresholds, axis=0))
    out_of_fold = {
        name: _join_folds([predictions[name] for _, predictions in details], folds)
        for name in (problem_type.decoder.output_name, "logits")
    }
    if flags.calibrate:
        fitted_decoder = dataclasses.replace(decoder, labels=labels, should_tune=False, calibration_flags=flags).fit(
            label_ids, out_of_fold
        )
        fitted_decoder.write(os.path.dirname(paths[0]))
        for line in fitted_decoder.format_calibration(
            label_ids, out_of_fold, fitted_decoder.calibrate(out_of_fold, label_ids)
        ):
            LOG.log(RESULT, line)
    columns = problem_type.columns.out_of_fold(label_ids, out_of_fold, labels)
    suspects = problem_type.columns.suspects(label_ids, out_of_fold, labels)
    fold_files.write_suspects(paths[1], ids, suspects, texts)
    fold_files.write_folds(paths[0], ids, folds, columns, texts)
    return len(suspects.rows)


def _join_folds(predictions_by_fold: Sequence[np.ndarray], folds: np.ndarray) -> np.ndarray:
    """Return predictions for all rows, float32 [n, …], from those per fold."""
    joined = np.empty((len(folds), *predictions_by_fold[0].shape[1:]), np.float32)
    for fold, predictions in enumerate(predictions_by_fold):
        # Held-out rows keep their order within a fold, so a mask is enough to put them back.
        joined[folds == fold] = predictions
    return joined
