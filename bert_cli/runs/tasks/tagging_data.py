"""Dataset of bert-tag: sentences with tags in BIO, labels, windows, and the encoder's layers."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.base.names import OUTSIDE, TEST_PREDICTIONS, TEST_PREDICTIONS_JSON
from bert_cli.examples.labels.label_names import warn_about_few_rows
from bert_cli.examples.splitting import select_by_stratum
from bert_cli.examples.tag_schemes import find_entities, find_entity_types, make_label_list
from bert_cli.examples.tagging import TaggingFile
from bert_cli.examples.token_files.bio_tags import convert_to_bio
from bert_cli.examples.token_files.notation import NotationFlags, TagNotation, make_notation_flags
from bert_cli.features.tagging import TaggingFeatures, format_features
from bert_cli.metrics.tagging import known_results, undefined_results
from bert_cli.opening.bundle import AnyModel
from bert_cli.outputs.annotations import annotation_files
from bert_cli.outputs.answers.tagging import mean_tags
from bert_cli.outputs.dry_run import SplitStatistics
from bert_cli.outputs.tagging_folds import write_suspects_of_words, write_tagging_folds
from bert_cli.predicting.tagger import choose_layers, make_sentence_windows, read_trained_labels
from bert_cli.reading.columns.facts import DataFacts, log_facts
from bert_cli.runs.tasks.dataset import DivisibleDataset, InMemorySplit, move_held_out_rows
from bert_cli.runs.tasks.tagging_files import check_split_labels, find_file, read_tagging_split
from bert_cli.settings.answering import PRODIGY, SPAN_FORMATS
from bert_cli.settings.data import HeldOut
from bert_cli.settings.tagging import TagSettings
from bert_cli.text.tokenization import FullTokenizer


@dataclasses.dataclass(frozen=True)
class TaggingSplit(InMemorySplit):
    """Sentences from one file, their tags in BIO if the file has tags, and their windows."""

    file: TaggingFile
    has_tags: bool
    features: TaggingFeatures

    @property
    def num_rows(self) -> int:
        return len(self.file.examples)

    def statistics(self) -> SplitStatistics:
        examples = self.file.examples
        labels = [" ".join(example.tags) if example.tags else None for example in examples]
        texts = [" ".join(example.words) for example in examples]
        return SplitStatistics(texts, labels, self.features.sequences.lengths, "window")

    def take(self, rows: np.ndarray) -> Self:
        file = dataclasses.replace(self.file, examples=tuple(self.file.examples[row] for row in rows))
        return dataclasses.replace(self, file=file, features=self.features.take(rows))


@dataclasses.dataclass(frozen=True)
class TaggingDataset(DivisibleDataset):
    """The splits of a run with their labels.

    Attributes:
        labels: labels in BIO, in output order.
        notation: how the files write tags.
        layers: encoder layers that the classifier reads.
        tokenizer: the model's tokenizer.
        splits: train, dev and test, if the run needs them.
        decoding: the value of --decoding.
        data_facts: the account of each file, by split.
    """

    labels: tuple[str, ...]
    notation: TagNotation
    layers: tuple[int | str, ...]
    tokenizer: FullTokenizer
    splits: dict[str, TaggingSplit]
    decoding: str
    data_facts: Mapping[str, DataFacts] = dataclasses.field(default_factory=dict)

    @property
    def prediction_files(self) -> tuple[str, ...]:
        test = self.splits.get("test")
        spans = annotation_files(test.file) if test and test.file.has_spans else ()
        return tuple(dict.fromkeys((TEST_PREDICTIONS, TEST_PREDICTIONS_JSON, *spans)))

    @property
    def metrics(self) -> tuple[str, ...]:
        return known_results(self.labels)

    @property
    def undefined_metrics(self) -> dict[str, str]:
        dev = self.splits.get("dev")
        if dev is None or not dev.has_tags:
            return {}
        entity_types = {entity.type for tags in dev.file.tags for entity in find_entities(tags)}
        return undefined_results(self.labels, entity_types)

    def _split_lines(self, split: TaggingSplit, count: int, has_ids: bool) -> list[str]:
        return format_features(split.features, self.labels, self.tokenizer, count)

    def facts(self) -> JsonObject:
        return {"labels": list(self.labels), **self.notation.facts}

    def _strata(self) -> list[str]:
        """Return the entity types in each training sentence, as one string."""
        tags_of = self.splits["train"].file.tags
        return [",".join(sorted({entity.type for entity in find_entities(tags)})) for tags in tags_of]

    def subset(self, held_out: np.ndarray) -> Self:
        return dataclasses.replace(self, splits=move_held_out_rows(self.splits, held_out, "sentences"))

    def select_dev_rows(self, held_out: HeldOut, seed: int) -> set[int]:
        return set(range(held_out.count)) if held_out.is_first else select_by_stratum(self._strata(), held_out, seed)

    def write_folds(
        self, paths: tuple[str, str], assignments: Sequence[np.ndarray], details: Sequence[Sequence[Any]]
    ) -> int:
        file = self.splits["train"].file
        repeats = []
        for folds, fold_details in zip(assignments, details, strict=True):
            prediction_iterators = [iter(predictions) for predictions in fold_details]
            repeats.append([next(prediction_iterators[fold]) for fold in folds.tolist()])
        predictions = mean_tags(repeats, self.labels, self.decoding) if len(repeats) > 1 else repeats[0]
        write_tagging_folds(paths[0], file, assignments, predictions, self.notation)
        return write_suspects_of_words(paths[1], file, predictions, self.labels, self.notation)


def read_tagging_data(
    settings: TagSettings, model: AnyModel, tables: Mapping[str, TaggingFile] = MappingProxyType({})
) -> TaggingDataset:
    """Read the splits that the phases need; without training, take labels from the model.

    Args:
        model: the model's files.
        tables: sentences in memory by split, to use instead of files.
    """
    task = settings.task
    phases = settings.phases
    folder = settings.data.data_dir
    split_flags = (
        ("train", phases.do_train, settings.data.train_file),
        ("dev", phases.do_eval, settings.data.dev_file),
        ("test", settings.inference.do_predict, settings.data.test_file),
    )
    paths = {
        split: tables[split].path if split in tables else find_file(path_flag, folder, split)
        for split, is_needed, path_flag in split_flags
        if is_needed
    }
    flags = make_notation_flags(task)
    labels = () if phases.do_train else read_trained_labels(model)
    splits = {}
    notation: TagNotation | None
    span_format = PRODIGY if task.span_format == "auto" else task.span_format
    for split, path in paths.items():
        if split in tables:
            file, notation = convert_to_bio(tables[split], flags, find_entity_types(labels))
            has_tags = True
        else:
            file, notation, has_tags = read_tagging_split(
                split, path, settings, flags, span_format, labels, model.tokenizer
            )
        flags = NotationFlags(*notation) if notation else flags
        if file.format in SPAN_FORMATS and task.span_format == "auto":
            span_format = file.format
        if not labels:
            labels = make_label_list(file.tags)
            if labels == (OUTSIDE,):
                problem = (
                    "no annotated text has a span, so there is nothing to learn; check the export"
                    if file.has_spans
                    else f"every tag is {flags.outside or OUTSIDE}, so there is nothing to learn; check --tag_column"
                )
                raise InputError(f"{path}: {problem}")
            types = [entity.type for tags in file.tags for entity in find_entities(tags)]
            warn_about_few_rows(path, len(set(types)), len(types), "entities")
        check_split_labels(file, labels, split)
        all_pieces = task.label_all_pieces and split == "train"
        features = make_sentence_windows(
            file.examples, labels, model.tokenizer, settings.encoding, settings.task, all_pieces
        )
        log_facts(file.facts)
        for line in describe_split(split, file, features, has_tags):
            LOG.info(line)
        splits[split] = TaggingSplit(file, has_tags, features)
    file_notation = TagNotation.of_flags(flags)
    LOG.info("labels: %s (tags of the files: %s)", ", ".join(labels), file_notation)
    layers = choose_layers(settings.tagger, settings.rates, model)
    facts = {split: content.file.facts for split, content in splits.items()}
    decoding = settings.inference.decoding
    return TaggingDataset(labels, file_notation, layers, model.tokenizer, splits, decoding, facts)


def describe_split(split: str, file: TaggingFile, features: TaggingFeatures, has_tags: bool) -> list[str]:
    """Return lines for the log with a split's sizes, and with sentences that were cut.

    Args:
        split: the split's name.
        file: its sentences.
        features: windows over them.
        has_tags: whether to count entities.
    """
    words = int(features.num_words.sum())
    text = f"{split}: {len(file.examples)} sentences, {words} words"
    if has_tags:
        entity_counts = collections.Counter(entity.type for tags in file.tags for entity in find_entities(tags))
        counts = ", ".join(
            f"{entity_type or 'without type'} {count}" for entity_type, count in sorted(entity_counts.items())
        )
        text += f", {entity_counts.total()} entities" + (f" ({counts})" if counts else "")
    lines = [text]
    if features.num_split:
        cut = f"{features.num_split} of {len(file.examples)} sentences were too long and were cut"
        lines.append(f"{split}: {cut}: {len(features)} windows in all")
    if features.num_words_without_pieces:
        lines.append(f"{split}: {features.num_words_without_pieces} words have no pieces, such as control characters")
    return lines


def make_empty_tagging_dataset(settings: TagSettings, model: AnyModel) -> TaggingDataset:
    """Return a dataset without sentences for a trained model, for new texts."""
    layers = choose_layers(settings.tagger, settings.rates, model)
    notation = TagNotation.of_flags(make_notation_flags(settings.task))
    return TaggingDataset(
        read_trained_labels(model), notation, layers, model.tokenizer, {}, settings.inference.decoding
    )
