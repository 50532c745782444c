"""Treatment of texts longer than a sequence, by hand: [CLS] is 101, [SEP] is 102."""

import numpy as np
import pytest

from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import classification_features, format_cuts
from bert_cli.features.packing import CutCounts, head_and_tail, long_sequences
from bert_cli.features.ragged import row_lengths
from bert_cli.text.tokenization import FullTokenizer


def make_ids(a, b, length, long_text):
    return [sequence.token_ids for sequence in long_sequences(a, b, length, 101, 102, long_text)]


def test_head_and_tail():
    assert list(head_and_tail(range(600), 510)) == [*range(128), *range(600 - 382, 600)]
    assert list(head_and_tail(range(4), 4)) == [0, 1, 2, 3]
    assert list(head_and_tail(range(9), 5)) == [0, 1, 6, 7, 8]
    assert list(head_and_tail(range(3), 1)) == [0]


@pytest.mark.parametrize(
    ("a", "b", "long_text", "expected"),
    [
        ([1, 2, 3, 4, 5], None, "truncate", [[101, 1, 2, 3, 4, 102]]),
        ([1, 2, 3, 4, 5], None, "head_tail", [[101, 1, 3, 4, 5, 102]]),
        ([1, 2, 3, 4, 5], None, "windows", [[101, 1, 2, 3, 4, 102], [101, 3, 4, 5, 102]]),
        ([1, 2, 3, 4], None, "windows", [[101, 1, 2, 3, 4, 102]]),
        ([1, 2, 3, 4, 5, 6, 7], None, "windows", [[101, 1, 2, 3, 4, 102], [101, 3, 4, 5, 6, 102], [101, 5, 6, 7, 102]]),
        ([1], [2, 3, 4], "truncate", [[101, 1, 102, 2, 3, 102]]),
        ([1], [2, 3, 4], "head_tail", [[101, 1, 102, 2, 4, 102]]),
        ([1], [2, 3, 4], "windows", [[101, 1, 102, 2, 3, 102], [101, 1, 102, 3, 4, 102]]),
        ([2, 3, 4], [1], "windows", [[101, 2, 3, 102, 1, 102], [101, 3, 4, 102, 1, 102]]),
        ([1, 2], [3, 4], "windows", [[101, 1, 102, 3, 4, 102]]),
        ([], [1, 2, 3, 4], "windows", [[101, 102, 1, 2, 3, 102], [101, 102, 2, 3, 4, 102]]),
        ([], None, "windows", [[101, 102]]),
    ],
)
def test_sequences(a, b, long_text, expected):
    assert make_ids(a, b, 6, long_text) == expected


@pytest.fixture
def features():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d", "e"]
    tokenizer = FullTokenizer({word: number for number, word in enumerate(words)})

    def make(long_text, *texts):
        examples = [ClassificationExample(str(n), *text, "x") for n, text in enumerate(texts)]
        return classification_features(examples, ("x", "y"), tokenizer, 5, long_text=long_text)

    return make


def test_batches_of_windows(features):
    actual = features("windows", ("a b c d e", None), ("a", None), ("a b c d", None))
    assert actual.row_starts.tolist() == [0, 3, 4, 6]
    assert actual.text_tokens.tolist() == [5, 1, 4]
    assert row_lengths(actual).tolist() == [15, 3, 5 + 5]
    batch = actual.batch(np.array([1, 2]))
    assert batch["input_word_ids"].tolist() == [
        [[2, 4, 3, 0, 0], [0, 0, 0, 0, 0]],
        [[2, 4, 5, 6, 3], [2, 5, 6, 7, 3]],
    ]
    assert batch["input_mask"].sum(axis=2).tolist() == [[3, 0], [5, 5]]
    assert batch["label_ids"].tolist() == [0, 0]
    assert actual.batch(np.array([1]), 5)["input_word_ids"].tolist() == [[[2, 4, 3, 0, 0]]]
    assert format_cuts(actual, 5) == ["2 of 3 examples are longer than 5 tokens: 6 windows in all"]


def test_cuts_are_counted(features):
    texts = [("a b c d e", None), ("a", None), ("a b c", "d e")]
    for long_text in ("truncate", "head_tail"):
        actual = features(long_text, *texts)
        assert (actual.cuts, actual.row_starts) == (CutCounts(3, 2, 11, 2 + 3), None)
        assert format_cuts(actual, 5) == ["2 of 3 examples were cut to 5 tokens: 5 of 11 tokens (45.5%) were left out"]
    actual = features("windows", *texts)  # the pair's "d e" is cut to "d", and each window has one more token
    assert actual.cuts == CutCounts(3, 1, 11, 1)
    assert len(actual.sequences) == 3 + 1 + 3
    assert format_cuts(actual, 5)[1] == "1 of 3 examples were cut to 5 tokens: 1 of 11 tokens (9.1%) were left out"
