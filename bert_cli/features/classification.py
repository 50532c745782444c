"""Tokenizer of classification examples: token ids, label ids and a teacher's logits."""

import dataclasses
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bert_cli.base.names import TRUNCATE, WINDOWS
from bert_cli.base.spec import EXAMPLE_WEIGHT, LABEL_DISTRIBUTION, BatchColumn
from bert_cli.features.encoded_text import LabeledText, WeightedExample
from bert_cli.features.packing import NOT_CUT, CutCounts, check_max_seq_length, describe_cuts, long_sequences
from bert_cli.features.ragged import RaggedFeatures, take_ranges
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP


@dataclass(frozen=True)
class ClassificationFeatures:
    """n examples, in reading order.

    Attributes:
        sequences: the token sequences.
        label_ids: see LabelReader.label_array.
        guids: n strings.
        cuts: tokens that examples lost to max_seq_length.
        text_tokens: int32 [n], tokens in each example before it was cut, without [CLS] and [SEP].
        cut_tokens: int32 [n], tokens that each example lost.
        row_starts: int64 [n + 1], or None if each example is one sequence. The windows of example i
            are the sequences row_starts[i]:row_starts[i + 1].
        teacher_logits: float32 [n, L], a teacher's predictions, see OutputDecoder.logits; or None.
        has_label: float32 [n], 1 for examples with a label and 0 for the rest; None without a
            teacher.
        weights: float32 [n], a factor per example's loss; None for equal weights.
        distributions: float32 [n, L], a probability per label; None without distributions.
    """

    sequences: RaggedFeatures
    label_ids: np.ndarray
    guids: tuple[str, ...]
    cuts: CutCounts = NOT_CUT
    text_tokens: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    cut_tokens: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    row_starts: np.ndarray | None = None
    teacher_logits: np.ndarray | None = None
    has_label: np.ndarray | None = None
    weights: np.ndarray | None = None
    distributions: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.guids)

    @property
    def loss_values(self) -> dict[BatchColumn, np.ndarray]:
        """Return the arrays that only the loss reads, by the column of a batch."""
        values = {EXAMPLE_WEIGHT: self.weights, LABEL_DISTRIBUTION: self.distributions}
        return {column: array for column, array in values.items() if array is not None}

    def take(self, rows: np.ndarray) -> "ClassificationFeatures":
        """Return the examples at these row numbers, int64 [n], in this order.

        `cuts` stays unchanged.
        """
        starts = self.row_starts
        sequences = rows
        if starts is not None:
            # An example's windows move with it.
            sequences, starts = take_ranges(starts, rows)
        return dataclasses.replace(
            self,
            sequences=self.sequences.take(sequences),
            label_ids=self.label_ids[rows],
            guids=tuple(self.guids[row] for row in rows),
            text_tokens=self.text_tokens[rows],
            cut_tokens=self.cut_tokens[rows],
            row_starts=starts,
            teacher_logits=_take(self.teacher_logits, rows),
            has_label=_take(self.has_label, rows),
            weights=_take(self.weights, rows),
            distributions=_take(self.distributions, rows),
        )

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """Return ProblemType.batch_columns for these examples, padded to `width` tokens.

        A teacher adds spec.DISTILLATION, weights add spec.EXAMPLE_WEIGHT, and distributions add
        spec.LABEL_DISTRIBUTION.

        Without `width`, the longest sequence decides. Features with windows use the columns of
        spec.with_windows, and fill up examples that have fewer windows than others with empty windows.
        """
        values_of_rows = {
            "label_ids": self.label_ids,
            "teacher_logits": self.teacher_logits,
            "has_label": self.has_label,
        }
        values_of_rows |= {column.name: values for column, values in self.loss_values.items()}
        columns = {name: values[rows] for name, values in values_of_rows.items() if values is not None}
        if self.row_starts is None:
            return self.sequences.pad(rows, width or self.sequences.longest(rows)) | columns
        # Texts differ in their number of windows; the largest number decides for the batch.
        starts, ends = self.row_starts[rows], self.row_starts[np.asarray(rows) + 1]
        indices = starts[:, None] + np.arange((ends - starts).max())
        inside = indices < ends[:, None]
        padded = self.sequences.pad(indices[inside], width or self.sequences.longest(indices[inside]))
        # The head recognizes an empty window by its mask of zeros.
        inputs = {name: np.zeros((*inside.shape, values.shape[1]), values.dtype) for name, values in padded.items()}
        for name, values in padded.items():
            inputs[name][inside] = values
        return inputs | columns


def _take(values: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if values is None else values[rows]


def concatenate(first: ClassificationFeatures, second: ClassificationFeatures) -> ClassificationFeatures:
    """Return both features' examples, the first's before the second's, without a teacher.

    If one has weights, the other's examples have the weight 1. If one has distributions, the other's
    are zeros: its examples have no label.
    """

    def concatenate_arrays(name: str) -> np.ndarray:
        return np.concatenate([getattr(first.sequences, name), getattr(second.sequences, name)])

    def offsets(starts: np.ndarray, more_starts: np.ndarray) -> np.ndarray:
        return np.concatenate([starts, more_starts[1:] + starts[-1]])

    # Offsets begin with 0: drop the second's 0, and count from the first's end.
    sequences = RaggedFeatures(
        concatenate_arrays("token_ids"),
        concatenate_arrays("segment_ids"),
        offsets(first.sequences.offsets, second.sequences.offsets),
    )
    has_windows = first.row_starts is not None and second.row_starts is not None
    weights = [
        np.ones(len(features), np.float32) if features.weights is None else features.weights
        for features in (first, second)
    ]
    has_weights = first.weights is not None or second.weights is not None
    return ClassificationFeatures(
        sequences,
        np.concatenate([first.label_ids, second.label_ids]),
        first.guids + second.guids,
        first.cuts + second.cuts,
        np.concatenate([first.text_tokens, second.text_tokens]),
        np.concatenate([first.cut_tokens, second.cut_tokens]),
        offsets(first.row_starts, second.row_starts) if has_windows else None,  # type: ignore[arg-type]
        weights=np.concatenate(weights) if has_weights else None,
        distributions=None if first.distributions is None else np.pad(first.distributions, ((0, len(second)), (0, 0))),
    )


def classification_features(
    examples: Sequence[LabeledText],
    labels: Sequence[str],
    tokenizer: FullTokenizer,
    max_seq_length: int,
    problem_type: ProblemType = SINGLE_LABEL,
    long_text: str = TRUNCATE,
) -> ClassificationFeatures:
    """Tokenize and pack examples into sequences with at most `max_seq_length` tokens.

    Args:
        examples: examples with labels for LabelReader.label_array.
        labels: label names, in the order of label ids.
        max_seq_length: maximum tokens per sequence, including special tokens.
        problem_type: problem type that turns labels into ids.
        long_text: treatment of long texts, see packing.long_sequences.

    Raises:
        InputError: `max_seq_length` is below 3, or below 5 if there are pairs.
    """
    check_max_seq_length(max_seq_length, pairs=any(example.text_b is not None for example in examples))
    cls_id, sep_id = tokenizer.ids[CLS], tokenizer.ids[SEP]
    # Use arrays of machine numbers: a list would keep a pointer of 8 bytes per id of 4.
    token_ids, segment_ids, ends = array("i"), array("b"), array("q", [0])
    text_tokens, cut_tokens, row_starts = array("i"), array("i"), array("q", [0])
    for example in examples:
        ids_a = tokenizer.encode(example.text_a)
        ids_b = None if example.text_b is None else tokenizer.encode(example.text_b)
        total = len(ids_a) + len(ids_b or ())
        text_tokens.append(total)
        if (
            total + (3 if ids_b else 2) <= max_seq_length
        ):  # same result as `pack` without its lists: most rows are short
            token_ids.fromlist([cls_id, *ids_a, sep_id, *ids_b, sep_id] if ids_b else [cls_id, *ids_a, sep_id])
            segment_ids.frombytes(bytes(len(ids_a) + 2) + b"\1" * (len(ids_b) + 1 if ids_b else 0))
            ends.append(len(token_ids))
            row_starts.append(len(ends) - 1)
            cut_tokens.append(0)
            continue
        sequences = long_sequences(ids_a, ids_b, max_seq_length, cls_id, sep_id, long_text)
        for packed in sequences:
            token_ids.extend(packed.token_ids)
            segment_ids.extend(packed.segment_ids)
            ends.append(len(token_ids))
        row_starts.append(len(ends) - 1)
        # All windows of a text have the same num_cut, so count only the first one.
        cut_tokens.append(sequences[0].num_cut)
    return ClassificationFeatures(
        sequences=RaggedFeatures.of(token_ids, segment_ids, ends),
        label_ids=problem_type.reader.label_array([example.label for example in examples], labels),
        guids=tuple(example.guid for example in examples),
        cuts=CutCounts(len(examples), sum(map(bool, cut_tokens)), sum(text_tokens), sum(cut_tokens)),
        text_tokens=np.array(text_tokens, np.int32),
        cut_tokens=np.array(cut_tokens, np.int32),
        row_starts=np.array(row_starts, np.int64) if long_text == WINDOWS else None,
        weights=weight_array(examples),
        distributions=_distribution_array(examples, len(labels)),
    )


def _distribution_array(examples: Sequence[LabeledText], num_labels: int) -> np.ndarray | None:
    """Return the distributions of examples, float32 [n, L], or None; zeros without a label."""
    distributions = [example.distribution for example in examples]
    if not any(distributions):
        return None
    return np.array([numbers or [0.0] * num_labels for numbers in distributions], np.float32)


def weight_array(examples: Sequence[WeightedExample]) -> np.ndarray | None:
    """Return the weights of examples, float32 [n], or None for equal ones."""
    weights = [example.weight for example in examples]
    return None if None in weights[:1] or not weights else np.array(weights, np.float32)


def format_cuts(features: ClassificationFeatures, max_seq_length: int) -> list[str]:
    """Return log lines about examples that are longer than a sequence."""
    lines = []
    count = len(features)
    # A pair may need both lines: windows over its longer text, and a cut of its shorter text.
    if features.row_starts is not None and len(features.sequences) > count:
        several = int((np.diff(features.row_starts) > 1).sum())
        lines.append(
            f"{several} of {count} examples are longer than {max_seq_length} tokens: "
            f"{len(features.sequences)} windows in all"
        )
    if features.cuts.num_cut_texts:
        lines.append(describe_cuts(features.cuts, max_seq_length, "examples"))
    return lines


def sequence_lines(sequences: RaggedFeatures, number: int, tokenizer: FullTokenizer, has_ids: bool) -> list[str]:
    """Return a sequence's tokens as log lines without padding, formatted as in the original.

    Args:
        number: number of the sequence.
        has_ids: whether lines with the ids, the mask and the segments follow.
    """
    ids, mask, segments = (values[0] for values in sequences.pad([number], sequences.longest([number])).values())
    tokens = f"tokens: {' '.join(tokenizer.convert_ids_to_tokens(ids.tolist()))}"
    if not has_ids:
        return [tokens]
    return [
        tokens,
        f"input_ids: {' '.join(map(str, ids))}",
        f"input_mask: {' '.join(map(str, mask))}",
        f"segment_ids: {' '.join(map(str, segments))}",
    ]


def format_features(
    features: ClassificationFeatures,
    labels: Sequence[str],
    tokenizer: FullTokenizer,
    has_label: Sequence[bool],
    has_ids: bool,
) -> list[str]:
    """Return the first examples as log lines without padding, formatted as in the original.

    The last line per example is its label with the index, all labels of its text, or its number.

    Args:
        features: features with at least as many examples as `has_label`.
        labels: label names, in the order of label ids.
        has_label: for each example to show, whether it has a label.
        has_ids: see sequence_lines.
    """
    lines = []
    for row, is_labelled in enumerate(has_label):
        # Show only a text's first window.
        first = row if features.row_starts is None else int(features.row_starts[row])
        lines += [
            "*** Example ***",
            f"guid: {features.guids[row]}",
            *sequence_lines(features.sequences, first, tokenizer, has_ids),
            f"label: {_label_text(features.label_ids[row], labels) if is_labelled else 'none'}",
        ]
    return lines


def _label_text(label_id: np.ndarray, labels: Sequence[str]) -> str:
    if label_id.ndim:
        names = [label for label, is_present in zip(labels, label_id, strict=True) if is_present]
        return f"{', '.join(names) or 'none'} (ids = {' '.join(str(int(is_present)) for is_present in label_id)})"
    if label_id.dtype.kind == "f":
        return str(label_id)
    return f"{labels[int(label_id)]} (id = {label_id})"
