"""Checks, fit and log lines for --calibrate and --abstain_error."""

import dataclasses
import os
from collections.abc import Sequence

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import CALIBRATION, THRESHOLDS
from bert_cli.metrics.calibration import CONFIDENCE, choose_abstention
from bert_cli.problem_types.calibration import Calibration
from bert_cli.problem_types.parts import LabelSet, Predictions
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.output_dir.owned_files import owned_names
from bert_cli.settings.classification import CalibrationFlags, ClassifySettings
from bert_cli.settings.groups import TUNED


def check_calibration(settings: ClassifySettings, model: AnyModel, problem_type: ProblemType) -> None:
    """Raise InputError if --calibrate or --abstain_error cannot be used in this run.

    Without training, calibration.json must go to the model's directory.

    Args:
        settings: the run's flags.
        model: the model to calibrate.
        problem_type: its problem type.
    """
    flags, phases = settings.calibration, settings.phases
    is_tuned = problem_type.decoder.has_thresholds and settings.inference.threshold == TUNED
    if not flags.calibrate:
        return
    if problem_type.decoder.calibration_refusal:
        raise InputError(f"--calibrate: {problem_type.decoder.calibration_refusal}; leave it out")
    if flags.abstain_error and is_tuned:
        raise InputError(
            f"--abstain_error and --threshold={TUNED} cannot be combined: the thresholds would be chosen by the rows that "
            "the error is measured on; give a fixed --threshold"
        )
    if phases.do_train:
        return
    folder = phases.output_dir
    folders = run_folders(model.required_checkpoint)
    if files.resolve(folder) not in map(files.resolve, folders):
        raise InputError(f"--calibrate: writes into the directory of the model; give --output_dir={folders[-1]}")
    path = os.path.join(folder, THRESHOLDS)
    if problem_type.decoder.has_thresholds and not is_tuned and files.exists(path):
        raise InputError(f"{path}: was tuned for other probabilities; add --threshold={TUNED}, or remove it")


def fit_calibration(
    problem_type: ProblemType,
    labels: LabelSet,
    flags: CalibrationFlags,
    label_ids: np.ndarray,
    predictions: Predictions,
) -> Calibration:
    """Return temperatures, and with --abstain_error an uncertainty limit, for raw predictions.

    Args:
        problem_type: the model's problem type.
        labels: the model's label names and thresholds.
        flags: flags with --abstain_error.
        label_ids: correct labels, see LabelReader.label_array.
        predictions: raw predictions for the same rows.
    """
    calibration = Calibration(problem_type.decoder.fit_temperatures(predictions["logits"], label_ids), len(label_ids))
    max_error = flags.max_error_rate
    if max_error is None:
        return calibration
    calibrated_predictions = problem_type.decoder.calibrate(predictions, label_ids, calibration)
    uncertainty = problem_type.decoder.uncertainty(calibrated_predictions, labels)
    abstention = choose_abstention(
        uncertainty, problem_type.metrics.is_wrong(label_ids, calibrated_predictions, labels), max_error
    )
    return dataclasses.replace(calibration, error=max_error, abstention=abstention)


def remove_calibration(folder: str) -> None:
    """Remove calibration.json, if a run wrote it, before training changes the weights."""
    if CALIBRATION in owned_names(folder):
        files.remove(os.path.join(folder, CALIBRATION))


def format_calibration(
    calibration: Calibration,
    temperature_names: Sequence[str],
    error_before: float,
    error_after: float,
) -> list[str]:
    """Return lines for the log about a calibration.

    Args:
        calibration: temperatures, and the uncertainty limit of --abstain_error.
        temperature_names: label per temperature, () if there is only one temperature.
        error_before: expected calibration error with raw predictions.
        error_after: expected calibration error with calibrated predictions.
    """
    named_temperatures = zip(
        [f" of {name}" for name in temperature_names] or [""], calibration.temperatures, strict=True
    )
    lines = [
        f"temperature{name} {value:.4g}, fitted on {calibration.rows:,} rows" for name, value in named_temperatures
    ]
    lines.append(f"expected calibration error {error_before:.4f} before the calibration, {error_after:.4f} after it")
    abstention = calibration.abstention
    if abstention is None:
        return lines
    promise = f"at most {calibration.error:.3g} wrong answers on fresh data, with {CONFIDENCE:.0%} confidence"
    if abstention.uncertainty:
        shares = f"{abstention.answered:.1%} of the rows are answered, the others left for people"
        return [*lines, f"{promise}: {shares} (uncertainty from {abstention.uncertainty:.4g} on)"]
    advice = "even the most certain predictions are wrong too often; allow more errors, or train a better model"
    if abstention.needed:
        advice = f"about {abstention.needed:,} rows would be needed"
    return [*lines, f"warning: all texts are left for people, as no part of the rows shows {promise}: {advice}"]
