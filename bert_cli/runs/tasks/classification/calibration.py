"""--calibrate and --abstain_error: what they need, what they fit, and what the log says of it."""

import dataclasses
import os
from collections.abc import Sequence

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import CALIBRATION, THRESHOLDS
from bert_cli.metrics.calibration import CONFIDENCE, choose_abstention
from bert_cli.problem_types.calibration import Calibration
from bert_cli.problem_types.problem_type import Found, LabelSet, ProblemType
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.output_dir.owned_files import owned_names
from bert_cli.settings.classification import CalibrationFlags, ClassifySettings
from bert_cli.settings.groups import TUNED


def check_calibration(settings: ClassifySettings, model: AnyModel, problem_type: ProblemType) -> None:
    """InputError where --calibrate or --abstain_error makes no sense here, or calibration.json would
    not be stored with the model.
    """
    flags, phases = settings.calibration, settings.phases
    is_tuned = problem_type.has_thresholds and settings.inference.threshold == TUNED
    if not flags.calibrate:
        return
    if problem_type.calibration_refusal:
        raise InputError(f"--calibrate: {problem_type.calibration_refusal}; leave it out")
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
    if problem_type.has_thresholds and not is_tuned and files.exists(path):
        raise InputError(f"{path}: was tuned for other probabilities; add --threshold={TUNED}, or remove it")


def fit_calibration(
    problem_type: ProblemType, labels: LabelSet, flags: CalibrationFlags, label_ids: np.ndarray, found: Found
) -> Calibration:
    """Fitted to predictions `found` that are not calibrated."""
    calibration = Calibration(problem_type.fit_temperatures(found["logits"], label_ids), len(label_ids))
    error = flags.most_errors
    if error is None:
        return calibration
    made = problem_type.calibrated(found, label_ids, calibration)
    uncertainty = problem_type.uncertainty(made, labels)
    abstention = choose_abstention(uncertainty, problem_type.is_wrong(label_ids, made, labels), error)
    return dataclasses.replace(calibration, error=error, abstention=abstention)


def drop_calibration(folder: str) -> None:
    """Remove what a run of ours has fitted to weights that are now trained further."""
    if CALIBRATION in owned_names(folder):
        files.remove(os.path.join(folder, CALIBRATION))


def format_calibration(calibration: Calibration, names: Sequence[str], before: float, after: float) -> list[str]:
    """Lines for the log. names: of the temperatures, () for one; before, after: the expected
    calibration errors.
    """
    named = zip([f" of {name}" for name in names] or [""], calibration.temperatures, strict=True)
    lines = [f"temperature{name} {value:.4g}, fitted on {calibration.rows:,} rows" for name, value in named]
    lines.append(f"expected calibration error {before:.4f} before the calibration, {after:.4f} after it")
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
