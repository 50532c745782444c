"""Text files as a stored corpus: documents, sentences, and errors with line numbers."""

import gzip
import io
import itertools
import os
import sys
from array import array

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.lines import find_inputs
from bert_cli.corpus.store import Corpus, StoredArray, store_corpus
from bert_cli.corpus.text import read_blocks, token_typecode, tokenize_block, total_size
from bert_cli.text.tokenization import FullTokenizer
from tests.rows import write_rows
from tests.snapshots import raises

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two", "three", "four", "five", "##s"]
TOKENIZER = FullTokenizer({token: index for index, token in enumerate(VOCABULARY)})


def read_documents(folder, paths, files_end_documents=False, block_size=1 << 19) -> list[list[str]]:
    """Store the files as a corpus, and return its documents.

    Returns:
        documents as lists of sentences, each with its tokens joined by spaces.
    """
    store = folder / "store"
    store.mkdir(exist_ok=True)
    blocks = (tokenize_block(block, TOKENIZER, "H", files_end_documents) for block in read_blocks(paths, block_size))
    size = store_corpus(blocks, str(store), "H")
    stored = []
    with Corpus(size) as corpus:
        for number in range(size.num_documents):
            start, stop = corpus.document(number)
            bounds = corpus.sentence_offsets[start : stop + 1].tolist()
            stored.append(
                [
                    " ".join(TOKENIZER.convert_ids_to_tokens(corpus.token_ids[left:right]))
                    for left, right in itertools.pairwise(bounds)
                ]
            )
    assert size.num_sentences == sum(map(len, stored))
    assert size.num_tokens == sum(len(sentence.split()) for document in stored for sentence in document)
    assert size.num_single == sum(len(document) == 1 for document in stored)
    return stored


def write(folder, data: str | bytes, name="text.txt") -> str:
    return str(write_rows(folder / name, data))


@pytest.mark.parametrize("block_size", [1, 2, 7, 1 << 19])
def test_blank_lines_end_documents(tmp_path, block_size):
    path = write(tmp_path, "\n\nOne two.\nThree\n\n \t\u3000\r\nfour\r\n\r\nfive twos")
    assert read_documents(tmp_path, [path], block_size=block_size) == [
        ["one two [UNK]", "three"],
        ["four"],
        ["five two ##s"],
    ]


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_newlines_at_the_end_make_no_document(tmp_path, end):
    assert read_documents(tmp_path, [write(tmp_path, f"one\ntwo{end}")]) == [["one", "two"]]


def test_lines_without_tokens_are_skipped_and_end_no_document(tmp_path):
    path = write(tmp_path, "\ufeffone\n\u200b\ntwo\n\ufeff\nthree\n")
    assert read_documents(tmp_path, [path]) == [["one", "two", "three"]]


def test_other_line_separators_are_ordinary_characters(tmp_path):
    path = write(tmp_path, "one\u2028two\x85three\x0bfour\rfive\n")
    # U+2028 and \r count as spaces; the other two are deleted.
    assert read_documents(tmp_path, [path]) == [["one [UNK] five"]]
    assert read_documents(tmp_path, [write(tmp_path, "one\u2028two\n")]) == [["one two"]]


def test_documents_continue_in_the_next_file_as_in_the_original(tmp_path):
    paths = [
        write(tmp_path, "one\ntwo", "a"),
        write(tmp_path, "three\n\nfour\n\n", "b"),
        write(tmp_path, "five\n", "c"),
    ]
    assert read_documents(tmp_path, paths) == [["one", "two", "three"], ["four"], ["five"]]
    assert read_documents(tmp_path, paths, True) == [["one", "two"], ["three"], ["four"], ["five"]]


def test_empty_files(tmp_path):
    paths = [write(tmp_path, "", "a"), write(tmp_path, "one", "b"), write(tmp_path, "\n", "c")]
    assert read_documents(tmp_path, paths) == [["one"]]
    assert read_documents(tmp_path, paths[:1]) == []


def test_nul_is_deleted_as_in_the_original(tmp_path):
    assert read_documents(tmp_path, [write(tmp_path, "o\0ne\n")]) == [["one"]]


def test_gzip_is_recognized_by_its_content(tmp_path):
    compressed = gzip.compress(b"one\n\n") + gzip.compress(b"two\n")  # two members, as from `cat a.gz b.gz`
    path = write(tmp_path, compressed)
    assert read_documents(tmp_path, [path]) == [["one"], ["two"]]
    assert total_size([path]) == len(compressed)
    assert [block.position for block in read_blocks([path, path])][-1] == 2 * len(compressed)


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(tmp_path, monkeypatch, packed):
    data = b"one\n\ntwo"
    stream = io.BufferedReader(io.BytesIO(gzip.compress(data) if packed else data))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    assert find_inputs("-") == ["-"]
    assert total_size(["-"]) is None
    assert read_documents(tmp_path, ["-"]) == [["one"], ["two"]]


@pytest.mark.parametrize("block_size", [3, 9, 1 << 19])
def test_file_that_is_not_utf_8_is_refused(tmp_path, block_size):
    path = write(tmp_path, b"one\ntwo\nthr\xe9e\nfour\n")
    with raises(InputError, "text.txt:3: "):
        read_documents(tmp_path, [path], block_size=block_size)


def test_utf_16_is_recognized_and_refused(tmp_path):
    with raises(InputError, "text.txt:1: "):
        read_documents(tmp_path, [write(tmp_path, "one\n".encode("utf-16"))])


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:30] + b"xx" + data[32:]])
def test_damaged_gzip_is_refused(tmp_path, damage):
    path = write(tmp_path, damage(gzip.compress(b"".join(b"one %d\n" % number for number in range(99)))))
    with raises(InputError, "text.txt: "):
        read_documents(tmp_path, [path])


def test_matches_are_sorted_within_each_pattern(tmp_path, monkeypatch):
    for name in ("b1.txt", "b10.txt", "a.txt", "b2.txt", "c[1].txt"):
        write(tmp_path, "one", name)
    monkeypatch.chdir(tmp_path)
    assert find_inputs("b*.txt,a.txt,c[1].txt,a.txt") == [
        "b1.txt",
        "b10.txt",
        "b2.txt",
        "a.txt",
        "c[1].txt",  # a file name, though it looks like a pattern
        "a.txt",
    ]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("none*.txt", "'none*.txt': "),
        ("text.txt,none.txt", "'none.txt': "),
        ("text.txt,", ""),
        ("folder", "folder: "),
        ("-,-", "--input_file=-,-: "),
    ],
)
def test_missing_or_repeated_inputs_are_refused(tmp_path, monkeypatch, value, place):
    write(tmp_path, "one")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with raises(InputError, place):
        find_inputs(value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_has_no_size(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert total_size([str(tmp_path / "pipe")]) is None


@pytest.mark.parametrize(("vocab_size", "expected"), [(30522, "H"), (65536, "H"), (65537, "I")])
def test_ids_of_a_large_vocabulary_take_four_bytes(vocab_size, expected):
    assert token_typecode(vocab_size) == expected


@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_stored_array_gives_the_same_slices_from_memory_and_file(tmp_path, monkeypatch, limit):
    monkeypatch.setattr("bert_cli.corpus.store._HELD", limit)
    (tmp_path / "numbers").write_bytes(array("q", range(0, 1000, 7)))
    stored = StoredArray(str(tmp_path / "numbers"), "q")
    assert [stored[start:stop].tolist() for start, stop in ((0, 3), (5, 5), (141, 143))] == [[0, 7, 14], [], [987, 994]]
    stored.close()
