"""Decoder with thresholds and temperatures that an evaluation fits, and calibration.json."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.names import CALIBRATION, THRESHOLDS
from bert_cli.metrics import multi_label
from bert_cli.metrics.bootstrap import Intervals, bootstrap
from bert_cli.metrics.custom import CustomMetric, check_metric_names
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.paths import run_folders
from bert_cli.predicting.decoder import Decoder, LabeledFeatures, make_decoder, require_thresholds
from bert_cli.problem_types.calibration import (
    CONFIDENCE,
    Calibration,
    choose_abstention,
    find_calibration,
    write_calibration,
)
from bert_cli.problem_types.columns import Column
from bert_cli.problem_types.exclusive import mean_cross_entropy
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import LabelSet, MetricValues, PredictionArrays, Scores
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks.classification.encoded_splits import ClassificationSplit
from bert_cli.settings.classification import CalibrationFlags, ClassifySettings
from bert_cli.settings.groups import TUNED, Inference

CROSS_ENTROPY = "eval_cross_entropy"  # metric of label distributions
CALIBRATION_ERRORS = ("eval_ece_uncalibrated", "eval_ece")


def check_calibration(settings: ClassifySettings, model: AnyModel, problem_type: ProblemType) -> None:
    """Raise InputError if a run with --calibrate cannot calibrate, or not with --abstain_error.

    Without training, calibration.json must go to the model's directory.

    Args:
        model: the model to calibrate.
    """
    flags = settings.calibration
    is_tuned = settings.inference.threshold == TUNED
    require(problem_type.calibrator, "--calibrate", "; leave it out")
    reason = "the thresholds would be chosen by the rows that the error is measured on; give a fixed --threshold"
    both = f"--abstain_error and --threshold={TUNED}"
    refuse_if(flags.abstain_error and is_tuned, f"{both} cannot be combined: {reason}")
    if settings.phases.do_train:
        return
    folder, folders = settings.phases.output_dir, run_folders(model.required_checkpoint)
    is_elsewhere = files.resolve(folder) not in map(files.resolve, folders)
    refuse_if(is_elsewhere, f"--calibrate: writes into the directory of the model; give --output_dir={folders[-1]}")
    path = os.path.join(folder, THRESHOLDS)
    is_outdated = not is_tuned and files.exists(path)
    refuse_if(is_outdated, f"{path}: was tuned for other probabilities; add --threshold={TUNED}, or remove it")


def fit_calibration(
    problem_type: ProblemType,
    labels: LabelSet,
    flags: CalibrationFlags,
    label_ids: np.ndarray,
    predictions: PredictionArrays,
) -> Calibration:
    """Return temperatures, and with --abstain_error an uncertainty limit, for raw predictions.

    Args:
        labels: the model's label names and thresholds.
        flags: flags with --abstain_error.
        label_ids: correct labels, see LabelReader.label_array.
        predictions: raw predictions for the same rows.
    """
    calibrator = require(problem_type.calibrator, "--calibrate")
    calibration = Calibration(calibrator.fit_temperatures(predictions["logits"], label_ids), len(label_ids))
    max_error = flags.max_error_rate
    if max_error is None:
        return calibration
    calibrated_predictions = calibrator.calibrate(predictions, label_ids, calibration)
    uncertainty = calibrator.decoder.uncertainty(calibrated_predictions, labels)
    abstention = choose_abstention(
        uncertainty, calibrator.metrics.is_wrong(label_ids, calibrated_predictions, labels), max_error
    )
    return dataclasses.replace(calibration, error=max_error, abstention=abstention)


def remove_calibration(directory: RunDirectory) -> None:
    """Remove calibration.json, if a run wrote it, before training changes the weights."""
    if CALIBRATION in directory.owned.names():
        files.remove(directory.file(CALIBRATION))


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


class ScoredTargets(NamedTuple):
    """Values of evaluated rows besides their labels.

    Attributes:
        weights: row weights, float32 [n], or None to count each row once.
        distributions: label distributions, float32 [n, L], or None.
    """

    weights: np.ndarray | None = None
    distributions: np.ndarray | None = None


NO_TARGETS = ScoredTargets()


def _weigh(predictions: PredictionArrays, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return the predictions for rows with a weight above 0, with these weights."""
    return {name: values[weights > 0] for name, values in {**predictions, "weights": weights}.items()}


@dataclasses.dataclass(frozen=True)
class FittingDecoder(Decoder):
    """Decoder with thresholds and temperatures that an evaluation chooses.

    Attributes:
        should_tune: whether an evaluation chooses the thresholds, see `fit`.
        calibration_flags: how an evaluation fits the calibration, None if it does not.
        custom_metrics: the user's metrics.
    """

    should_tune: bool = False
    calibration_flags: CalibrationFlags | None = None
    custom_metrics: tuple[CustomMetric, ...] = ()

    def member_columns(self, features: LabeledFeatures) -> Mapping[str, Column]:
        """Return columns with predictions of single models of an ensemble, {} for one model."""
        return {}

    def with_stored_calibration(self, directory: RunDirectory) -> "FittingDecoder":
        """Return a decoder with the calibration.json in a directory, if the directory has one."""
        return self.with_calibration(find_calibration([directory.path], self.temperature_names))

    def fit(self, label_ids: np.ndarray, predictions: PredictionArrays) -> "FittingDecoder":
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

    def with_tuned_thresholds(self, label_ids: np.ndarray, predictions: PredictionArrays) -> "FittingDecoder":
        """Return a decoder with the best thresholds for these predictions, if it should tune them."""
        if not self.should_tune:
            return self
        thresholds = self.problem_type.thresholds
        assert thresholds, "require_thresholds found them"
        values = thresholds.tune(label_ids, predictions, self.labels)
        return dataclasses.replace(self, labels=self.labels._replace(thresholds=values))

    def write(self, directory: RunDirectory) -> None:
        """Write thresholds.json and calibration.json, if they were fitted, to a directory."""
        if self.should_tune and self.labels.thresholds is not None:
            multi_label.write_thresholds(directory.file(THRESHOLDS), self.labels.names, self.labels.thresholds)
        if self.calibration_flags and self.calibration:
            write_calibration(directory.path, self.calibration, self.temperature_names)

    def score(
        self,
        label_ids: np.ndarray,
        raw_predictions: PredictionArrays,
        predictions: PredictionArrays,
        batch_size: int,
        targets: ScoredTargets = NO_TARGETS,
    ) -> Scores:
        """Return the scores of predictions, including calibration errors if they are calibrated.

        Args:
            label_ids: correct labels, see LabelReader.label_array.
            raw_predictions: predictions before the calibration.
            predictions: the same predictions after it.
            batch_size: --eval_batch_size, see Metrics.evaluate.
            targets: weights and distributions of the same rows.
        """
        weights, distributions = targets
        lines = []
        if weights is not None:
            raw_predictions, predictions = (_weigh(arrays, weights) for arrays in (raw_predictions, predictions))
            rows, weights = weights > 0, predictions["weights"]
            label_ids = label_ids[rows]
            distributions = None if distributions is None else distributions[rows]
            lines.append(f"the metrics weight {len(label_ids):,} rows, and the scores of each label count them")
        scores = self.problem_type.metrics.evaluate(label_ids, predictions, self.labels, batch_size)
        metrics, lines = scores.metrics, lines + scores.lines
        if self.custom_metrics:
            arrays = self.problem_type.columns.metric_arrays(label_ids, predictions, self.labels)
            metrics = metrics | {custom.name: custom.measure(arrays, weights) for custom in self.custom_metrics}
        if distributions is not None:
            logits = raw_predictions["logits"]
            logits = self.calibration.divide(logits) if self.calibration else logits
            metrics = {**metrics, CROSS_ENTROPY: np.float32(mean_cross_entropy(distributions, logits, weights))}
        if self.calibration:
            errors = map(np.float32, self._calibration_errors(label_ids, raw_predictions, predictions))
            metrics |= dict(zip(CALIBRATION_ERRORS, errors, strict=True))
            lines += self.format_calibration(label_ids, raw_predictions, predictions)
        return scores._replace(metrics=metrics, lines=lines)

    def format_calibration(
        self, label_ids: np.ndarray, raw_predictions: PredictionArrays, predictions: PredictionArrays
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

    def _calibration_errors(self, label_ids: np.ndarray, *prediction_sets: PredictionArrays) -> list[float]:
        metrics = require(self.problem_type.calibrator, "--calibrate").metrics
        return [metrics.calibration_error(label_ids, predictions) for predictions in prediction_sets]


def add_custom_metrics(
    decoder: FittingDecoder, metrics: tuple[CustomMetric, ...], label_ids: np.ndarray
) -> FittingDecoder:
    """Return a decoder that reports the user's metrics, too.

    Args:
        label_ids: labels to try them on, before any training; [] for no trial.

    Raises:
        InputError: if a metric fails, or has the name of another one.
    """
    problem_type, labels = decoder.problem_type, decoder.labels
    added_names = (CROSS_ENTROPY, *CALIBRATION_ERRORS, "eval_examples")
    check_metric_names(metrics, (*problem_type.metrics.names(labels), *added_names))
    if metrics and len(label_ids):
        # Multiple choice has one output for any number of choices.
        least = problem_type.reader.output_count(labels.names)
        outputs = label_ids.shape[1] if label_ids.ndim > 1 else max(least, int(label_ids.max()) + 1)
        constant = problem_type.metrics.constant_prediction(label_ids, len(label_ids), outputs)
        predictions = {problem_type.decoder.output_name: constant}
        arrays = problem_type.columns.metric_arrays(label_ids, predictions, labels)
        for metric in metrics:
            metric.measure(arrays)
    return dataclasses.replace(decoder, custom_metrics=metrics)


def make_fitting_decoder(
    problem_type: ProblemType,
    label_names: tuple[str, ...],
    flags: Inference,
    should_tune: bool,
    folders: Sequence[str],
    positive: str | None = None,
) -> FittingDecoder:
    """Return a decoder with the thresholds for --threshold, and without a calibration.

    Args:
        problem_type, label_names, flags, folders, positive: see predicting.decoder.make_decoder.
        should_tune: whether an evaluation of this run chooses the thresholds of --threshold=tuned.
            Otherwise they are read from thresholds.json.
    """
    should_tune = should_tune and flags.threshold == TUNED
    if should_tune:
        require_thresholds(problem_type, label_names, flags)
        flags = dataclasses.replace(flags, threshold=Inference.threshold)
    # A run that only predicts uses thresholds that an earlier evaluation has tuned.
    decoder = make_decoder(problem_type, label_names, flags, folders, positive)
    return FittingDecoder(**vars(decoder), should_tune=should_tune)


def bootstrap_metrics(
    decoder: FittingDecoder,
    label_ids: np.ndarray,
    predictions: PredictionArrays,
    weights: np.ndarray | None,
    samples: int,
    seed: int,
) -> Intervals:
    """Return confidence intervals for the metrics that rank evaluations, see bootstrap.

    Thresholds and calibration are the same in all samples.

    Args:
        decoder: the decoder of the predictions.
        label_ids: correct labels, see LabelReader.label_array.
        predictions: calibrated predictions for the same rows.
        weights: see ScoredTargets.
        samples: number of samples.
        seed: their seed.
    """
    metrics, labels = decoder.problem_type.metrics, decoder.labels
    if weights is not None:
        label_ids, predictions = label_ids[weights > 0], _weigh(predictions, weights)

    def measure(rows: np.ndarray) -> MetricValues:
        sample = {name: values[rows] for name, values in predictions.items()}
        values = metrics.measure(label_ids[rows], sample, labels, len(rows))
        if not decoder.custom_metrics:
            return values
        arrays = decoder.problem_type.columns.metric_arrays(label_ids[rows], sample, labels)
        measured = {
            metric.name: metric.measure_sample(arrays, sample.get("weights")) for metric in decoder.custom_metrics
        }
        return {**values, **{name: value for name, value in measured.items() if value is not None}}

    # `loss` would differ from eval_loss only in its batches.
    names = [name for name in metrics.names(labels) if name != "loss"]
    names += [metric.name for metric in decoder.custom_metrics]
    return bootstrap(measure, names, len(label_ids), samples, seed)


def bootstrap_splits(
    decoder: FittingDecoder,
    splits: Mapping[str, tuple[ClassificationSplit, PredictionArrays]],
    weights: Mapping[str, np.ndarray | None],
    samples: int,
    seed: int,
) -> Intervals:
    """Return confidence intervals for the metrics of all dev splits.

    Args:
        decoder: the decoder of the predictions.
        splits: rows and calibrated predictions by split name.
        weights: weights of the rows by split name, see ScoredTargets.
        samples: value of --bootstrap; 0 for no intervals.
        seed: value of --random_seed.
    """
    intervals = Intervals()
    for name, (split, predictions) in splits.items() if samples else ():
        measured = bootstrap_metrics(decoder, split.features.label_ids, predictions, weights[name], samples, seed)
        intervals.update({f"{metric}{name.removeprefix('dev')}": interval for metric, interval in measured.items()})
    return intervals
