"""Dataset of bert-classify: splits with features, and the decoder of predictions."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, POSITIVE_LABEL, TEACHER, THRESHOLDS
from bert_cli.base.spec import EXAMPLE_WEIGHT, LABEL_DISTRIBUTION, BatchColumn
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.glue import GlueTask
from bert_cli.examples.splitting import (
    assign_group_folds,
    iterate_labels,
    sample_per_stratum,
    select_dev_rows,
    warn_about_absent_labels,
)
from bert_cli.features.classification import (
    ClassificationFeatures,
    classification_features,
    concatenate,
)
from bert_cli.metrics.classification import known_metrics
from bert_cli.opening.bundle import AnyModel
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.run_directory.manifest import digest
from bert_cli.runs.tasks.classification.data import find_trained_type
from bert_cli.runs.tasks.classification.decoder import CROSS_ENTROPY, FittingDecoder, make_fitting_decoder
from bert_cli.runs.tasks.classification.distillation import Teacher
from bert_cli.runs.tasks.classification.encoded_splits import ClassificationSplit
from bert_cli.runs.tasks.classification.results import FittedPredictions, PredictionTables, write_out_of_fold
from bert_cli.runs.tasks.dataset import DivisibleDataset, move_held_out_rows
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import HeldOut
from bert_cli.text.tokenization import FullTokenizer

_TRAINING_SPLITS = ("train", "unlabeled")


@dataclasses.dataclass(frozen=True)
class ClassificationDataset(DivisibleDataset):
    """The splits, and the settings to encode texts and to decode predictions.

    Attributes:
        settings: the run's flags.
        decoder: problem type, labels, thresholds and calibration.
        tokenizer: the model's tokenizer.
        splits: splits by name, see data.ClassificationData; {} for new texts.
        glue_task: the task of --task_name, None for the user's files.
        resolved_flags: flag values that the data decided, for flags.txt.
        guesses: by flag, the training file's columns that no flag names.
        teacher: the model of --distill_from, or None.
        data_facts: the account of each input file, by split.
    """

    training_splits = _TRAINING_SPLITS
    evaluation_splits = ("dev", "dev_mismatched")

    settings: ClassifySettings
    decoder: FittingDecoder
    tokenizer: FullTokenizer
    splits: Mapping[str, ClassificationSplit] = dataclasses.field(default_factory=dict)
    glue_task: GlueTask | None = None
    resolved_flags: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    guesses: Mapping[str, str] = dataclasses.field(default_factory=dict)
    teacher: Teacher | None = None
    data_facts: Mapping[str, DataFacts] = dataclasses.field(default_factory=dict)

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        uses = {THRESHOLDS: self.decoder.should_tune, CALIBRATION: bool(self.decoder.calibration_flags)}
        return tuple(name for name, is_used in uses.items() if is_used)

    @property
    def prediction_files(self) -> tuple[str, ...]:
        tables = prediction_tables(self)
        names = [name for split in list_split_names(self, "test") or ["test"] for name in tables.names(split)]
        return (*names, TEACHER) if self.teacher else tuple(names)

    @property
    def metrics(self) -> tuple[str, ...]:
        task_metric = self.glue_task.metric if self.glue_task else None
        names = known_metrics(self.decoder.problem_type.metrics.names(self.decoder.labels), task_metric)
        names += (CROSS_ENTROPY,) if self.settings.label_kind.soft_labels else ()
        names += tuple(metric.name for metric in self.decoder.custom_metrics)
        # Sort, so that the matched split of MNLI, which has no suffix, gives the main metric.
        suffixes = sorted(name.removeprefix("dev") for name in list_split_names(self, "dev"))
        return tuple(f"{name}{suffix}" for suffix in suffixes or [""] for name in names)

    @property
    def undefined_metrics(self) -> dict[str, str]:
        reasons: dict[str, str] = {}
        for name in list_split_names(self, "dev"):
            label_ids, weights = self.splits[name].features.label_ids, metric_weights(self, name)
            label_ids = label_ids if weights is None else label_ids[weights > 0]
            undefined = self.decoder.problem_type.metrics.undefined(label_ids, self.decoder.labels)
            reasons |= {f"{metric}{name.removeprefix('dev')}": reason for metric, reason in undefined.items()}
        return reasons

    def training_features(self) -> Any:
        """Return features for training, of examples with labels first, then without labels."""
        parts = [self.splits[name].features for name in _TRAINING_SPLITS if name in self.splits]
        return concatenate(*parts) if len(parts) > 1 else parts[0]

    def _split_lines(self, split: ClassificationSplit, count: int, has_ids: bool) -> list[str]:
        return split.lines(self.decoder.labels.names, self.tokenizer, count, has_ids)

    def facts(self) -> JsonObject:
        problem_type, labels = self.decoder.problem_type, self.decoder.labels
        positive = problem_type.metrics.positive_label(labels)
        facts: JsonObject = {POSITIVE_LABEL: positive} if positive else {}
        cut_examples = {name: split.features.cuts.num_cut_texts for name, split in self.splits.items()}
        return {"labels": list(labels.names), "problem_type": problem_type.name, **facts, "cut_examples": cut_examples}

    def _strata(self) -> Sequence[str | float]:
        examples = self.splits["train"].examples
        num_folds = self.settings.sweep.cross_validation
        problem_type, labels = self.decoder.problem_type, self.decoder.labels.names
        rows_per_label = Counter(iterate_labels(examples, problem_type, labels))
        rare = [label for label in labels if rows_per_label[label] < num_folds]
        warn_about_absent_labels(f"--cross_validation={num_folds}", "at least one fold", rare, len(labels))
        return [problem_type.reader.stratum(example.label) for example in examples]

    def assign_folds(self, count: int, seeds: Sequence[int]) -> list[np.ndarray]:
        train, rows = self.splits["train"], self.settings.rows
        if rows.group_column is None:
            assignments = super().assign_folds(count, seeds)
        else:
            problem_type = self.decoder.problem_type
            assignments = [assign_group_folds(train.examples, problem_type, count, seed) for seed in seeds]
        for folds, fold in itertools.product(assignments, range(count)):
            check_weights(train.features.weights, folds == fold, rows.weighted_metrics)
        return assignments

    def select_dev_rows(self, held_out: HeldOut, seed: int) -> set[int]:
        train, rows = self.splits["train"], self.settings.rows
        dev_rows = select_dev_rows(train.examples, held_out, seed, self.decoder.problem_type)
        is_held_out = np.isin(np.arange(len(train.examples)), list(dev_rows))
        check_weights(train.features.weights, is_held_out, rows.weighted_metrics)
        return dev_rows

    def subset(self, held_out: np.ndarray) -> Self:
        problem_type, names = self.decoder.problem_type, self.decoder.labels.names
        # Tune thresholds per fold: those from other rows would have seen the held-out rows.
        positive = self.settings.label_kind.positive_label
        decoder = make_fitting_decoder(problem_type, names, self.settings.inference, True, [], positive)
        decoder = dataclasses.replace(decoder, custom_metrics=self.decoder.custom_metrics)
        return dataclasses.replace(self, splits=move_held_out_rows(self.splits, held_out, "rows"), decoder=decoder)

    def _sample(self, settings: ClassifySettings) -> Self:
        count = settings.sample.rows_per_label
        if not count:
            return self
        reader, train = self.decoder.problem_type.reader, self.splits["train"]
        classes = reader.classes(train.features.label_ids)
        if classes is None:
            raise InputError(
                f"--rows_per_label={count}: needs one label per text, as the problem type single_label has"
            )
        labels = [self.decoder.labels.names[index] for index in classes.tolist()]
        few = [label for label, rows in Counter(labels).items() if rows < count]
        if few:
            LOG.warning("warning: --rows_per_label=%d: fewer rows have the label %s", count, list_names(few))
        is_sampled = np.isin(np.arange(len(labels)), sample_per_stratum(labels, count, settings.seed.random_seed))
        LOG.info("train: a sample of %d of %d rows, %d per label", is_sampled.sum(), len(labels), count)
        return dataclasses.replace(self, splits={**self.splits, "train": train.take(np.flatnonzero(is_sampled))})

    def write_folds(
        self, paths: tuple[str, str], assignments: Sequence[np.ndarray], details: Sequence[Sequence[FittedPredictions]]
    ) -> int:
        train = self.splits["train"]
        texts = [(example.text_a, example.text_b) for example in train.texts]
        label_ids = train.features.label_ids
        flags = self.settings.calibration
        return write_out_of_fold(paths, self.decoder, flags, label_ids, assignments, details, train.ids, texts)


def make_empty_dataset(
    settings: ClassifySettings, model: AnyModel, labels: tuple[str, ...], folders: Sequence[str]
) -> ClassificationDataset:
    """Return a dataset without rows, for new texts.

    Args:
        model: the trained model.
        labels: its label names.
        folders: directories to search for thresholds.json.
    """
    problem_type = find_trained_type(settings, model)
    positive = settings.label_kind.positive_label
    decoder = make_fitting_decoder(problem_type, labels, settings.inference, False, folders, positive)
    decoder = decoder.with_calibration(model.head.calibration(problem_type, labels))
    return ClassificationDataset(settings, decoder, model.tokenizer)


def list_split_names(data: ClassificationDataset, split: str) -> list[str]:
    """Return the names of all dev or test splits; MNLI has two."""
    return [name for name in data.splits if name.startswith(split)]


def deciding_data(data: ClassificationDataset, features: Any, do_lower_case: bool) -> JsonObject:
    """Return the values of the data that decide the training, for run.json.

    Args:
        features: its `training_features`.
        do_lower_case: whether the tokenizer lowercases.
    """
    labels, sequences = data.decoder.labels.names, features.sequences
    values: JsonObject = {
        "labels": list(labels) if labels else None,
        "do_lower_case": do_lower_case,
        "training_data": digest(sequences.token_ids, sequences.offsets, features.label_ids),
        "train_examples": len(features),
        "problem_type": data.decoder.problem_type.name,
    }
    values |= {"distill_from": data.teacher.identity} if data.teacher else {}
    values |= {"weighted_metrics": True} if data.settings.rows.weighted_metrics else {}
    names = {EXAMPLE_WEIGHT: "weights", LABEL_DISTRIBUTION: "label_distributions"}
    return values | {names[column]: digest(array) for column, array in features.loss_values.items()}


def metric_weights(data: ClassificationDataset, split: str) -> np.ndarray | None:
    """Return the weights for a split's metrics, float32 [n]; None to count each row once."""
    return data.splits[split].features.weights if data.settings.rows.weighted_metrics else None


def check_weights(weights: np.ndarray | None, held_out: np.ndarray, is_weighted: bool) -> None:
    """Raise InputError if no row to train or to evaluate on has a weight above 0.

    Args:
        weights: weights of rows, float32 [n], or None.
        held_out: whether a row is evaluated on, bool [n].
        is_weighted: whether metrics use the weights.
    """
    if weights is None:
        return
    for name, rows in (("train", ~held_out), ("evaluate", held_out & is_weighted)):
        refuse_if(
            rows.any() and not weights[rows].any(),
            f"--weight_column: all {rows.sum()} rows to {name} on have the weight 0; hold out other rows",
        )


def loss_columns(data: ClassificationDataset) -> tuple[BatchColumn, ...]:
    """Return the columns of the training batches for weights and for label distributions."""
    return tuple(data.splits["train"].features.loss_values) if "train" in data.splits else ()


def prediction_tables(data: ClassificationDataset) -> PredictionTables:
    """Return the tables that a prediction writes."""
    is_calibrated = bool(data.decoder.calibration or data.decoder.calibration_flags)
    return PredictionTables(data.settings.inference, data.glue_task, is_calibrated, data.settings.to_label)


def encode_texts(data: ClassificationDataset, examples: Sequence[ClassificationExample]) -> ClassificationFeatures:
    """Return the features of new examples."""
    decoder, encoding = data.decoder, data.settings.encoding
    labels, length = decoder.labels.names, encoding.max_seq_length
    return classification_features(examples, labels, data.tokenizer, length, decoder.problem_type, encoding.long_text)
