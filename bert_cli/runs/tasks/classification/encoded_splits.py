"""Splits of bert-classify: rows of texts or of multiple choice with their features."""

import abc
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from bert_cli.base.head_types import CHOICE, CLASSIFIER
from bert_cli.base.log import LOG
from bert_cli.examples.choice import ChoiceExample, describe_choices
from bert_cli.examples.classification import ClassificationExample, describe_examples
from bert_cli.features.choice import ChoiceFeatures, choice_features, format_choices
from bert_cli.features.classification import (
    ClassificationFeatures,
    classification_features,
    format_cuts,
    format_features,
)
from bert_cli.features.packing import describe_cuts
from bert_cli.outputs.classification import text_columns
from bert_cli.outputs.dry_run import SplitStatistics
from bert_cli.outputs.eval_examples import shorten
from bert_cli.problem_types.columns import Column, KeptColumn, TextColumn
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.tasks.dataset import InMemorySplit
from bert_cli.settings.groups import Encoding
from bert_cli.text.tokenization import FullTokenizer


@dataclasses.dataclass(frozen=True)
class ClassificationSplit(InMemorySplit, abc.ABC):
    """A split's rows and their features."""

    examples: Sequence[Any]
    features: Any

    @property
    def num_rows(self) -> int:
        return len(self.examples)

    @functools.cached_property
    def ids(self) -> list[str]:
        """Return row ids for outputs: the file's ids, or else guids as in the original (test-1)."""
        return [example.identifier or guid for example, guid in zip(self.examples, self.features.guids, strict=True)]

    @property
    def kept_columns(self) -> dict[str, Column]:
        """Return the columns of --keep_columns, {} without the flag."""
        names = self.examples[0].kept or () if self.examples else ()
        return {name: KeptColumn([example.kept[name] for example in self.examples]) for name in names}

    @property
    def texts(self) -> list[ClassificationExample]:
        """Return the rows that are texts or pairs of texts, [] for multiple choice."""
        return []

    @property
    def distributions(self) -> np.ndarray | None:
        """Return the label distributions, float32 [n, L], or None without them."""
        return None

    @abc.abstractmethod
    def num_outputs(self, labels: Sequence[str]) -> int:
        """Return the number of outputs per row."""

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
            count: number of rows.
            has_ids: whether to add token ids.
        """

    def _has_label(self, count: int) -> list[bool]:
        return [example.label is not None for example in self.examples[:count]]


@dataclasses.dataclass(frozen=True)
class TextSplit(ClassificationSplit):
    """Texts or pairs of texts."""

    examples: Sequence[ClassificationExample]
    features: ClassificationFeatures

    @property
    def texts(self) -> list[ClassificationExample]:
        return list(self.examples)

    @property
    def distributions(self) -> np.ndarray | None:
        return self.features.distributions

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
class ChoiceSplit(ClassificationSplit):
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


_Encoded = tuple[ClassificationSplit, list[str]]  # a split, and lines for the log


def make_split(
    split_name: str,
    examples: Sequence[Any],
    labels: tuple[str, ...],
    tokenizer: FullTokenizer,
    problem_type: ProblemType,
    encoding: Encoding,
) -> ClassificationSplit:
    """Return a split with its rows tokenized; log their number and how much was cut.

    Args:
        split_name: the split's name, for the log.
        examples: rows, as the problem type needs them.
        labels: label names in output order.
        problem_type: the labels' problem type.
        encoding: flags with the sequence length.

    Raises:
        InputError: --max_seq_length is too short for the rows.
    """
    split, lines = _ENCODERS[problem_type.head_type](examples, labels, tokenizer, problem_type, encoding)
    for line in lines:
        LOG.info("%s: %s", split_name, line)
    return split


def _encode_texts(
    examples: Sequence[Any],
    labels: tuple[str, ...],
    tokenizer: FullTokenizer,
    problem_type: ProblemType,
    encoding: Encoding,
) -> _Encoded:
    length = encoding.max_seq_length
    texts = classification_features(examples, labels, tokenizer, length, problem_type, encoding.long_text)
    return TextSplit(examples, texts), [describe_examples(examples, labels), *format_cuts(texts, length)]


def _encode_choices(
    examples: Sequence[Any],
    labels: tuple[str, ...],
    tokenizer: FullTokenizer,
    problem_type: ProblemType,
    encoding: Encoding,
) -> _Encoded:
    length = encoding.max_seq_length
    choices = choice_features(examples, tokenizer, length)
    cuts = [describe_cuts(choices.cuts, length, "sequences")] if choices.cuts.num_cut_texts else []
    return ChoiceSplit(examples, choices), [describe_choices(examples), *cuts]


# Head type of a problem type -> encoder.
_ENCODERS = {CLASSIFIER: _encode_texts, CHOICE: _encode_choices}
