"""Dataset of bert-classify: splits with features, and the decoder of predictions."""

import abc
import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, POSITIVE_LABEL, TEACHER, THRESHOLDS
from bert_cli.examples.choice import ChoiceExample, describe_choices
from bert_cli.examples.classification import ClassificationExample, describe_examples
from bert_cli.examples.glue import GlueTask
from bert_cli.examples.splitting import iterate_labels, warn_about_absent_labels
from bert_cli.features.choice import ChoiceFeatures, choice_features, format_choices
from bert_cli.features.classification import (
    ClassificationFeatures,
    classification_features,
    concatenate,
    format_cuts,
    format_features,
)
from bert_cli.features.packing import describe_cuts
from bert_cli.metrics.classification import known_metrics
from bert_cli.outputs.classification import text_columns
from bert_cli.outputs.dry_run import SplitStatistics
from bert_cli.outputs.eval_examples import shorten
from bert_cli.problem_types.columns import Column, TextColumn
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.tasks.classification.decoder import FittingDecoder, make_fitting_decoder
from bert_cli.runs.tasks.classification.distillation import Teacher
from bert_cli.runs.tasks.classification.results import FittedPredictions, PredictionTables, write_folds
from bert_cli.runs.tasks.dataset import DivisibleDataset, InMemorySplit
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import Encoding
from bert_cli.text.tokenization import FullTokenizer

_TRAINING_SPLITS = ("train", "unlabeled")


@dataclasses.dataclass(frozen=True)
class Split(InMemorySplit, abc.ABC):
    """A split's rows and their features."""

    examples: Sequence[Any]
    features: Any

    @functools.cached_property
    def ids(self) -> list[str]:
        """Return row ids for outputs: the file's ids, or else guids as in the original (test-1)."""
        return [example.identifier or guid for example, guid in zip(self.examples, self.features.guids, strict=True)]

    @property
    def texts(self) -> list[ClassificationExample]:
        """Return the rows that are texts or pairs of texts, [] for multiple choice."""
        return []

    @abc.abstractmethod
    def num_outputs(self, labels: Sequence[str]) -> int:
        """Return the number of outputs per row, of which a prediction is one."""

    @abc.abstractmethod
    def row_text(self, row: int) -> dict[str, Any]:
        """Return a row's id and texts for eval_examples.jsonl, shortened for the report."""

    @abc.abstractmethod
    def text_columns(self, decisions: Sequence[Any]) -> dict[str, Column]:
        """Return the text columns for a table; with multiple choice, decisions are choice indices."""

    @abc.abstractmethod
    def lines(self, labels: Sequence[str], tokenizer: FullTokenizer, count: int, has_ids: bool) -> list[str]:
        """Return lines for the log about the first rows.

        Args:
            labels: label names in output order.
            tokenizer: the model's tokenizer.
            count: number of rows.
            has_ids: whether to add token ids.
        """

    def _has_label(self, count: int) -> list[bool]:
        return [example.label is not None for example in self.examples[:count]]


@dataclasses.dataclass(frozen=True)
class TextSplit(Split):
    """Texts or pairs of texts."""

    examples: Sequence[ClassificationExample]
    features: ClassificationFeatures

    @property
    def texts(self) -> list[ClassificationExample]:
        return list(self.examples)

    def num_outputs(self, labels: Sequence[str]) -> int:
        return len(labels) or 1

    def row_text(self, row: int) -> dict[str, Any]:
        example = self.examples[row]
        second = {"text_b": shorten(example.text_b)} if example.text_b else {}
        return {"id": self.ids[row], "text": shorten(example.text_a)} | second

    def text_columns(self, decisions: Sequence[Any]) -> dict[str, Column]:
        return text_columns([(example.text_a, example.text_b) for example in self.examples])

    def lines(self, labels: Sequence[str], tokenizer: FullTokenizer, count: int, has_ids: bool) -> list[str]:
        return format_features(self.features, labels, tokenizer, self._has_label(count), has_ids)

    def statistics(self) -> SplitStatistics:
        pairs = [(example.text_a, example.text_b) for example in self.examples]
        special = np.array([3 if text_b else 2 for _, text_b in pairs])  # [CLS], and [SEP] after each text
        labels = [example.label for example in self.examples]
        return SplitStatistics(pairs, labels, self.features.text_tokens + special)

    def take(self, rows: np.ndarray) -> Self:
        examples = [self.examples[row] for row in rows.tolist()]
        return dataclasses.replace(self, examples=examples, features=self.features.take(rows))


@dataclasses.dataclass(frozen=True)
class ChoiceSplit(Split):
    """Multiple-choice examples."""

    examples: Sequence[ChoiceExample]
    features: ChoiceFeatures

    def num_outputs(self, labels: Sequence[str]) -> int:
        return self.features.num_choices

    def row_text(self, row: int) -> dict[str, Any]:
        example = self.examples[row]
        endings = [shorten(choice) for choice in example.choices]
        return {"id": self.ids[row], "text": shorten(example.context), "endings": endings}

    def text_columns(self, decisions: Sequence[Any]) -> dict[str, Column]:
        chosen_texts = [example.choices[chosen] for example, chosen in zip(self.examples, decisions, strict=True)]
        return {"text": TextColumn([example.context for example in self.examples]), "ending": TextColumn(chosen_texts)}

    def lines(self, labels: Sequence[str], tokenizer: FullTokenizer, count: int, has_ids: bool) -> list[str]:
        return format_choices(self.features, tokenizer, self._has_label(count), has_ids)

    def statistics(self) -> SplitStatistics:
        # Choices are cut while they are tokenized, so these are the lengths after cutting.
        texts = [(example.context, example.choices) for example in self.examples]
        labels = [example.label for example in self.examples]
        return SplitStatistics(texts, labels, self.features.sequences.lengths, "sequence")


def make_split(
    split_name: str,
    examples: Sequence[Any],
    labels: tuple[str, ...],
    tokenizer: FullTokenizer,
    problem_type: ProblemType,
    encoding: Encoding,
) -> Split:
    """Return a split with its rows tokenized; log their number and how much was cut.

    Args:
        split_name: the split's name, for the log.
        examples: rows, as the problem type needs them.
        labels: label names in output order.
        tokenizer: the model's tokenizer.
        problem_type: the labels' problem type.
        encoding: flags with the sequence length.

    Raises:
        InputError: --max_seq_length is too short for the rows.
    """
    length = encoding.max_seq_length
    split: Split
    if problem_type.has_choices:
        choices = choice_features(examples, tokenizer, length)
        lines = [describe_choices(examples)]
        if choices.cuts.num_cut_texts:
            lines.append(describe_cuts(choices.cuts, length, "sequences"))
        split = ChoiceSplit(examples, choices)
    else:
        texts = classification_features(examples, labels, tokenizer, length, problem_type, encoding.long_text)
        lines = [describe_examples(examples, labels), *format_cuts(texts, length)]
        split = TextSplit(examples, texts)
    for line in lines:
        LOG.info("%s: %s", split_name, line)
    return split


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
    """

    training_splits = _TRAINING_SPLITS
    evaluation_splits = ("dev", "dev_mismatched")

    settings: ClassifySettings
    decoder: FittingDecoder
    tokenizer: FullTokenizer
    splits: Mapping[str, Split] = dataclasses.field(default_factory=dict)
    glue_task: GlueTask | None = None
    resolved_flags: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    guesses: Mapping[str, str] = dataclasses.field(default_factory=dict)
    teacher: Teacher | None = None

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        uses = {THRESHOLDS: self.decoder.should_tune, CALIBRATION: bool(self.decoder.calibration_flags)}
        return tuple(name for name, is_used in uses.items() if is_used)

    @property
    def prediction_files(self) -> tuple[str, ...]:
        tables = prediction_tables(self)
        names = [name for split in split_names(self, "test") or ["test"] for name in tables.names(split)]
        return (*names, TEACHER) if self.teacher else tuple(names)

    @property
    def metrics(self) -> tuple[str, ...]:
        task_metric = self.glue_task.metric if self.glue_task else None
        names = known_metrics(self.decoder.problem_type.metrics.names, task_metric)
        # Sort, so that the matched split of MNLI, which has no suffix, gives the main metric.
        suffixes = sorted(name.removeprefix("dev") for name in split_names(self, "dev"))
        return tuple(f"{name}{suffix}" for suffix in suffixes or [""] for name in names)

    @property
    def undefined_metrics(self) -> dict[str, str]:
        reasons: dict[str, str] = {}
        for name in split_names(self, "dev"):
            label_ids = self.splits[name].features.label_ids
            undefined = self.decoder.problem_type.metrics.undefined(label_ids, self.decoder.labels)
            reasons |= {f"{metric}{name.removeprefix('dev')}": reason for metric, reason in undefined.items()}
        return reasons

    def training_features(self) -> Any:
        """Return features for training, of examples with labels first, then without labels."""
        parts = [self.splits[name].features for name in _TRAINING_SPLITS if name in self.splits]
        return concatenate(*parts) if len(parts) > 1 else parts[0]

    def _split_lines(self, split: Split, count: int, has_ids: bool) -> list[str]:
        return split.lines(self.decoder.labels.names, self.tokenizer, count, has_ids)

    def facts(self) -> JsonObject:
        problem_type, labels = self.decoder.problem_type, self.decoder.labels
        positive = problem_type.metrics.positive_label(labels)
        facts: JsonObject = {POSITIVE_LABEL: positive} if positive else {}
        cut_examples = {name: split.features.cuts.num_cut_texts for name, split in self.splits.items()}
        return {"labels": list(labels.names), "problem_type": problem_type.name, **facts, "cut_examples": cut_examples}

    def strata(self) -> Sequence[str | float]:
        examples = self.splits["train"].examples
        num_folds = self.settings.sweep.cross_validation
        problem_type, labels = self.decoder.problem_type, self.decoder.labels.names
        rows_per_label = Counter(iterate_labels(examples, problem_type, labels))
        rare = [label for label in labels if rows_per_label[label] < num_folds]
        warn_about_absent_labels(f"--cross_validation={num_folds}", "at least one fold", rare, len(labels))
        return [problem_type.reader.stratum(example.label) for example in examples]

    def subset(self, held_out: np.ndarray) -> Self:
        problem_type, names = self.decoder.problem_type, self.decoder.labels.names
        # Tune thresholds per fold: those from other rows would have seen the held-out rows.
        decoder = make_fitting_decoder(problem_type, names, self.settings.inference, True, [])
        decoder = decoder.with_positive_label(self.settings.label_kind.positive_label)
        return dataclasses.replace(self, splits=self._divide(held_out, "rows"), decoder=decoder)

    def write_folds(self, paths: tuple[str, str], folds: np.ndarray, details: Sequence[FittedPredictions]) -> int:
        train = self.splits["train"]
        texts = [(example.text_a, example.text_b) for example in train.texts]
        label_ids = train.features.label_ids
        return write_folds(paths, self.decoder, self.settings.calibration, label_ids, folds, details, train.ids, texts)


def split_names(data: ClassificationDataset, split: str) -> list[str]:
    """Return the names of all dev or test splits; MNLI has two."""
    return [name for name in data.splits if name.startswith(split)]


def prediction_tables(data: ClassificationDataset) -> PredictionTables:
    """Return the tables that a prediction writes."""
    has_ranking = bool(data.decoder.calibration or data.decoder.calibration_flags)
    return PredictionTables(data.settings.inference, data.glue_task, has_ranking)


def encode_texts(data: ClassificationDataset, examples: Sequence[ClassificationExample]) -> ClassificationFeatures:
    """Return the features of new examples."""
    decoder, encoding = data.decoder, data.settings.encoding
    labels, length = decoder.labels.names, encoding.max_seq_length
    return classification_features(examples, labels, data.tokenizer, length, decoder.problem_type, encoding.long_text)
