"""Token ids of contexts and choices, by hand."""

from typing import NamedTuple

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.features.choice import choice_features, format_choices
from bert_cli.features.packing import CutCounts
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.rows import write_rows
from tests.snapshots import raises


class Example(NamedTuple):
    guid: str
    context: str
    choices: tuple[str, ...]
    label: int | None
    weight: float | None = None


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "tide", "came", "in", "rain"]
    write_rows(path, tokens)
    return FullTokenizer(read_vocabulary(str(path)), do_lower_case=True)


EXAMPLES = [
    Example("dev-0", "The tide", ("came in", "rain"), 1),
    Example("dev-1", "Rain came", ("in the tide", "in"), None),
]


def test_ids_by_hand(tokenizer):
    features = choice_features(EXAMPLES, tokenizer, max_seq_length=7)
    sequences = features.sequences
    assert np.split(sequences.token_ids, sequences.offsets[1:-1])[0].tolist() == [2, 5, 6, 3, 7, 8, 3]
    assert sequences.lengths.tolist() == [7, 6, 7, 6]  # the third sequence lost its last token
    assert sequences.token_ids[13:].tolist() == [2, 9, 7, 3, 8, 5, 3, 2, 9, 7, 3, 8, 3]
    assert sequences.segment_ids[:13].tolist() == [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1]
    assert (features.label_ids.dtype, features.label_ids.tolist()) == (np.int32, [1, 0])
    assert features.guids == ("dev-0", "dev-1")
    assert features.cuts == CutCounts(4, 1, 15, 1)
    assert (len(features), features.num_choices) == (2, 2)


def test_log_lines(tokenizer):
    features = choice_features(EXAMPLES, tokenizer, max_seq_length=9)
    assert format_choices(features, tokenizer, [True], has_ids=True) == [
        "*** Example ***",
        "guid: dev-0",
        "ending: 0",
        "tokens: [CLS] the tide [SEP] came in [SEP]",
        "input_ids: 2 5 6 3 7 8 3",
        "input_mask: 1 1 1 1 1 1 1",
        "segment_ids: 0 0 0 0 1 1 1",
        "ending: 1",
        "tokens: [CLS] the tide [SEP] rain [SEP]",
        "input_ids: 2 5 6 3 9 3",
        "input_mask: 1 1 1 1 1 1",
        "segment_ids: 0 0 0 0 1 1",
        "label: 1",
    ]
    assert len(format_choices(features, tokenizer, [True, True], has_ids=True)) == 26
    assert format_choices(features, tokenizer, [False], has_ids=False)[2:] == [
        "ending: 0",
        "tokens: [CLS] the tide [SEP] came in [SEP]",
        "ending: 1",
        "tokens: [CLS] the tide [SEP] rain [SEP]",
        "label: none",
    ]


@pytest.mark.parametrize(
    ("examples", "length", "place"),
    [
        (EXAMPLES, 4, "--max_seq_length: "),
        ([Example("x-1", "a", ("b",), 0)], 8, "x-1: "),
        ([*EXAMPLES, Example("x-2", "a", ("b", "c", "d"), 0)], 8, "x-2: "),
        ([*EXAMPLES, Example("x-3", "a", ("b", "c"), 2)], 8, "x-3: "),
    ],
)
def test_invalid_examples(tokenizer, examples, length, place):
    with raises(InputError, place):
        choice_features(examples, tokenizer, length)
