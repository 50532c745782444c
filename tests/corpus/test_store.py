"""Tokenized corpora in three files."""

from array import array

import pytest

from bert_cli.base.errors import InputError
from bert_cli.corpus import store
from bert_cli.corpus.store import Corpus, CorpusSize, StoredArray, check_has_sentences, store_corpus
from bert_cli.corpus.text import TokenizedBlock
from tests.snapshots import raises

# Documents: one of two sentences, over both blocks; one without sentence; one of one sentence.
BLOCKS = [
    TokenizedBlock(array("H", [5, 6, 7]), array("I", [2, 1]), [2, 2], 1, 10),
    TokenizedBlock(array("H", [8]), array("I", [1]), [], 0, 14),
]


def test_offsets_and_counts(tmp_path):
    positions: list[int] = []
    size = store_corpus(BLOCKS, str(tmp_path), "H", positions.append)
    assert size == CorpusSize(str(tmp_path), "H", 2, 3, 4, num_unknown=1, num_single=1)
    assert positions == [10, 14]
    assert array("H", (tmp_path / "token_ids").read_bytes()).tolist() == [5, 6, 7, 8]
    assert array("q", (tmp_path / "sentence_offsets").read_bytes()).tolist() == [0, 2, 3, 4]
    assert array("q", (tmp_path / "document_offsets").read_bytes()).tolist() == [0, 2, 3]


def test_documents_are_read_slice_by_slice(tmp_path):
    with Corpus(store_corpus(BLOCKS, str(tmp_path), "H")) as corpus:
        assert [corpus.document(number) for number in range(corpus.num_documents)] == [(0, 2), (2, 3)]
        assert corpus.token_ids[2:4].tolist() == [7, 8]


@pytest.mark.parametrize("largest_held", [0, 1 << 22])
def test_large_files_are_not_held_in_memory(tmp_path, monkeypatch, largest_held):
    monkeypatch.setattr(store, "_HELD", largest_held)
    (tmp_path / "a").write_bytes(array("q", range(5)).tobytes())
    stored = StoredArray(str(tmp_path / "a"), "q")
    assert stored[1:4].tolist() == [1, 2, 3]
    stored.close()


def test_names_in_reports():
    assert CorpusSize("", "H", 1, 2, 3, 4, 5).counts == {
        "documents": 1,
        "single_sentence_documents": 5,
        "sentences": 2,
        "corpus_tokens": 3,
        "unknown_tokens": 4,
    }


def test_a_corpus_needs_a_sentence():
    check_has_sentences(1)
    with raises(InputError, "--input_file"):
        check_has_sentences(0)
