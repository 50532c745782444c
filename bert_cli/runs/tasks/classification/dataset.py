"""Dataset of bert-classify: splits with features, the decoder of predictions, and output tables."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, PREDICTIONS_TABLE, TEACHER, TEST_RESULTS, THRESHOLDS, TO_LABEL
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
from bert_cli.features.cuts import describe_cuts
from bert_cli.metrics.classification import known_metrics
from bert_cli.outputs.classification import (
    text_columns,
    write_glue_submission,
    write_ranking,
    write_table,
    write_test_results,
)
from bert_cli.outputs.dry_run import SplitStatistics
from bert_cli.outputs.eval_examples import shorten
from bert_cli.problem_types.columns import Column, Texts
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.tasks.classification.data import Examples
from bert_cli.runs.tasks.classification.decoder import Decoder, make_decoder
from bert_cli.runs.tasks.classification.distillation import Teacher
from bert_cli.runs.tasks.classification.folds import write_folds
from bert_cli.runs.tasks.dataset import DivisibleDataset, InMemorySplit
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import Encoding
from bert_cli.text.tokenization import FullTokenizer

_TRAINING_SPLITS = ("train", "unlabeled")


@dataclasses.dataclass(frozen=True)
class Split(InMemorySplit):
    """A split's rows and their features: either texts or multiple-choice examples."""

    examples: Examples
    features: ClassificationFeatures | ChoiceFeatures

    @property
    def choices(self) -> list[ChoiceExample]:
        """Return the multiple-choice examples, [] if the rows are texts."""
        # All rows have the same type; isinstance shows it to mypy.
        return [example for example in self.examples if isinstance(example, ChoiceExample)]

    @property
    def texts(self) -> list[ClassificationExample]:
        """Return the rows that are texts or pairs of texts, [] for multiple choice."""
        return [example for example in self.examples if isinstance(example, ClassificationExample)]

    @functools.cached_property
    def ids(self) -> list[str]:
        """Return row ids for outputs: the file's ids, or else guids as in the original (test-1)."""
        return [example.identifier or guid for example, guid in zip(self.examples, self.features.guids, strict=True)]

    def row_text(self, row: int) -> dict[str, Any]:
        """Return a row's id and texts for eval_examples.jsonl, shortened for the report."""
        example = self.examples[row]
        named = {"id": self.ids[row]}
        if isinstance(example, ChoiceExample):
            choice_texts = [shorten(choice) for choice in example.choices]
            return named | {"text": shorten(example.context), "endings": choice_texts}
        second = {"text_b": shorten(example.text_b)} if example.text_b else {}
        return named | {"text": shorten(example.text_a)} | second

    def text_columns(self, decisions: Sequence[Any]) -> dict[str, Column]:
        """Return the text columns for a table; with multiple choice, decisions are choice indices."""
        if choices := self.choices:
            chosen_texts = [example.choices[chosen] for example, chosen in zip(choices, decisions, strict=True)]
            return {"text": Texts([example.context for example in choices]), "ending": Texts(chosen_texts)}
        return text_columns([(example.text_a, example.text_b) for example in self.texts])

    def statistics(self) -> SplitStatistics:
        labels = [example.label for example in self.examples]
        sequences = self.features.sequences
        if isinstance(self.features, ChoiceFeatures):
            # Choices are cut while they are tokenized, so these are the lengths after cutting.
            return SplitStatistics(
                [(example.context, example.choices) for example in self.choices], labels, sequences.lengths, "sequence"
            )
        pairs = [(example.text_a, example.text_b) for example in self.texts]
        special = np.array([3 if text_b else 2 for _, text_b in pairs])  # [CLS], and [SEP] after each text
        return SplitStatistics(pairs, labels, self.features.text_tokens + special)

    def take(self, rows: np.ndarray) -> Self:
        assert isinstance(self.features, ClassificationFeatures), "a choice is refused before it is read"
        examples = [self.examples[row] for row in rows.tolist()]
        return dataclasses.replace(self, examples=examples, features=self.features.take(rows))


def make_split(
    split_name: str,
    examples: Examples,
    labels: tuple[str, ...],
    tokenizer: FullTokenizer,
    problem_type: ProblemType,
    encoding: Encoding,
) -> Split:
    """Return a split with its rows tokenized; log their number and how much was cut.

    Args:
        split_name: the split's name, for the log.
        examples: rows.
        labels: label names in output order.
        tokenizer: the model's tokenizer.
        problem_type: the labels' problem type.
        encoding: flags with the sequence length.

    Raises:
        InputError: --max_seq_length is too short for the rows.
    """
    features: ClassificationFeatures | ChoiceFeatures
    length = encoding.max_seq_length
    if choices := [example for example in examples if isinstance(example, ChoiceExample)]:
        features = choice_features(choices, tokenizer, length)
        summary = describe_choices(choices)
        lines = [describe_cuts(features.cuts, length, "sequences")] * bool(features.cuts.num_cut_texts)
    else:
        texts = [example for example in examples if isinstance(example, ClassificationExample)]
        features = classification_features(texts, labels, tokenizer, length, problem_type, encoding.long_text)
        summary = describe_examples(texts, labels)
        lines = format_cuts(features, length)
    for line in (summary, *lines):
        LOG.info("%s: %s", split_name, line)
    return Split(examples, features)


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
    decoder: Decoder
    tokenizer: FullTokenizer
    splits: Mapping[str, Split] = dataclasses.field(default_factory=dict)
    glue_task: GlueTask | None = None
    resolved_flags: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    guesses: Mapping[str, str] = dataclasses.field(default_factory=dict)
    teacher: Teacher | None = None

    @property
    def problem_type(self) -> ProblemType:
        return self.decoder.problem_type

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the label names in output order, () for regression and multiple choice."""
        return self.decoder.labels.names

    def split_names(self, split: str) -> list[str]:
        """Return the names of all dev or test splits; MNLI has two."""
        return [name for name in self.splits if name.startswith(split)]

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        decoder = self.decoder
        return (THRESHOLDS,) * decoder.should_tune + (CALIBRATION,) * bool(decoder.calibration_flags)

    @property
    def prediction_files(self) -> tuple[str, ...]:
        names = [name for split in self.split_names("test") or ["test"] for name in self.table_names(split)]
        return (*names, TEACHER) if self.teacher else tuple(names)

    @property
    def has_ranking(self) -> bool:
        """Return whether to_label.tsv ranks the texts, which needs calibrated probabilities."""
        return bool(self.decoder.calibration or self.decoder.calibration_flags)

    def table_names(self, split: str) -> list[str]:
        """Return names for a test split's tables, including the submission if flags ask for one."""
        suffix = split.removeprefix("test")
        inference = self.settings.inference
        table = f"{PREDICTIONS_TABLE.removesuffix('.tsv')}{suffix}.{inference.output_format}"
        names = [f"{TEST_RESULTS.removesuffix('.tsv')}{suffix}.tsv", table]
        if self.has_ranking:
            names.append(f"{TO_LABEL.removesuffix('.tsv')}{suffix}.tsv")
        if inference.glue_submission and self.glue_task:
            names.append(f"{self.glue_task.submission_name(suffix)}.tsv")
        return names

    @property
    def metrics(self) -> tuple[str, ...]:
        names = known_metrics(self.problem_type.metrics.names, self.glue_task.metric if self.glue_task else None)
        # Sort, so that the matched split of MNLI, which has no suffix, gives the main metric.
        suffixes = sorted(name.removeprefix("dev") for name in self.split_names("dev"))
        return tuple(f"{name}{suffix}" for suffix in suffixes or [""] for name in names)

    @property
    def undefined_metrics(self) -> tuple[str, ...]:
        dev = self.splits.get("dev")
        is_constant = dev is not None and len(np.unique(dev.features.label_ids)) < 2
        return self.problem_type.metrics.correlations if is_constant else ()

    def features(self, examples: Sequence[ClassificationExample]) -> ClassificationFeatures:
        """Return the features of new examples."""
        length, long_text = self.settings.encoding.max_seq_length, self.settings.encoding.long_text
        return classification_features(examples, self.labels, self.tokenizer, length, self.problem_type, long_text)

    @property
    def training_texts(self) -> list[ClassificationExample]:
        """Return the texts for `training_features`, [] for multiple choice."""
        return [example for name in _TRAINING_SPLITS if name in self.splits for example in self.splits[name].texts]

    def training_features(self) -> ClassificationFeatures | ChoiceFeatures:
        """Return features for training, of examples with labels first, then without labels."""
        # Examples with labels come first, see with_teacher.
        parts = [self.splits[name].features for name in _TRAINING_SPLITS if name in self.splits]
        texts = [part for part in parts if isinstance(part, ClassificationFeatures)]
        return concatenate(*texts) if len(texts) > 1 else parts[0]

    def split_lines(self, split: Split, count: int, has_ids: bool) -> list[str]:
        has_label = [example.label is not None for example in split.examples[:count]]
        if isinstance(split.features, ChoiceFeatures):
            return format_choices(split.features, self.tokenizer, has_label, has_ids)
        return format_features(split.features, self.labels, self.tokenizer, has_label, has_ids)

    def facts(self) -> dict[str, Any]:
        cut_examples = {name: split.features.cuts.num_cut_texts for name, split in self.splits.items()}
        return {"labels": list(self.labels), "problem_type": self.problem_type.name, "cut_examples": cut_examples}

    def strata(self) -> Sequence[str | float]:
        examples = self.splits["train"].examples
        num_folds = self.settings.sweep.cross_validation
        rows_per_label = Counter(iterate_labels(examples, self.problem_type, self.labels))
        rare = [label for label in self.labels if rows_per_label[label] < num_folds]
        warn_about_absent_labels(f"--cross_validation={num_folds}", "at least one fold", rare, len(self.labels))
        return [self.problem_type.reader.stratum(example.label) for example in examples]

    def subset(self, held_out: np.ndarray) -> Self:
        # Tune thresholds per fold: those from other rows would have seen the held-out rows.
        decoder = make_decoder(self.problem_type, self.labels, self.settings.inference, True, [])
        return dataclasses.replace(self, splits=self.divide(held_out, "rows"), decoder=decoder)

    def write_predictions(
        self, paths: Sequence[str], split: Split, predictions: dict[str, Any], decoder: Decoder
    ) -> None:
        """Write the files of `table_names`.

        Args:
            paths: path per file, in the order of `table_names`.
            split: the split that was predicted.
            predictions: calibrated predictions for its rows.
            decoder: the dataset's decoder, or the decoder that an evaluation has fitted.
        """
        problem_type, labels = decoder.problem_type, decoder.labels
        decisions = problem_type.decoder.decisions(predictions, labels)
        write_test_results(paths[0], predictions[problem_type.decoder.output_name])
        ids, texts = Texts(split.ids), split.text_columns(decisions)
        columns = {"id": ids, **problem_type.columns.prediction_columns(predictions, labels), **texts}
        write_table(paths[1], columns, self.settings.inference.output_format)
        LOG.info("wrote %s and %s: %d predictions", *paths[:2], len(split.examples))
        submission_paths = paths[2:]
        if self.has_ranking:
            uncertainty = problem_type.decoder.uncertainty(predictions, labels)
            predicted = next(iter(problem_type.columns.decision_columns(predictions, labels).values()))
            write_ranking(paths[2], uncertainty, {"id": ids, "predicted": predicted}, texts)
            submission_paths = paths[3:]
        for path in submission_paths:
            write_glue_submission(path, split.ids, decisions)
            LOG.info("wrote %s", path)

    def write_folds(self, paths: tuple[str, str], folds: np.ndarray, details: Sequence[Any]) -> int:
        train = self.splits["train"]
        texts = [(example.text_a, example.text_b) for example in train.texts]
        label_ids = train.features.label_ids
        return write_folds(paths, self.decoder, self.settings.calibration, label_ids, folds, details, train.ids, texts)
