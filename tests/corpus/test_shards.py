"""Instance shards: their number, their documents and their files."""

import collections
from array import array

import pytest

from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.shards import (
    InstanceShard,
    ShardJob,
    choose_num_shards,
    write_shard,
    write_sharded,
    write_single_stream,
)
from bert_cli.corpus.store import CorpusSize, store_corpus
from bert_cli.corpus.text import TokenizedBlock
from bert_cli.corpus.workers import Workers
from bert_cli.records.tfrecord import read_records
from bert_cli.settings.pretraining import MaskedLM
from bert_cli.text.tokenization import FullTokenizer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(20))]
IDS = {word: index for index, word in enumerate(WORDS)}
JOB = ShardJob(FullTokenizer(IDS), "H", True, Sampling.of(IDS, 16, MaskedLM(4)), dupe_factor=2, random_seed=3)


@pytest.fixture
def corpus(tmp_path) -> CorpusSize:
    """Return six documents with two sentences of five words."""
    tokens = array("H", [5 + number % 20 for number in range(60)])
    block = TokenizedBlock(tokens, array("I", [5] * 12), [2, 4, 6, 8, 10, 12], 0, 0)
    folder = tmp_path / "corpus"
    folder.mkdir()
    return store_corpus([block], str(folder), "H")


@pytest.mark.parametrize(
    ("num_tokens", "num_outputs", "expected"), [(100, 1, 16), (100, 5, 20), (200_000_000, 1, 50), (200_000_000, 8, 56)]
)
def test_the_data_decide_about_the_number(num_tokens, num_outputs, expected):
    assert choose_num_shards(CorpusSize("", "H", 1, 1, num_tokens, 0, 0), 2, num_outputs) == expected


def record_counts(paths: list) -> collections.Counter:
    return collections.Counter(record for path in paths for record in read_records(str(path)))


def test_equal_numbers_of_shards_make_equal_files(corpus, tmp_path):
    contents = []
    for count in (1, 2):
        paths = [tmp_path / f"{count}-{number}" for number in range(2)]
        for path in paths:
            path.touch()
        finished: list[int] = []
        with Workers(1, JOB) as workers:
            sums = write_sharded(workers, corpus, str(tmp_path), list(map(str, paths)), 4, finished.append)
        assert finished == [1, 2, 3, 4]
        assert sums["instances"] == sum(record_counts(paths).values())
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]


def test_shards_draw_different_numbers(corpus, tmp_path):
    records = []
    for number, num_shards in ((0, 4), (1, 4), (0, 2)):
        path, _ = write_shard(JOB, InstanceShard(number, num_shards, corpus, str(tmp_path)))
        records.append(list(read_records(path)))
    assert all(records)
    assert records[0] != records[1]
    assert records[0] != records[2][: len(records[0])]


def test_one_stream_is_dealt_to_the_files(corpus, tmp_path):
    streams = []
    for count in (1, 3):
        paths = [str(tmp_path / f"{count}-{number}") for number in range(count)]
        positions: list[int] = []
        write_single_stream(JOB, corpus, str(tmp_path), paths, positions.append)
        assert positions[-1] == 12
        streams.append([list(read_records(path)) for path in paths])
    (whole,), dealt = streams
    assert [dealt[number % 3][number // 3] for number in range(len(whole))] == whole
