"""Tokenizer of multiple-choice examples: each choice becomes a separate token sequence."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.spec import EXAMPLE_WEIGHT, BatchColumn
from bert_cli.examples.choice import ChoiceExample
from bert_cli.features.classification import sequence_lines, weight_array
from bert_cli.features.packing import NOT_CUT, CutCounts, check_max_seq_length, pack
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP


@dataclass(frozen=True)
class ChoiceFeatures:
    """n examples with K choices each, in reading order.

    Attributes:
        sequences: n·K token sequences [CLS] context [SEP] choice [SEP], ordered by example.
        label_ids: int32 [n], the correct choice's index, 0 for examples without label.
        guids: n strings.
        cuts: tokens that sequences lost to max_seq_length.
        weights: float32 [n], a factor per example's loss; None for equal weights.
    """

    sequences: RaggedFeatures
    label_ids: np.ndarray
    guids: tuple[str, ...]
    cuts: CutCounts = NOT_CUT
    weights: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.guids)

    @property
    def loss_values(self) -> dict[BatchColumn, np.ndarray]:
        """Return the arrays that only the loss reads, by the column of a batch."""
        return {} if self.weights is None else {EXAMPLE_WEIGHT: self.weights}

    @property
    def num_choices(self) -> int:
        """Return K, the number of choices per example."""
        return len(self.sequences) // len(self)

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """Return ProblemType.batch_columns for these examples, padded to `width` tokens.

        Without `width`, the longest sequence decides.
        """
        rows = np.asarray(rows)
        # An example's sequences are adjacent, so K consecutive numbers are one example.
        indices = (rows[:, None] * self.num_choices + np.arange(self.num_choices)).reshape(-1)
        # Use one width for all choices, because the model sees them as one batch.
        inputs = self.sequences.pad(indices, width or self.sequences.longest(indices))
        shaped = {name: values.reshape(len(rows), self.num_choices, -1) for name, values in inputs.items()}
        weights = {column.name: values[rows] for column, values in self.loss_values.items()}
        return shaped | {"label_ids": self.label_ids[rows]} | weights


def choice_features(examples: Sequence[ChoiceExample], tokenizer: FullTokenizer, max_seq_length: int) -> ChoiceFeatures:
    """Tokenize and pack each context with each of its choices.

    Args:
        examples: examples that all have the same number of choices.
        max_seq_length: maximum tokens per sequence, including special tokens.

    Raises:
        InputError: `max_seq_length` is below 5, an example has fewer than two choices or not as
            many as the first example, or a label is not the index of a choice.
    """
    check_max_seq_length(max_seq_length, pairs=True)
    cls_id, sep_id = tokenizer.ids[CLS], tokenizer.ids[SEP]
    # Store machine numbers, see classification_features.
    token_ids, segment_ids, ends = array("i"), array("b"), array("q", [0])
    num_truncated = num_tokens = num_cut = 0
    for example in examples:
        _check(example, len(examples[0].choices))
        # Tokenize the context once for all choices: most of a sequence is context.
        context = tokenizer.encode(example.context)
        for choice in example.choices:
            choice_ids = tokenizer.encode(choice)
            packed = pack(context, choice_ids, max_seq_length, cls_id, sep_id)
            token_ids.extend(packed.token_ids)
            segment_ids.extend(packed.segment_ids)
            ends.append(len(token_ids))
            num_truncated += packed.num_cut > 0
            num_tokens += len(context) + len(choice_ids)
            num_cut += packed.num_cut
    return ChoiceFeatures(
        sequences=RaggedFeatures.of(token_ids, segment_ids, ends),
        label_ids=MULTIPLE_CHOICE.reader.label_array([example.label for example in examples], ()),
        guids=tuple(example.guid for example in examples),
        cuts=CutCounts(len(ends) - 1, num_truncated, num_tokens, num_cut),
        weights=weight_array(examples),
    )


def _check(example: ChoiceExample, count: int) -> None:
    if count < 2:
        raise InputError(f"{example.guid}: has {count} endings; a choice needs two or more")
    if len(example.choices) != count:
        raise InputError(
            f"{example.guid}: has {len(example.choices)} endings where the first example has "
            f"{count}; give all of them the same number"
        )
    if example.label is not None and not 0 <= example.label < count:
        raise InputError(f"{example.guid}: the label {example.label} is none of the endings 0 to {count - 1}")


def format_choices(
    features: ChoiceFeatures, tokenizer: FullTokenizer, has_label: Sequence[bool], has_ids: bool
) -> list[str]:
    """Return the first examples as log lines: the tokens of all choices, without padding.

    `features`, `tokenizer`, `has_label` and `has_ids` are used as in
    features.classification.format_features.
    """
    lines = []
    for row, is_labelled in enumerate(has_label):
        lines += ["*** Example ***", f"guid: {features.guids[row]}"]
        for choice in range(features.num_choices):
            sequence = row * features.num_choices + choice
            lines += [f"ending: {choice}", *sequence_lines(features.sequences, sequence, tokenizer, has_ids)]
        lines.append(f"label: {features.label_ids[row] if is_labelled else 'none'}")
    return lines
