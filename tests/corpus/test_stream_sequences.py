"""Sequences of single texts: whole sentences, packed documents, and lines."""

import random
from array import array
from itertools import accumulate

import pytest

from bert_cli.corpus.instances import Masking, Sampling
from bert_cli.corpus.store import Corpus, store_corpus
from bert_cli.corpus.stream import document_sequences, grouped_sequences, line_sequences, packed_sequences
from bert_cli.corpus.text import TokenizedBlock

CLS, SEP, MASK = 1, 2, 3
# Nearly nothing is masked: one token, which the label restores.
MASKING = Masking(1, 1e-9, False, CLS, SEP, MASK, (4,), bytes(2000))


def store(folder, *documents: list[int]) -> Corpus:
    """Return a corpus of documents with sentences of these lengths; the tokens count from 10."""
    lengths = [length for document in documents for length in document]
    ends = list(accumulate(map(len, documents)))
    tokens = array("H", range(10, 10 + sum(lengths)))
    return Corpus(store_corpus([TokenizedBlock(tokens, array("I", lengths), ends, 0, 0)], str(folder), "H"))


def texts_of(instances) -> list[list[int]]:
    """Return the tokens between [CLS] and the last [SEP], without masks."""
    texts = []
    for instance in instances:
        ids = list(instance.token_ids)
        assert not instance.is_random_next
        assert instance.segment_start == len(ids)
        for position, label in zip(instance.positions, instance.labels, strict=True):
            assert label not in (CLS, SEP)
            ids[position] = label
        assert (ids[0], ids[-1]) == (CLS, SEP)
        texts.append(ids[1:-1])
    return texts


@pytest.mark.parametrize("max_seq_length", [3, 5, 9, 16, 60])
@pytest.mark.parametrize("sequences", [document_sequences, packed_sequences])
def test_no_token_is_lost(tmp_path, sequences, max_seq_length):
    documents = [[3 + (document + sentence) % 3 for sentence in range(5)] for document in range(11)]
    with store(tmp_path, *documents) as corpus:
        texts = texts_of(sequences(corpus, range(11), Sampling(max_seq_length, 0.0, MASKING), random.Random(4)))
    assert all(1 <= len(text) <= max_seq_length - 2 for text in texts)
    tokens = [token for text in texts for token in text if token != SEP]
    assert tokens == list(range(10, 10 + sum(map(sum, documents))))


def test_sequences_of_a_document_end_at_sentences_that_fit(tmp_path):
    with store(tmp_path, [3, 4, 5, 3, 4]) as corpus:
        texts = texts_of(document_sequences(corpus, [0], Sampling(12, 0.0, MASKING), random.Random(1)))
    assert list(map(len, texts)) == [7, 8, 4]


def test_packed_documents_are_joined_with_a_separator(tmp_path):
    """No sequence but the last one is short, except to end with one [SEP], not two."""
    with store(tmp_path, [2, 1], [4], [1], [8]) as corpus:
        texts = texts_of(packed_sequences(corpus, [0, 1, 2, 3], Sampling(8, 0.1, MASKING), random.Random(1)))
    assert texts == [[10, 11, 12, SEP, 13, 14], [15, 16, SEP, 17, SEP, 18], [19, 20, 21, 22, 23, 24], [25]]
    with store(tmp_path, [5], [6]) as corpus:
        texts = texts_of(packed_sequences(corpus, [1, 0], Sampling(8, 0.1, MASKING), random.Random(1)))
        assert texts == [[15, 16, 17, 18, 19, 20], [10, 11, 12, 13, 14]]
        texts = texts_of(packed_sequences(corpus, [0, 1], Sampling(8, 0.1, MASKING), random.Random(1)))
        assert texts == [[10, 11, 12, 13, 14], [15, 16, 17, 18, 19, 20]]


def test_separators_are_never_masked(tmp_path):
    every = Masking(20, 1.0, False, CLS, SEP, MASK, (4,), bytes(2000))
    with store(tmp_path, [1], [1], [2]) as corpus:
        (instance,) = packed_sequences(corpus, [0, 1, 2], Sampling(16, 0.0, every), random.Random(1))
    assert instance.positions == [1, 3, 5, 6]
    assert instance.labels == [10, 11, 12, 13]


def test_lines_are_cut(tmp_path):
    with store(tmp_path, [3], [9], [6]) as corpus:
        instances = list(line_sequences(corpus, [1, 0, 2], Sampling(8, 0.1, MASKING), random.Random(1)))
    assert texts_of(instances) == [[13, 14, 15, 16, 17, 18], [10, 11, 12], [22, 23, 24, 25, 26, 27]]
    assert [instance.num_dropped for instance in instances] == [3, 0, 0]


@pytest.mark.parametrize("max_seq_length", [1, 3, 5, 9, 16, 200])
def test_groups_are_cut_from_lines_with_special_tokens(tmp_path, max_seq_length):
    """The sequences in a row are the stream of run_mlm.py: [CLS] and [SEP] around each line."""
    with store(tmp_path, [3], [9], [1], [6]) as corpus:
        order = [1, 0, 2, 3]
        instances = list(grouped_sequences(corpus, order, Sampling(max_seq_length, 0.1, MASKING), random.Random(1)))
    stream = []
    for instance in instances:
        ids = list(instance.token_ids)
        assert instance.segment_start == len(ids)
        for position, label in zip(instance.positions, instance.labels, strict=True):
            ids[position] = label
        stream += ids
    lines = [range(13, 22), range(10, 13), [22], range(23, 29)]
    expected = [token for line in lines for token in (CLS, *line, SEP)]
    assert all(len(instance.token_ids) == max_seq_length for instance in instances[:-1])
    # A last sequence of [SEP] alone has nothing to predict and is left out.
    assert stream == expected[:-1] if len(expected) % max_seq_length == 1 else stream == expected


def test_special_tokens_of_groups_are_never_masked(tmp_path):
    every = Masking(20, 1.0, False, CLS, SEP, MASK, (4,), bytes(2000))
    with store(tmp_path, [1], [1], [2]) as corpus:
        first, second = grouped_sequences(corpus, [0, 1, 2], Sampling(8, 0.0, every), random.Random(1))
    assert (first.positions, first.labels) == ([1, 4, 7], [10, 11, 12])
    assert (second.positions, second.labels) == ([0], [13])
