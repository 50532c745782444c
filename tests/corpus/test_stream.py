"""Instances drawn during training: held-out documents, passes and resuming."""

from array import array
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.corpus.instances import Masking, Sampling
from bert_cli.corpus.store import Corpus, store_corpus
from bert_cli.corpus.stream import CorpusSource, split_documents
from bert_cli.corpus.text import TokenizedBlock
from bert_cli.settings.pretraining import DOCUMENTS, GROUPS, LINES, PACKED, PAIRS

# Token ids encode their source, 100·document + sentence. 0 is padding; 1 to 3 are [CLS], [SEP], [MASK].
MASKING = Masking(2, 0.15, False, 1, 2, 3, tuple(range(2000)), bytes(2000))
SAMPLING = Sampling(16, 0.1, MASKING)


@pytest.fixture
def corpus(tmp_path):
    """Yield the size of a corpus and the open corpus: 11 documents with 5 sentences of 3 to 5 tokens."""
    lengths = [3 + (document + sentence) % 3 for document in range(11) for sentence in range(5)]
    tokens = [100 * (row // 5 + 1) + row % 5 for row, length in enumerate(lengths) for _ in range(length)]
    block = TokenizedBlock(array("H", tokens), array("I", lengths), [5 * number for number in range(1, 12)], 0, 0)
    size = store_corpus([block], str(tmp_path), "H")
    with Corpus(size) as open_corpus:
        yield size, open_corpus


@given(st.integers(1, 300), st.sampled_from([0.0, 0.05, 0.5]), st.integers(0, 9))
def test_every_document_is_used_once(num_documents, share, seed):
    train, held_out = split_documents(num_documents, share, seed)
    assert sorted([*train, *held_out]) == list(range(num_documents))
    minimum = min(2, num_documents // 2) if share else 0
    assert len(held_out) == max(minimum, round(share * num_documents))
    assert len(train) >= 1


def test_only_selected_documents_are_used(corpus):
    size, open_corpus = corpus
    documents = np.array([0, 3, 7])
    source = CorpusSource(size, open_corpus, documents, SAMPLING, PAIRS, 5)
    rows = [batch for batch, _ in islice(source.stream(8), 20)]
    ids = source.format.features(np.concatenate(rows))["input_ids"]
    labels = source.format.features(np.concatenate(rows))["masked_lm_ids"]
    assert set(labels[labels > 0] // 100) == {1, 4, 8}
    assert len(ids) == 160


def test_sample_comes_from_the_first_shard(corpus):
    size, open_corpus = corpus
    source = CorpusSource(size, open_corpus, np.arange(11), SAMPLING, PAIRS, 5)
    shard = source.shard(0).tolist()
    assert len(source.sample(10)) == 10
    assert sorted(source.sample(10_000).tolist()) == sorted(shard)
    assert source.shard(0).tolist() == shard


@pytest.mark.parametrize("form", [PAIRS, DOCUMENTS, PACKED, LINES, GROUPS])
def test_stream_resumes_from_any_position(corpus, form):
    size, open_corpus = corpus
    source = CorpusSource(size, open_corpus, np.arange(11), SAMPLING, form, 5)
    batches = list(islice(source.stream(32), 30))
    assert batches[-1][1][0] >= 2  # some shards were used up
    for stop in (1, 7, 20):
        resumed = list(islice(source.stream(32, batches[stop - 1][1]), 3))
        for (rows, position), (expected_rows, expected_position) in zip(resumed, batches[stop:], strict=False):
            np.testing.assert_array_equal(rows, expected_rows)
            assert position == expected_position


def test_masks_differ_between_passes(corpus):
    size, open_corpus = corpus
    source = CorpusSource(size, open_corpus, np.arange(1), SAMPLING, DOCUMENTS, 5)
    rows = source.format.features(next(source.stream(16))[0])
    assert len({tuple(row) for row in rows["masked_lm_positions"]}) > 4


def test_one_pass_is_reproducible(corpus):
    size, open_corpus = corpus
    source = CorpusSource(size, open_corpus, np.array([2, 5]), SAMPLING, PAIRS, 5)
    rows = source.one_pass()
    np.testing.assert_array_equal(source.one_pass(), rows)
    np.testing.assert_array_equal(source.one_pass(3), rows[:3])


def test_size_of_a_pass(corpus):
    size, open_corpus = corpus
    source = CorpusSource(size, open_corpus, np.arange(11), Sampling(7, 0.0, MASKING), LINES, 5)
    assert source.pass_size() == (11, 7.0)
    source = CorpusSource(size, open_corpus, np.arange(11), Sampling(23, 0.0, MASKING), PACKED, 5)
    num_tokens = size.num_tokens + 10  # [SEP] between documents
    num_sequences, mean_length = source.pass_size()
    assert num_sequences == -(-num_tokens // 21)
    assert 20 < mean_length <= 23
