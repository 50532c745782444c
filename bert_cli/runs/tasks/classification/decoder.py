"""Decoder for a classifier's predictions, with --threshold, thresholds.json and calibration.json."""

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
from bert_cli.problem_types.parts import LabelSet, Predictions, Scores
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.tasks.classification.calibration import fit_calibration, format_calibration
from bert_cli.settings.classification import CalibrationFlags
from bert_cli.settings.groups import TUNED, Inference

LabeledFeatures = ClassificationFeatures | ChoiceFeatures


@dataclasses.dataclass(frozen=True)
class Decoder:
    """Settings that turn a model's raw predictions into labels or numbers.

    Attributes:
        problem_type: the model's problem type.
        labels: output names, their thresholds, and the uncertainty for --abstain_error.
        should_tune: whether an evaluation chooses the thresholds, see `fit`.
        calibration: temperatures for the logits, or None.
        calibration_flags: how an evaluation fits the calibration, None if it does not.
    """

    problem_type: ProblemType
    labels: LabelSet
    should_tune: bool = False
    calibration: Calibration | None = None
    calibration_flags: CalibrationFlags | None = None

    def infer(
        self, predictor: Predictor, features: LabeledFeatures, batch_size: int, title: str | None
    ) -> dict[str, Any]:
        """Return the predictions of Predictor.infer, calibrated if there is a calibration.

        Args:
            predictor: computes the network.
            features: rows to predict.
            batch_size: rows of full length per batch.
            title: title for the progress, None to show no progress.
        """
        return self.calibrate(predictor.infer(features, batch_size, title), features.label_ids)

    def calibrate(self, predictions: dict[str, Any], label_ids: np.ndarray) -> dict[str, Any]:
        """Return raw predictions with calibrated probabilities, and their losses for `label_ids`."""
        if not self.calibration:
            return predictions
        return self.problem_type.decoder.calibrate(predictions, label_ids, self.calibration)

    def with_calibration(self, calibration: Calibration | None) -> "Decoder":
        """Return a decoder with another calibration; None removes it."""
        abstention = calibration.abstention if calibration else None
        labels = self.labels._replace(abstain_from=abstention.uncertainty if abstention else None)
        return dataclasses.replace(self, labels=labels, calibration=calibration)

    def with_stored_calibration(self, folder: str) -> "Decoder":
        """Return a decoder with the calibration.json in a directory, if the directory has one."""
        return self.with_calibration(find_calibration([folder], self.temperature_names))

    @property
    def temperature_names(self) -> Sequence[str]:
        """Return the labels that have separate temperatures; () if all logits share one."""
        return self.problem_type.decoder.temperature_names(self.labels.names)

    def fit(self, label_ids: np.ndarray, predictions: dict[str, Any]) -> "Decoder":
        """Return a decoder that is fitted to an evaluation, as the flags ask for it.

        The calibration comes first, because thresholds depend on it.

        Args:
            label_ids: correct labels, see LabelReader.label_array.
            predictions: a Predictor's raw predictions for the same rows.
        """
        decoder = self
        if self.calibration_flags:
            calibration = fit_calibration(
                self.problem_type, self.labels, self.calibration_flags, label_ids, predictions
            )
            decoder = self.with_calibration(calibration)
        return decoder.with_tuned_thresholds(label_ids, decoder.calibrate(predictions, label_ids))

    def with_tuned_thresholds(self, label_ids: np.ndarray, predictions: Predictions) -> "Decoder":
        """Return a decoder with the best thresholds for these predictions, if it should tune them."""
        if not self.should_tune:
            return self
        thresholds = multi_label.tune_thresholds(label_ids, predictions["probabilities"])
        return dataclasses.replace(self, labels=self.labels._replace(thresholds=thresholds))

    def write(self, folder: str) -> None:
        """Write thresholds.json and calibration.json, if they were fitted, to a directory."""
        if self.should_tune and self.labels.thresholds is not None:
            multi_label.write_thresholds(os.path.join(folder, THRESHOLDS), self.labels.names, self.labels.thresholds)
        if self.calibration_flags and self.calibration:
            write_calibration(folder, self.calibration, self.temperature_names)

    def score(
        self, label_ids: np.ndarray, raw_predictions: Predictions, predictions: Predictions, batch_size: int
    ) -> Scores:
        """Return the scores of predictions, including calibration errors if they are calibrated.

        Args:
            label_ids: correct labels, see LabelReader.label_array.
            raw_predictions: predictions before the calibration.
            predictions: the same predictions after it.
            batch_size: --eval_batch_size, see Metrics.evaluate.
        """
        scores = self.problem_type.metrics.evaluate(label_ids, predictions, self.labels, batch_size)
        if not self.calibration:
            return scores
        uncalibrated, calibrated = map(np.float32, self._calibration_errors(label_ids, raw_predictions, predictions))
        metrics = scores.metrics | {"eval_ece_uncalibrated": uncalibrated, "eval_ece": calibrated}
        lines = scores.lines + self.format_calibration(label_ids, raw_predictions, predictions)
        return scores._replace(metrics=metrics, lines=lines)

    def format_calibration(
        self, label_ids: np.ndarray, raw_predictions: Predictions, predictions: Predictions
    ) -> list[str]:
        """Return lines for the log about the calibration and its effect.

        Args:
            label_ids: correct labels, see LabelReader.label_array.
            raw_predictions: predictions before the calibration.
            predictions: the same predictions after it.
        """
        assert self.calibration is not None, "there are predictions after it"
        errors = self._calibration_errors(label_ids, raw_predictions, predictions)
        return format_calibration(self.calibration, self.temperature_names, *errors)

    def _calibration_errors(self, label_ids: np.ndarray, *prediction_sets: Predictions) -> list[float]:
        return [self.problem_type.metrics.calibration_error(label_ids, predictions) for predictions in prediction_sets]


def make_decoder(
    problem_type: ProblemType,
    label_names: tuple[str, ...],
    flags: Inference,
    should_tune: bool,
    folders: Sequence[str],
) -> Decoder:
    """Return a decoder with the thresholds for --threshold, and without a calibration.

    Args:
        problem_type: the model's problem type.
        label_names: the model's output names.
        flags: the group with --threshold.
        should_tune: whether an evaluation of this run chooses the thresholds of --threshold=tuned.
            Otherwise they are read from thresholds.json.
        folders: directories to search for thresholds.json; the first one that has it wins.

    Raises:
        InputError: no directory has thresholds.json, or the problem type has no thresholds.
    """
    if not problem_type.decoder.has_thresholds:
        if not flags.is_default_threshold:
            raise InputError(
                f"--threshold={flags.threshold}: applies to multi-label classification "
                f"(--problem_type={MULTI_LABEL.name}), here it is {problem_type.name}; leave it out"
            )
        return Decoder(problem_type, LabelSet(label_names))
    is_tuned = flags.threshold == TUNED
    # A run that only predicts uses thresholds that an earlier evaluation has tuned.
    if is_tuned and not should_tune:
        return Decoder(problem_type, LabelSet(label_names, _read_tuned_thresholds(label_names, folders)))
    threshold = multi_label.DEFAULT_THRESHOLD if is_tuned else float(flags.threshold)
    return Decoder(problem_type, LabelSet(label_names, np.full(len(label_names), threshold)), is_tuned)


def _read_tuned_thresholds(label_names: tuple[str, ...], folders: Sequence[str]) -> np.ndarray:
    paths = [os.path.join(folder, THRESHOLDS) for folder in folders]
    path = next((path for path in paths if files.exists(path)), None)
    if path is None:
        raise InputError(
            f"--threshold={TUNED}: there is no "
            f"{THRESHOLDS}{f' in {folders[0]}' if folders else ''}; add --do_eval, which finds the "
            "thresholds"
        )
    return multi_label.read_thresholds(path, label_names)
