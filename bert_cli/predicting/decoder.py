"""Decoder for a classifier's predictions, with --threshold, thresholds.json and calibration.json."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.names import THRESHOLDS
from bert_cli.features.ragged import Features
from bert_cli.inference.rows import Predictor
from bert_cli.problem_types.calibration import Calibration
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.optional_parts import Thresholds
from bert_cli.problem_types.parts import LabelSet, PredictionArrays
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.settings.groups import TUNED, Inference


class LabeledFeatures(Features, Protocol):
    """Features of rows, and their labels."""

    @property
    def label_ids(self) -> np.ndarray: ...


@dataclasses.dataclass(frozen=True)
class Decoder:
    """Settings that turn a model's raw predictions into labels or numbers.

    Attributes:
        problem_type: the model's problem type.
        labels: output names, their thresholds, and the uncertainty for --abstain_error.
        calibration: temperatures for the logits, or None.
    """

    problem_type: ProblemType
    labels: LabelSet
    calibration: Calibration | None = None

    def infer(
        self, predictor: Predictor, features: LabeledFeatures, batch_size: int, title: str | None
    ) -> PredictionArrays:
        """Return predictions, calibrated if there is a calibration; see Predictor.infer."""
        predictions, _ = self.infer_raw(predictor, features, batch_size, title)
        return self.calibrate(predictions, features.label_ids)

    def infer_raw(
        self, predictor: Predictor, features: LabeledFeatures, batch_size: int, title: str | None
    ) -> tuple[PredictionArrays, float]:
        """Return predictions without calibration, and rows per second; see Predictor.infer."""
        logits, examples_per_second = predictor.infer(features, batch_size, title)
        predictions = self.problem_type.decoder.postprocess(logits, features.label_ids)
        return {**predictions, "logits": logits}, examples_per_second

    def calibrate(self, predictions: PredictionArrays, label_ids: np.ndarray) -> PredictionArrays:
        """Return raw predictions with calibrated probabilities, and their losses for `label_ids`."""
        calibrator = self.problem_type.calibrator
        if not (self.calibration and calibrator):
            return predictions
        return calibrator.calibrate(predictions, label_ids, self.calibration)

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """Return a decoder with another calibration; None removes it."""
        abstention = calibration.abstention if calibration else None
        labels = self.labels._replace(abstain_from=abstention.uncertainty if abstention else None)
        return dataclasses.replace(self, labels=labels, calibration=calibration)

    def with_positive_label(self, name: str | None) -> Self:
        """Return a decoder with the value of --positive_label.

        Args:
            name: a label, None for the default.

        Raises:
            InputError: if there are not two labels, or none has this name.
        """
        if name is None:
            return self
        flag, names = f"--positive_label={name}", self.labels.names
        if not self.problem_type.metrics.positive_label(self.labels):
            count = f"{len(names)} labels" if names else "no label names"
            raise InputError(
                f"{flag}: is for {SINGLE_LABEL.name} with two labels, here it is {self.problem_type.name} with {count}; "
                "leave it out"
            )
        if name not in names:
            raise InputError(f"{flag}: is not among the labels {list_names(names)}")
        return dataclasses.replace(self, labels=self.labels._replace(positive=name))

    @property
    def temperature_names(self) -> Sequence[str]:
        """Return the labels that have separate temperatures; () if all logits share one."""
        calibrator = self.problem_type.calibrator
        return calibrator.temperature_names(self.labels.names) if calibrator else ()


def make_decoder(
    problem_type: ProblemType,
    label_names: tuple[str, ...],
    flags: Inference,
    folders: Sequence[str],
    positive: str | None = None,
) -> Decoder:
    """Return a decoder with the thresholds for --threshold, and without a calibration.

    Args:
        label_names: the model's output names.
        flags: the group with --threshold.
        folders: directories to search for thresholds.json; the first one that has it wins.
        positive: value of --positive_label.

    Raises:
        InputError: no directory has thresholds.json, or the labels have no thresholds.
    """
    labels = LabelSet(label_names, problem_type.default_thresholds(label_names))
    decoder = Decoder(problem_type, labels).with_positive_label(positive)
    if flags.is_default_threshold:
        return decoder
    thresholds = require_thresholds(problem_type, label_names, flags)
    if flags.threshold == TUNED:
        values = thresholds.read(_find_tuned_thresholds(folders), label_names)
    else:
        values = thresholds.fill(float(flags.threshold), decoder.labels)
    return dataclasses.replace(decoder, labels=decoder.labels._replace(thresholds=values))


def require_thresholds(problem_type: ProblemType, label_names: tuple[str, ...], flags: Inference) -> Thresholds:
    """Return the thresholds for labels; raise InputError if --threshold does not apply.

    Args:
        problem_type, label_names, flags: see make_decoder.
    """
    thresholds = problem_type.find_thresholds(label_names)
    if thresholds is None:
        count = f" with {len(label_names)} labels" if label_names else ""
        raise InputError(
            f"--threshold={flags.threshold}: applies to two labels, and to multi-label classification "
            f"(--problem_type={MULTI_LABEL.name}), here it is {problem_type.name}{count}; leave it out"
        )
    return thresholds


def find_thresholds(folders: Sequence[str]) -> str | None:
    """Return the path to the first thresholds.json in directories, or None."""
    paths = [os.path.join(folder, THRESHOLDS) for folder in folders]
    return next((path for path in paths if files.exists(path)), None)


def _find_tuned_thresholds(folders: Sequence[str]) -> str:
    path = find_thresholds(folders)
    if path is None:
        raise InputError(
            f"--threshold={TUNED}: there is no "
            f"{THRESHOLDS}{f' in {folders[0]}' if folders else ''}; add --do_eval, which finds the "
            "thresholds"
        )
    return path
