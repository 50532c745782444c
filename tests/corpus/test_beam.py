"""Pipeline steps, which need no package to run."""

from array import array

import pytest

from bert_cli.base.json_files import read_json_object
from bert_cli.corpus import beam
from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.shards import ShardJob
from bert_cli.settings.pretraining import MaskedLM
from bert_cli.settings.texts import PLAIN_TEXT
from bert_cli.text.tokenization import FullTokenizer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two"]
IDS = {word: index for index, word in enumerate(WORDS)}
JOB = ShardJob(FullTokenizer(IDS), "H", True, Sampling.of(IDS, 16, MaskedLM(4)), dupe_factor=1, random_seed=3)


def store_pieces(folder, *texts: str) -> list:
    paths = [folder / f"{number}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode("latin-1"))
    return [beam._store_piece((number, str(path)), JOB, str(folder), PLAIN_TEXT) for number, path in enumerate(paths)]


def test_pieces_are_joined_in_the_order_of_files(tmp_path):
    pieces = store_pieces(tmp_path, "one two\none\n", "two\n")
    corpus, num_shards = beam._join_pieces(reversed(pieces), JOB, 1, 0, str(tmp_path))
    assert (corpus.num_documents, corpus.num_sentences, corpus.num_tokens, num_shards) == (2, 3, 4, 16)
    folder = tmp_path / "corpus"
    assert array("H", (folder / "token_ids").read_bytes()).tolist() == [5, 6, 5, 6]
    assert array("q", (folder / "sentence_offsets").read_bytes()).tolist() == [0, 2, 3, 4]
    assert array("q", (folder / "document_offsets").read_bytes()).tolist() == [0, 2, 3]
    assert read_json_object(str(tmp_path / beam.READ))["num_shards"] == 16


def test_an_error_in_a_file_makes_no_shards(tmp_path):
    pieces = store_pieces(tmp_path, "one\n", "two \xff\n")
    corpus, num_shards = beam._join_pieces(pieces, JOB, 1, 0, str(tmp_path))
    assert list(beam._shards((corpus, num_shards))) == []
    assert "1.txt:1" in read_json_object(str(tmp_path / beam.READ))[beam.ERROR]


@pytest.mark.parametrize("num_outputs", [1, 2])
def test_outputs_have_their_shards_in_order(tmp_path, num_outputs):
    corpus, _ = beam._join_pieces(
        store_pieces(tmp_path, "one two\ntwo one\n\none\ntwo\n"), JOB, num_outputs, 4, str(tmp_path)
    )
    results: dict[int, list] = {}
    for shard in beam._shards((corpus, 4)):
        output, result = beam._make_shard(shard, JOB, num_outputs)
        results.setdefault(output, []).insert(0, result)
    for number, shards in results.items():
        beam._write_output((number, shards), num_outputs, str(tmp_path))
        expected = b"".join((tmp_path / f"shard-{shard:05d}").read_bytes() for shard in range(number, 4, num_outputs))
        with open(beam.output_path(str(tmp_path), number, num_outputs), "rb") as file:
            assert file.read() == expected
        counts = read_json_object(beam.counts_path(str(tmp_path), number, num_outputs))
        assert counts.get("instances", 0) == sum(counts.get("instances", 0) for _, counts in shards)
