"""Instances drawn while training goes on: held-out documents, passes, going on from a position."""

import random
from array import array
from itertools import accumulate, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.corpus.instances import Masking, Sampling, document_sequences
from bert_cli.corpus.store import Corpus, store_corpus
from bert_cli.corpus.stream import CorpusSource, split_documents
from bert_cli.corpus.text import TokenizedBlock

# Token ids tell where they come from: 100·document + sentence; 0 pads, 1 to 3 are [CLS], [SEP], [MASK].
MASKING = Masking(2, 0.15, False, 1, 2, 3, tuple(range(2000)), bytes(2000))
SAMPLING = Sampling(16, 0.1, MASKING)


@pytest.fixture
def corpus(tmp_path):
    """Eleven documents of five sentences, of three to five tokens each."""
    lengths = [3 + (document + sentence) % 3 for document in range(11) for sentence in range(5)]
    tokens = [100 * (row // 5 + 1) + row % 5 for row, length in enumerate(lengths) for _ in range(length)]
    block = TokenizedBlock(array("H", tokens), array("I", lengths), [5 * number for number in range(1, 12)], 0, 0)
    size = store_corpus([block], str(tmp_path), "H")
    with Corpus(size) as opened:
        yield size, opened


@given(st.integers(1, 300), st.sampled_from([0.0, 0.05, 0.5]), st.integers(0, 9))
def test_every_document_is_in_one_part(num_documents, share, seed):
    train, held_out = split_documents(num_documents, share, seed)
    assert sorted([*train, *held_out]) == list(range(num_documents))
    least = min(2, num_documents // 2) if share else 0
    assert len(held_out) == max(least, round(share * num_documents))
    assert len(train) >= 1


def test_only_the_given_documents_are_used(corpus):
    size, opened = corpus
    documents = np.array([0, 3, 7])
    source = CorpusSource(size, opened, documents, SAMPLING, True, 5)
    rows = [batch for batch, _ in islice(source.stream(8), 20)]
    ids = source.format.features(np.concatenate(rows))["input_ids"]
    labels = source.format.features(np.concatenate(rows))["masked_lm_ids"]
    assert set(labels[labels > 0] // 100) == {1, 4, 8}
    assert len(ids) == 160


def test_a_sample_is_drawn_from_what_training_sees(corpus):
    size, opened = corpus
    source = CorpusSource(size, opened, np.arange(11), SAMPLING, True, 5)
    first = source.shard(0).tolist()
    assert len(source.sample(10)) == 10
    assert sorted(source.sample(10_000).tolist()) == sorted(first)
    assert source.shard(0).tolist() == first


@pytest.mark.parametrize("pairs", [True, False])
def test_the_stream_goes_on_from_any_position(corpus, pairs):
    size, opened = corpus
    source = CorpusSource(size, opened, np.arange(11), SAMPLING, pairs, 5)
    batches = list(islice(source.stream(32), 30))
    assert batches[-1][1][0] >= 2  # some shards were used up
    for stop in (1, 7, 20):
        again = list(islice(source.stream(32, batches[stop - 1][1]), 3))
        for (rows, position), (expected, behind) in zip(again, batches[stop:], strict=False):
            np.testing.assert_array_equal(rows, expected)
            assert position == behind


def test_masks_are_drawn_anew_in_each_pass(corpus):
    size, opened = corpus
    source = CorpusSource(size, opened, np.arange(1), SAMPLING, False, 5)
    rows = source.format.features(next(source.stream(16))[0])
    assert len({tuple(row) for row in rows["masked_lm_positions"]}) > 4


def test_evaluation_is_always_the_same(corpus):
    size, opened = corpus
    source = CorpusSource(size, opened, np.array([2, 5]), SAMPLING, True, 5)
    whole = source.one_pass()
    np.testing.assert_array_equal(source.one_pass(), whole)
    np.testing.assert_array_equal(source.one_pass(3), whole[:3])


def test_single_sequences_lose_no_token(corpus):
    _, opened = corpus
    plain = Masking(1, 1e-9, False, 1, 2, 3, (4,), bytes(2000))
    for max_seq_length in (5, 9, 16, 60):
        for number in range(11):
            rng = random.Random(number)
            found = list(document_sequences(opened, number, Sampling(max_seq_length, 0.5, plain), rng))
            tokens = []
            for instance in found:
                ids = list(instance.token_ids)
                for position, label in zip(instance.positions, instance.labels, strict=True):
                    ids[position] = label
                assert (ids[0], ids[-1]) == (1, 2)
                assert 3 <= len(ids) <= max_seq_length
                tokens += ids[1:-1]
            start, end = opened.document(number)
            bounds = opened.sentence_offsets[start : end + 1]
            assert tokens == list(opened.token_ids[bounds[0] : bounds[-1]])


def test_single_sequences_end_with_sentences_where_these_fit(corpus):
    _, opened = corpus
    plain = Masking(1, 1e-9, False, 1, 2, 3, (4,), bytes(2000))
    found = document_sequences(opened, 0, Sampling(12, 0.0, plain), random.Random(1))
    lengths = [len(instance.token_ids) - 2 for instance in found]
    assert lengths == [7, 8, 4]  # sentences of 3, 4, 5, 3 and 4 tokens in sequences of at most 10
    assert list(accumulate(lengths))[-1] == 19
