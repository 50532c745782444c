"""ClassificationExample records -> token and label ids."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.packing import check_max_seq_length, pack
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP


@dataclass(frozen=True)
class ClassificationFeatures:
    """n examples in the order they were read.

    sequences      the token sequences
    label_ids      int32 [n], index in the label list; 0 for examples without label, as in the original
    guids          n strings
    num_truncated  examples that lost tokens to max_seq_length
    """

    sequences: RaggedFeatures
    label_ids: np.ndarray
    guids: tuple[str, ...]
    num_truncated: int

    def __len__(self) -> int:
        return len(self.guids)

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """spec.CLASSIFICATION of these examples, padded to `width` tokens; None for as many as the longest has."""
        inputs = self.sequences.padded(rows, width or self.sequences.longest(rows))
        return inputs | {"label_ids": self.label_ids[rows]}


def classification_features(
    examples: Sequence[ClassificationExample], labels: Sequence[str], tokenizer: FullTokenizer, max_seq_length: int
) -> ClassificationFeatures:
    """Tokenize and pack all examples, each into at most `max_seq_length` tokens, special tokens included.

    The labels of the examples must be among `labels`, which `read_examples` sees to. InputError for a `max_seq_length`
    below 3 (5 where there are pairs).
    """
    check_max_seq_length(max_seq_length, pairs=any(example.text_b is not None for example in examples))
    label_index = {label: index for index, label in enumerate(labels)}
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
    label_ids = [0 if example.label is None else label_index[example.label] for example in examples]
    return ClassificationFeatures(
        sequences=RaggedFeatures(
            np.array(token_ids, np.int32), np.array(segment_ids, np.int8), np.array(ends, np.int64)
        ),
        label_ids=np.array(label_ids, np.int32),
        guids=tuple(example.guid for example in examples),
        num_truncated=num_truncated,
    )


def format_features(
    features: ClassificationFeatures,
    labels: Sequence[str],
    tokenizer: FullTokenizer,
    count: int = 2,
) -> list[str]:
    """The first `count` examples as lines for the log, without padding, in the form of the original."""
    lines = []
    for row in range(min(count, len(features))):
        length = features.sequences.longest([row])
        padded = {name: values[0] for name, values in features.sequences.padded([row], length).items()}
        tokens = tokenizer.convert_ids_to_tokens(padded["input_word_ids"].tolist())
        label_id = int(features.label_ids[row])
        lines += [
            "*** Example ***",
            f"guid: {features.guids[row]}",
            f"tokens: {' '.join(tokens)}",
            f"input_ids: {' '.join(map(str, padded['input_word_ids']))}",
            f"input_mask: {' '.join(map(str, padded['input_mask']))}",
            f"segment_ids: {' '.join(map(str, padded['input_type_ids']))}",
            f"label: {labels[label_id]} (id = {label_id})",
        ]
    return lines
