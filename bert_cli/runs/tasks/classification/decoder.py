"""The labels, thresholds and calibration that a classifier's predictions are read with: --threshold,
thresholds.json, --calibrate and calibration.json.
"""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import THRESHOLDS
from bert_cli.features.choice import ChoiceFeatures
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.metrics import multi_label
from bert_cli.problem_types.calibration import Calibration, find_calibration, write_calibration
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import Found, LabelSet, ProblemType, Scores
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.tasks.classification.calibration import fit_calibration, format_calibration
from bert_cli.settings.classification import CalibrationFlags
from bert_cli.settings.groups import TUNED, Inference

Labelled = ClassificationFeatures | ChoiceFeatures


@dataclasses.dataclass(frozen=True)
class Answers:
    """What a model's predictions are read with.

    tunes: an evaluation finds the thresholds, see `fitted`. calibration: that predictions are
    calibrated with, None for none. calibrates: how an evaluation fits it, None where it does not.
    """

    problem_type: ProblemType
    labels: LabelSet
    tunes: bool = False
    calibration: Calibration | None = None
    calibrates: CalibrationFlags | None = None

    def infer(self, predictor: Predictor, features: Labelled, batch_size: int, title: str | None) -> dict[str, Any]:
        """Predictor.infer with calibrated probabilities."""
        return self.calibrated(predictor.infer(features, batch_size, title), features.label_ids)

    def calibrated(self, found: dict[str, Any], label_ids: np.ndarray) -> dict[str, Any]:
        """What a Predictor has found with calibrated probabilities and losses."""
        if not self.calibration:
            return found
        return self.problem_type.calibrated(found, label_ids, self.calibration)

    def with_calibration(self, calibration: Calibration | None) -> "Answers":
        abstention = calibration.abstention if calibration else None
        labels = self.labels._replace(abstain_from=abstention.uncertainty if abstention else None)
        return dataclasses.replace(self, labels=labels, calibration=calibration)

    def stored(self, folder: str) -> "Answers":
        """With the calibration that an evaluation has left in a folder, if any."""
        return self.with_calibration(find_calibration([folder], self.temperature_names))

    @property
    def temperature_names(self) -> Sequence[str]:
        return self.problem_type.temperature_names(self.labels.names)

    def fitted(self, label_ids: np.ndarray, found: dict[str, Any]) -> "Answers":
        """Fitted to the predictions of an evaluation, as they come from a Predictor: calibrated,
        then with the best thresholds, each where it is to be.
        """
        answers = self
        if self.calibrates:
            calibration = fit_calibration(self.problem_type, self.labels, self.calibrates, label_ids, found)
            answers = self.with_calibration(calibration)
        return answers.tuned(label_ids, answers.calibrated(found, label_ids))

    def tuned(self, label_ids: np.ndarray, found: Found) -> "Answers":
        """With the thresholds that are best on these predictions, where they are to be tuned."""
        if not self.tunes:
            return self
        thresholds = multi_label.tune_thresholds(label_ids, found["probabilities"])
        return dataclasses.replace(self, labels=self.labels._replace(thresholds=thresholds))

    def write(self, folder: str) -> None:
        """Write thresholds.json and calibration.json, as far as they were fitted."""
        if self.tunes and self.labels.thresholds is not None:
            multi_label.write_thresholds(os.path.join(folder, THRESHOLDS), self.labels.names, self.labels.thresholds)
        if self.calibrates and self.calibration:
            write_calibration(folder, self.calibration, self.temperature_names)

    def scores(self, label_ids: np.ndarray, before: Found, found: Found, batch_size: int) -> Scores:
        """The scores of predictions, `before` and after they were calibrated; see
        ProblemType.evaluate.
        """
        scores = self.problem_type.evaluate(label_ids, found, self.labels, batch_size)
        if not self.calibration:
            return scores
        uncalibrated, calibrated = map(np.float32, self._calibration_errors(label_ids, before, found))
        metrics = scores.metrics | {"eval_ece_uncalibrated": uncalibrated, "eval_ece": calibrated}
        lines = scores.lines + self.calibration_lines(label_ids, before, found)
        return scores._replace(metrics=metrics, lines=lines)

    def calibration_lines(self, label_ids: np.ndarray, before: Found, found: Found) -> list[str]:
        """What the calibration is worth, for the log; predictions `before` and after it."""
        assert self.calibration is not None, "there are predictions after it"
        errors = self._calibration_errors(label_ids, before, found)
        return format_calibration(self.calibration, self.temperature_names, *errors)

    def _calibration_errors(self, label_ids: np.ndarray, *of_each: Found) -> list[float]:
        return [self.problem_type.calibration_error(label_ids, found) for found in of_each]


def make_answers(
    problem_type: ProblemType, names: tuple[str, ...], settings: Inference, tunes: bool, folders: Sequence[str]
) -> Answers:
    """The labels `names` with the thresholds of --threshold, and no calibration.

    tunes: an evaluation comes first, which finds the thresholds of --threshold=tuned. Without one
    they are read from the first of `folders` that has a thresholds.json; InputError where none has,
    and for thresholds of another problem type.
    """
    if not problem_type.has_thresholds:
        if not settings.is_default_threshold:
            raise InputError(
                f"--threshold={settings.threshold}: applies to multi-label classification "
                f"(--problem_type={MULTI_LABEL.name}), here it is {problem_type.name}; leave it out"
            )
        return Answers(problem_type, LabelSet(names))
    is_tuned = settings.threshold == TUNED
    # A run that only predicts: an earlier evaluation has left the thresholds.
    if is_tuned and not tunes:
        return Answers(problem_type, LabelSet(names, _read_tuned(names, folders)))
    threshold = multi_label.DEFAULT_THRESHOLD if is_tuned else float(settings.threshold)
    return Answers(problem_type, LabelSet(names, np.full(len(names), threshold)), is_tuned)


def _read_tuned(names: tuple[str, ...], folders: Sequence[str]) -> np.ndarray:
    paths = [os.path.join(folder, THRESHOLDS) for folder in folders]
    path = next((path for path in paths if files.exists(path)), None)
    if path is None:
        raise InputError(
            f"--threshold={TUNED}: there is no "
            f"{THRESHOLDS}{f' in {folders[0]}' if folders else ''}; add --do_eval, which finds the "
            "thresholds"
        )
    return multi_label.read_thresholds(path, names)
