"""Text files as a corpus on disk."""

import os

from bert_cli.base.errors import InputError
from bert_cli.corpus.workers import Workers
from bert_cli.runs.preparation.corpus import (
    Tokenization,
    choose_num_workers,
    hash_corpus,
    read_corpus,
    showing_reading_progress,
)
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import raises

IDS = {word: index for index, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two"))}
TOKENIZATION = Tokenization(FullTokenizer(IDS), files_end_documents=False)


def read(folder, text: str, name: str = "corpus"):
    path = folder / f"{name}.txt"
    path.write_text(text)
    (folder / name).mkdir()
    with Workers(1, TOKENIZATION) as workers:
        return read_corpus([str(path)], workers, str(folder / name))


def test_counts(tmp_path):
    size = read(tmp_path, "one two three\none\n\ntwo\n")
    assert (size.num_documents, size.num_sentences, size.num_tokens, size.num_unknown) == (2, 3, 5, 1)


def test_texts_without_sentence_are_refused(tmp_path):
    with raises(InputError, "--input_file"):
        read(tmp_path, "\n\n")


def test_the_hash_depends_on_where_documents_end(tmp_path):
    hashes = [
        hash_corpus(read(tmp_path, text, name))
        for name, text in (("a", "one\ntwo\n"), ("b", "one\n\ntwo\n"), ("c", "one\ntwo\n"))
    ]
    assert hashes[0] == hashes[2] != hashes[1]
    assert len(hashes[0]) == 16


def test_small_texts_need_one_process(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    assert choose_num_workers([str(tmp_path / "a")]) == 1
    with open(tmp_path / "b", "wb") as file:
        file.truncate(20_000_000)  # sparse
    assert choose_num_workers([str(tmp_path / "b")]) == os.cpu_count()


def test_many_files_are_not_all_named(tmp_path, caplog):
    paths = [str(tmp_path / f"{number}.txt") for number in range(22)]
    for path in paths:
        open(path, "wb").close()
    with caplog.at_level("INFO", "bert_cli"), showing_reading_progress(paths):
        pass
    assert caplog.messages[0] == "*** Reading from input files ***"
    assert caplog.messages[20:22] == [f"  {paths[19]}", "  … and 2 more"]
