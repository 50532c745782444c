"""ClassificationExample records -> token and label ids."""

import dataclasses
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bert_cli.base.kinds import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.packing import check_max_seq_length, pack
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP


@dataclass(frozen=True)
class ClassificationFeatures:
    """n examples in the order they were read.

    sequences      the token sequences
    label_ids      see label_array
    guids          n strings
    num_truncated  examples that lost tokens to max_seq_length
    """

    sequences: RaggedFeatures
    label_ids: np.ndarray
    guids: tuple[str, ...]
    num_truncated: int

    def __len__(self) -> int:
        return len(self.guids)

    def take(self, rows: np.ndarray) -> "ClassificationFeatures":
        """The examples of the given row numbers, in this order; int64 [n]. num_truncated stays that of all."""
        return dataclasses.replace(
            self,
            sequences=self.sequences.take(rows),
            label_ids=self.label_ids[rows],
            guids=tuple(self.guids[row] for row in rows),
        )

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """spec.OF_PROBLEM of these examples, padded to `width` tokens; None for as many as the longest has."""
        inputs = self.sequences.padded(rows, width or self.sequences.longest(rows))
        return inputs | {"label_ids": self.label_ids[rows]}


def label_array(given: Sequence, labels: Sequence[str], problem_type: str = SINGLE_LABEL) -> np.ndarray:
    """The labels of n examples as the model takes them; zeros for an example whose label is None, as in the original.

    single_label  names among `labels` -> int32 [n], the index there
    multi_label   0 or 1 for each of `labels`, in their order -> float32 [n, labels]
    regression    numbers, or their decimals as text -> float32 [n]
    """
    if problem_type == MULTI_LABEL:
        none = (0,) * len(labels)
        rows = [none if label is None else label for label in given]
        return np.array(rows, np.float32).reshape(len(rows), len(labels))
    if problem_type == REGRESSION:
        return np.array([0.0 if label is None else float(label) for label in given], np.float32)
    index = {label: number for number, label in enumerate(labels)}
    return np.array([0 if label is None else index[label] for label in given], np.int32)


def classification_features(
    examples: Sequence[ClassificationExample],
    labels: Sequence[str],
    tokenizer: FullTokenizer,
    max_seq_length: int,
    problem_type: str = SINGLE_LABEL,
) -> ClassificationFeatures:
    """Tokenize and pack all examples, each into at most `max_seq_length` tokens, special tokens included.

    The labels of the examples are such as label_array takes, which `read_examples` sees to. InputError for a `max_seq_length`
    below 3 (5 where there are pairs).
    """
    check_max_seq_length(max_seq_length, pairs=any(example.text_b is not None for example in examples))
    cls_id, sep_id = tokenizer.ids[CLS], tokenizer.ids[SEP]
    token_ids, segment_ids, ends = array("i"), array("b"), array("q", [0])
    num_truncated = 0
    for example in examples:
        ids_a = tokenizer.encode(example.text_a)
        ids_b = None if example.text_b is None else tokenizer.encode(example.text_b)
        packed = pack(ids_a, ids_b, max_seq_length, cls_id, sep_id)
        token_ids.extend(packed.token_ids)
        segment_ids.extend(packed.segment_ids)
        ends.append(len(token_ids))
        num_truncated += packed.is_truncated
    return ClassificationFeatures(
        sequences=RaggedFeatures(
            np.array(token_ids, np.int32), np.array(segment_ids, np.int8), np.array(ends, np.int64)
        ),
        label_ids=label_array([example.label for example in examples], labels, problem_type),
        guids=tuple(example.guid for example in examples),
        num_truncated=num_truncated,
    )


def format_features(
    features: ClassificationFeatures,
    labels: Sequence[str],
    tokenizer: FullTokenizer,
    count: int = 2,
) -> list[str]:
    """The first `count` examples as lines for the log, without padding, in the form of the original.

    The last line of each tells the label and its index, all labels that the text has, or the number.
    """
    lines = []
    for row in range(min(count, len(features))):
        length = features.sequences.longest([row])
        padded = {name: values[0] for name, values in features.sequences.padded([row], length).items()}
        tokens = tokenizer.convert_ids_to_tokens(padded["input_word_ids"].tolist())
        lines += [
            "*** Example ***",
            f"guid: {features.guids[row]}",
            f"tokens: {' '.join(tokens)}",
            f"input_ids: {' '.join(map(str, padded['input_word_ids']))}",
            f"input_mask: {' '.join(map(str, padded['input_mask']))}",
            f"segment_ids: {' '.join(map(str, padded['input_type_ids']))}",
            f"label: {_label_text(features.label_ids[row], labels)}",
        ]
    return lines


def _label_text(label_id: np.ndarray, labels: Sequence[str]) -> str:
    if label_id.ndim:
        names = [label for label, has in zip(labels, label_id, strict=True) if has]
        return f"{', '.join(names) or 'none'} (ids = {' '.join(str(int(has)) for has in label_id)})"
    if label_id.dtype.kind == "f":
        return str(label_id)
    return f"{labels[int(label_id)]} (id = {label_id})"
