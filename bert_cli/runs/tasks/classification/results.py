"""Results of bert-classify: tables of predictions, --cross_validation, and baselines."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import PREDICTIONS_TABLE, TEST_RESULTS, TO_LABEL
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.glue import GlueTask
from bert_cli.metrics.classification import LOSSES, main_metrics
from bert_cli.metrics.doubts import DOUBTS
from bert_cli.outputs import folds as fold_files
from bert_cli.outputs.classification import (
    TextPairs,
    write_glue_submission,
    write_ranking,
    write_table,
    write_test_results,
)
from bert_cli.predicting.ensemble import mean_array
from bert_cli.problem_types.columns import Column, NumberColumn, TextColumn
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import PredictionArrays, Scores, measure_doubt
from bert_cli.reading.columns.roles import unique_names
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks.classification.decoder import FittingDecoder, ScoredTargets
from bert_cli.runs.tasks.classification.encoded_splits import ClassificationSplit
from bert_cli.settings.classification import DISAGREEMENT, CalibrationFlags, TextsToLabel
from bert_cli.settings.groups import Inference

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclasses.dataclass(frozen=True)
class PredictionTables:
    """Tables that --do_predict writes per test split.

    Attributes:
        inference: flags with the tables' format.
        glue_task: the task of --task_name, None for the user's files.
        is_calibrated: whether probabilities are calibrated, so that to_label.tsv ranks the texts by
            them.
        to_label: flags for another ranking.
    """

    inference: Inference
    glue_task: GlueTask | None
    is_calibrated: bool
    to_label: TextsToLabel

    @property
    def has_ranking(self) -> bool:
        return self.is_calibrated or self.to_label.to_label is not None

    def names(self, split: str) -> list[str]:
        """Return names for a test split's tables, including the submission if flags ask for one."""
        suffix = split.removeprefix("test")
        table = f"{PREDICTIONS_TABLE.removesuffix('.tsv')}{suffix}.{self.inference.output_format}"
        names = [f"{TEST_RESULTS.removesuffix('.tsv')}{suffix}.tsv", table]
        if self.has_ranking:
            names.append(f"{TO_LABEL.removesuffix('.tsv')}{suffix}.tsv")
        if self.inference.glue_submission and self.glue_task:
            names.append(f"{self.glue_task.submission_name(suffix)}.tsv")
        return names

    def write(
        self,
        paths: Sequence[str],
        split: ClassificationSplit,
        predictions: PredictionArrays,
        decoder: FittingDecoder,
    ) -> None:
        """Write the tables.

        Args:
            paths: path per table, in the order of `names`.
            split: the predicted rows.
            predictions: calibrated predictions for the rows.
            decoder: the decoder of the predictions.
        """
        problem_type, labels = decoder.problem_type, decoder.labels
        decisions = problem_type.decoder.decisions(predictions, labels)
        write_test_results(paths[0], predictions[problem_type.decoder.output_name])
        id_column, texts = TextColumn(split.ids), split.text_columns(decisions)
        predicted = problem_type.columns.prediction_columns(predictions, labels)
        columns = {"id": id_column, **predicted, **decoder.member_columns(split.features), **texts}
        write_table(paths[1], columns | _rename(split.kept_columns, columns), self.inference.output_format)
        LOG.info("wrote %s and %s: %d predictions", *paths[:2], len(split.ids))
        submission_paths = paths[2:]
        if self.has_ranking:
            write_ranking(paths[2], *self._ranking(predictions, decoder, id_column, texts))
            submission_paths = paths[3:]
        for path in submission_paths:
            write_glue_submission(path, split.ids, decisions)
            LOG.info("wrote %s", path)

    def _ranking(
        self, predictions: PredictionArrays, decoder: FittingDecoder, id_column: Column, texts: Mapping[str, Column]
    ) -> tuple[np.ndarray, dict[str, Column]]:
        """Return the row numbers of to_label.tsv in their order, and its columns for all rows."""
        problem_type, labels = decoder.problem_type, decoder.labels
        calibrator = require(problem_type.calibrator, f"--to_label={self.to_label.to_label}")
        uncertainty = calibrator.decoder.uncertainty(predictions, labels)
        predicted = next(iter(problem_type.columns.decision_columns(predictions, labels).values()))
        columns: dict[str, Column] = {"id": id_column, "predicted": predicted}
        columns["probability"] = NumberColumn((1.0 - uncertainty).astype(np.float32))
        rows = np.argsort(-uncertainty, kind="stable")
        if self.to_label.to_label == DISAGREEMENT:
            columns[DISAGREEMENT] = NumberColumn(predictions[DISAGREEMENT].astype(np.float32))
            rows = np.argsort(-predictions[DISAGREEMENT], kind="stable")
        elif name := self.to_label.to_label:
            values = measure_doubt(DOUBTS[name], predictions["probabilities"], labels.thresholds)
            columns[name] = NumberColumn(values.astype(np.float32))
            rows = DOUBTS[name].order(values)
        return rows[: self.to_label.to_label_rows or None], {**columns, **texts}


def _rename(kept: Mapping[str, Column], columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the kept columns with names that no column of the predictions has, and log new names."""
    taken = {*columns, *(header for name, column in columns.items() for header in column.headers(name))}
    names = unique_names(kept, taken)
    renamed = [f"{old} as {new}" for old, new in zip(kept, names, strict=True) if old != new]
    if renamed:
        LOG.info("columns of the file are written under other names: %s", ", ".join(renamed))
    return dict(zip(names, kept.values(), strict=True))


class FittedPredictions(NamedTuple):
    """Predictions of an evaluation, and the decoder that it has fitted to them."""

    decoder: FittingDecoder
    predictions: PredictionArrays


def write_out_of_fold(
    paths: tuple[str, str],
    decoder: FittingDecoder,
    flags: CalibrationFlags,
    label_ids: np.ndarray,
    assignments: Sequence[np.ndarray],
    details: Sequence[Sequence[FittedPredictions]],
    ids: Sequence[str],
    texts: TextPairs,
) -> int:
    """Write out-of-fold predictions, suspects, and with --calibrate calibration.json next to them.

    Several repeats are averaged. Return the number of suspected label errors.

    Args:
        paths: out_of_fold.tsv and suspects.tsv.
        decoder: problem type and labels.
        flags: flags with --calibrate.
        label_ids: labels in the data, see LabelReader.label_array.
        assignments: index of the fold per row, int64 [n], per repeat.
        details: decoder and predictions from the evaluation per repeat and fold.
        ids: row ids.
        texts: text or pair per row.
    """
    problem_type = decoder.problem_type
    labels = decoder.labels
    label_sets = [fold.decoder.labels for repeat in details for fold in repeat]
    thresholds = [fold_labels.thresholds for fold_labels in label_sets if fold_labels.thresholds is not None]
    if thresholds:
        # Use the mean: each fold may have tuned separate thresholds.
        labels = labels._replace(thresholds=np.mean(thresholds, axis=0))
    out_of_fold = {
        name: mean_array(
            [
                _join_folds([predictions[name] for _, predictions in repeat], folds)
                for repeat, folds in zip(details, assignments, strict=True)
            ]
        )
        for name in (problem_type.decoder.output_name, "logits")
    }
    if flags.calibrate:
        fitted_decoder = dataclasses.replace(decoder, labels=labels, should_tune=False, calibration_flags=flags).fit(
            label_ids, out_of_fold
        )
        fitted_decoder.write(RunDirectory(os.path.dirname(paths[0])))
        for line in fitted_decoder.format_calibration(
            label_ids, out_of_fold, fitted_decoder.calibrate(out_of_fold, label_ids)
        ):
            LOG.log(RESULT, line)
    fold_columns = require(problem_type.fold_columns, "--cross_validation")
    columns = fold_columns.out_of_fold(label_ids, out_of_fold, labels)
    suspects = fold_columns.suspects(label_ids, out_of_fold, labels)
    fold_files.write_suspects(paths[1], ids, suspects, texts)
    fold_files.write_folds(paths[0], ids, assignments, columns, texts)
    return len(suspects.rows)


def _join_folds(predictions_by_fold: Sequence[np.ndarray], folds: np.ndarray) -> np.ndarray:
    """Return predictions for all rows, float32 [n, …], from those per fold."""
    joined = np.empty((len(folds), *predictions_by_fold[0].shape[1:]), np.float32)
    for fold, predictions in enumerate(predictions_by_fold):
        # Held-out rows keep their order within a fold, so a mask is enough to put them back.
        joined[folds == fold] = predictions
    return joined


# With these limits, the linear model takes seconds at most: it uses a sample of training rows, and
# only the beginning of long texts.
_MAX_ROWS, _MAX_LABELED, _MAX_CHARACTERS = 10_000, 100_000, 4_000_000
_MAX_TEXT_LENGTH = 1_000  # characters
# A token is a word, a punctuation character, or one character in scripts without spaces.
_TOKEN = r"[\u3040-\u30ff\u3400-\u9fff]|\w+|[^\w\s]"
_OMITTED_METRICS = (*LOSSES, "eval_examples")


def add_split_suffix(scores: Scores, suffix: str, task_name: str, task: GlueTask | None) -> Scores:
    """Return a split's scores with the split's suffix in all keys, and lines for the log.

    Args:
        scores: the split's scores.
        suffix: "_mismatched" for MNLI's second split, "" for other splits.
        task_name: value of --task_name.
        task: this task, None for the user's files.
    """
    metrics, details = (
        {f"{key}{suffix}": value for key, value in values.items()} for values in (scores.metrics, scores.details)
    )
    lines = [suffix.removeprefix("_"), *scores.lines] if suffix else scores.lines
    if task and (main := main_metrics(task.metric, scores.metrics)):
        listed = ", ".join(f"{key}{suffix} = {value!s}" for key, value in main.items())
        lines = [*lines, f"{task_name} is measured by {listed}"]
    return Scores(metrics, details, [f"  {line}" for line in lines])


class LabeledSplit(Protocol):
    """Rows of a split: texts, [] for multiple choice, and features with their labels."""

    @property
    def features(self) -> Any: ...

    @property
    def texts(self) -> Sequence[ClassificationExample]: ...


def score_baselines(
    decoder: FittingDecoder,
    train: LabeledSplit,
    dev: LabeledSplit,
    num_outputs: int,
    seed: int,
    batch_size: int,
    weights: np.ndarray | None = None,
) -> dict[str, dict[str, float]]:
    """Return each baseline's metrics on the dev rows.

    The baselines are the majority class or mean, and TF-IDF with a linear model. Their
    metrics are the model's metrics except losses, without the prefix `eval_`. The sample of
    training rows depends only on the seed.

    Args:
        decoder: the model's decoder. Tuned thresholds are also tuned for the linear model.
        train: training rows.
        dev: rows to evaluate on.
        num_outputs: number of the model's outputs.
        seed: value of --random_seed.
        batch_size: --eval_batch_size.
        weights: weights of the dev rows, float32 [n]; None to count each row once.
    """
    problem_type, label_ids, dev_label_ids = decoder.problem_type, train.features.label_ids, dev.features.label_ids
    constant, linear = problem_type.metrics.baseline_names
    # Thresholds that were tuned on the model's probabilities do not fit others.
    thresholds = problem_type.default_thresholds(decoder.labels.names)
    default_decoder = dataclasses.replace(decoder, labels=decoder.labels._replace(thresholds=thresholds))
    outputs = problem_type.metrics.constant_prediction(label_ids, len(dev_label_ids), num_outputs)
    targets = ScoredTargets(weights)
    metrics = {constant: _evaluate_baseline(default_decoder, dev_label_ids, outputs, batch_size, targets)}
    predict_linear = problem_type.linear_baseline
    features = _tfidf_features(train.texts, dev.texts, num_outputs, seed) if predict_linear else None
    if predict_linear and features:
        rows, train_features, dev_features = features
        outputs = predict_linear(train_features, label_ids[rows], dev_features, num_outputs)
        tuned_decoder = default_decoder.with_tuned_thresholds(dev_label_ids, {"probabilities": outputs})
        metrics[linear] = _evaluate_baseline(tuned_decoder, dev_label_ids, outputs, batch_size, targets)
    return metrics


def _evaluate_baseline(
    decoder: FittingDecoder, label_ids: np.ndarray, outputs: np.ndarray, batch_size: int, targets: ScoredTargets
) -> dict[str, float]:
    # The losses are not reported, so zeros are enough.
    predictions = {decoder.problem_type.decoder.output_name: outputs, "losses": np.zeros(len(outputs), np.float32)}
    decoder = dataclasses.replace(decoder, calibration=None)
    metrics = decoder.score(label_ids, predictions, predictions, batch_size, targets).metrics
    return {name.removeprefix("eval_"): float(metrics[name]) for name in metrics if name not in _OMITTED_METRICS}


def _tfidf_features(
    train: Sequence[ClassificationExample], dev: Sequence[ClassificationExample], num_outputs: int, seed: int
) -> "tuple[np.ndarray, csr_matrix, csr_matrix] | None":
    """Return sampled training rows (their indices), their features, and the dev rows' features.

    Features are the TF-IDF of words and word pairs. Return None if no text has a word.

    Args:
        train: training texts.
        dev: texts to evaluate on.
        num_outputs: number of outputs; with more outputs, the sample is smaller.
        seed: value of --random_seed.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = _texts(train)
    characters = sum(map(len, texts))
    max_rows = min(_MAX_ROWS, max(_MAX_ROWS // 10, _MAX_LABELED // num_outputs))
    max_rows = min(max_rows, int(len(texts) * _MAX_CHARACTERS / max(characters, 1)))
    rows = np.arange(len(texts))
    if max_rows < len(texts):
        drawn_rows = np.random.default_rng(seed).choice(len(texts), max(max_rows, 1), replace=False)
        rows = np.sort(drawn_rows)
    sampled_texts = [texts[row] for row in rows.tolist()]
    if not any(text.strip() for text in sampled_texts):
        return None
    vectorizer = TfidfVectorizer(token_pattern=_TOKEN, ngram_range=(1, 2), sublinear_tf=True)
    train_features = vectorizer.fit_transform(sampled_texts)
    return rows, train_features, vectorizer.transform(_texts(dev))


def _texts(examples: Sequence[ClassificationExample]) -> list[str]:
    """Return texts cut to their first characters; a pair is joined by a newline."""
    return [f"{example.text_a[:_MAX_TEXT_LENGTH]}\n{(example.text_b or '')[:_MAX_TEXT_LENGTH]}" for example in examples]
