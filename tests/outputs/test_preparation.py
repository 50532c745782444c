"""Log lines of data preparation: instances, tables of figures, and warnings."""

import re

import numpy as np
import pytest

from bert_cli.outputs.preparation import (
    format_instance,
    pretraining_data_shares,
    pretraining_data_warnings,
    pretraining_table,
    text_warnings,
    vocabulary_table,
)
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import check_message

COUNTS = {
    "documents": 2000,
    "single_sentence_documents": 1,
    "sentences": 64720,
    "corpus_tokens": 1_000_000,
    "unknown_tokens": 100,
    "instances": 1000,
    "instance_tokens": 100_000,
    "predictions": 15_000,
    "random_next": 550,
    "truncated_instances": 700,
    "dropped_tokens": 12_345,
    "reading_seconds": 1.25,
    "total_seconds": 10.0,
    "instances_per_second": 100.0,
    "tokens_per_second": 10_000.0,
}


def report(**changes):
    counts = COUNTS | changes
    return counts | pretraining_data_shares(counts)


def test_shares():
    assert pretraining_data_shares(COUNTS) == {
        "random_next_share": 0.55,
        "masked_share": 0.15,
        "truncated_share": 0.7,
        "dropped_share": 12_345 / (97_000 + 12_345),
        "unknown_share": 0.0001,
    }


def test_pretraining_table():
    lines = [re.sub(r" {2,}", " | ", line.strip()) for line in pretraining_table(report())]
    check_message(lines)


def test_table_columns_are_aligned():
    ends = {re.search(r"[\d,.]+(?=  |$)", line).end() for line in pretraining_table(report())}
    assert len(ends) == 1


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"documents": 1, "single_sentence_documents": 0}, ["the text is one document"]),
        ({"documents": 9, "single_sentence_documents": 9, "random_next": 1000}, ["every document is one sentence"]),
        (
            {"documents": 9, "single_sentence_documents": 8, "random_next": 980},
            ["98% of the next sentences are random"],
        ),
        (
            {"documents": 9, "single_sentence_documents": 0, "random_next": 1000},
            ["100% of the next sentences are random ones: lines fill a sequence by themselves; put one sentence"],
        ),
        (
            {"dropped_tokens": 1_903_000},
            ["1,903,000 of 2,000,000 tokens (95.2%) were cut off from 1,000 sequences, as lines are too long"],
        ),
        ({"dropped_tokens": 97_000}, []),
        (
            {"documents": 9, "single_sentence_documents": 9, "random_next": 1000, "dropped_tokens": 200_000},
            ["every document is one sentence", "200,000 of 297,000 tokens"],
        ),
        ({"inside_predictions": 0}, ["--do_whole_word_mask changes nothing"]),
        ({"inside_predictions": 1}, []),
        ({"unknown_tokens": 60_000}, ["6% of the tokens are [UNK]"]),
        ({"documents": 1, "unknown_tokens": 60_000}, ["the text is one document", "6% of the tokens"]),
    ],
)
def test_warnings(changes, expected):
    lines = pretraining_data_warnings(report(**changes))
    assert [line[: len(start)] for line, start in zip(lines, expected, strict=True)] == expected


@pytest.mark.parametrize("changes", [{"documents": 1}, {"random_next": 1000}, {"single_sentence_documents": 2000}])
def test_without_next_sentences_documents_may_be_unusual(changes):
    assert text_warnings(report(**changes), has_pairs=False) == []
    assert len(text_warnings(report(**changes))) == 1


def test_an_instance_is_logged_as_in_the_original():
    tokenizer = FullTokenizer({"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[MASK]": 3, "sun": 4, "rain": 5, "[UNK]": 6})
    features = {
        "input_ids": np.array([1, 4, 2, 3, 2, 0]),
        "input_mask": np.array([1, 1, 1, 1, 1, 0]),
        "segment_ids": np.array([0, 0, 0, 1, 1, 0]),
        "masked_lm_positions": np.array([3, 0]),
        "masked_lm_ids": np.array([5, 0]),
        "masked_lm_weights": np.array([1, 0], np.float32),
        "next_sentence_labels": np.array([1]),
    }
    assert format_instance(features, tokenizer) == [
        "*** Example ***",
        "tokens: [CLS] sun [SEP] [MASK] [SEP]",
        "input_ids: 1 4 2 3 2",
        "input_mask: 1 1 1 1 1",
        "segment_ids: 0 0 0 1 1",
        "masked_lm_positions: 3",
        "masked_lm_ids: 5",
        "masked_lm_weights: 1.0",
        "next_sentence_labels: 1",
    ]


VOCABULARY = {
    "words": 12345,
    "distinct_words": 678,
    "vocab_size": 1000,
    "pieces_per_word": 1.25,
    "unknown_share": 0.0004,
    "reading_seconds": 1.25,
    "total_seconds": 10.0,
}


def vocabulary_rows(report):
    return [re.sub(r" {2,}", " | ", line.strip()) for line in vocabulary_table(report)]


def test_vocabulary_table():
    assert vocabulary_rows(VOCABULARY) == [
        "words | 12,345",
        "distinct words | 678",
        "vocabulary | 1,000",
        "pieces/word | 1.250",
        "unknown words | 0.040%",
        "seconds | 10.0 | 1.2 of them for reading",
    ]


def test_an_extended_vocabulary_is_compared_with_the_old_one():
    before = {"vocab_size": 998, "pieces_per_word": 1.5, "unknown_share": 0.01}
    assert vocabulary_rows(VOCABULARY | {"before": before})[2:5] == [
        "vocabulary | 1,000 | 998 before",
        "pieces/word | 1.250 | 1.500 before",
        "unknown words | 0.040% | 1.000% before",
    ]
