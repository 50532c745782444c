"""Arithmetic and inputs of the benchmarks, without timing anything."""

import types

import numpy as np
import pytest

from benchmarks import http_load, inputs, measured
from benchmarks.limits import operations_of_token
from benchmarks.workloads import NAMES

WORKLOAD = types.SimpleNamespace(name="short", operations={"steady": 2e9})


def rounds_of(ours: list[float], **peers: list[float]) -> list[measured.Round]:
    """Return rounds with training rates of several programs, and seconds (12 divided by the rate)."""
    programs = {measured.OURS: ours, **peers}
    return [
        measured.Round(
            {
                name: {"steady": rates[number], "seconds": 12 / rates[number], "mib": 7.0}
                for name, rates in programs.items()
            },
            {"tensorflow": 4e11, "torch": 8e11},
        )
        for number in range(len(ours))
    ]


def test_ratios_compare_with_the_best_peer_in_the_same_round():
    rounds = rounds_of([200.0, 100.0, 240.0], slow=[1.0, 1.0, 1.0], fast=[100.0, 50.0, 160.0])
    assert measured.best_peer(rounds, "steady") == measured.best_peer(rounds, "seconds") == "fast"
    assert measured.speed_up(rounds, "fast", "steady") == pytest.approx(2.0)  # median of 2, 2 and 1.5
    assert measured.speed_up(rounds, "fast", "seconds") == pytest.approx(2.0)
    assert measured.share_of_limit(rounds, "steady", 2e9) == pytest.approx(200 * 2e9 / 8e11)
    rows = measured.rows_of(WORKLOAD, rounds)
    assert rows[0] == ["short", "training, ex/s steady", "200", "100", "fast", "2.00", "50%", "7", "7"]
    assert rows[1][:6] == ["short", "the whole process, s", "0.06", "0.12", "fast", "2.00"]


def test_rows_without_another_program():
    assert measured.rows_of(WORKLOAD, rounds_of([5.0]))[0][3:6] == ["", "", ""]


def test_texts_have_the_requested_lengths(tmp_path):
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("[CLS]\nthe\n##ing\nOld\ndog\nan\nwork\n", encoding="utf-8")
    words = inputs.whole_words(vocab)
    assert words == ["dog", "the", "work"]
    lengths = inputs.write_tsv(tmp_path / "data", words, "short", {"train": 40, "test": 9})
    train = (tmp_path / "data" / "train.tsv").read_text(encoding="utf-8").splitlines()
    assert [len(line.split("\t")[3].split()) + 2 for line in train] == lengths["train"].tolist()
    assert {line.split("\t")[1] for line in train} == {"0", "1"}
    assert len((tmp_path / "data" / "test.tsv").read_text(encoding="utf-8").splitlines()) == 10
    assert np.array_equal(inputs.token_counts("full", 3, 1), [128, 128, 128])


def test_operations_of_bert_base():
    """The layers' matrix weights are 85,054,464; a token multiplies and adds each of them once."""
    config = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12}
    assert operations_of_token(config) == 2 * 12 * (4 * 768 * 768 + 2 * 768 * 3072) == 169_869_312
    assert {"short", "news", "base", "pretraining"} < set(NAMES)


def test_percentiles():
    values = list(range(100))
    assert [http_load.percentile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [0, 50, 99, 99]
    assert http_load.percentile([7.0], 0.5) == 7.0


def test_content_length_and_request():
    assert http_load.status_of(b"HTTP/1.1 503 no\r\ncontent-length: 1\r\n\r\n") == 503
    assert http_load.content_length(b"HTTP/1.1 200 OK\r\nContent-Type: a\r\ncontent-length: 17\r\n\r\n") == 17
    with pytest.raises(RuntimeError, match="without Content-Length"):
        http_load.content_length(b"HTTP/1.1 200 OK\r\n\r\n")
    assert http_load.request("/predict", {"text": "a"}).endswith(b'Content-Length: 13\r\n\r\n{"text": "a"}')
