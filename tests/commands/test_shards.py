"""Predictions for many files: one output each, shared among processes, finished ones kept."""

import json
import os

import numpy as np
import pytest

from bert_cli import extract_features
from tests.commands import helpers
from tests.rows import write_rows
from tests.snapshots import check_message

FLAGS = ("--precision=float32",)
TEXTS = (
    ["a dog chases a cat .", "the old farmer buys bread ."],
    [],
    ["small green fish", "", "my teacher ||| sings ."],
)


@pytest.fixture
def text_folder(tmp_path):
    """Three text files, one of them empty."""
    for number, lines in enumerate(TEXTS):
        write_rows(tmp_path / f"part-{number}.txt", lines)
    return tmp_path


def test_texts(trained, text_folder, classify, snapshot):
    outputs = [text_folder / "out" / f"x.jsonl-0000{number}-of-00003" for number in range(3)]
    outputs[0].parent.mkdir()
    flags = [f"--output_dir={trained}", *FLAGS]
    sharded = [*flags, f"--input_file={text_folder / 'part-*.txt'}", f"--output_file={outputs[0].parent / 'x.jsonl'}"]
    before = snapshot(trained)
    outcome = classify(*sharded, "--shard=1/2")
    assert outcome.code == 0, outcome.err
    assert [path.exists() for path in outputs] == [False, True, False]
    done = os.stat(outputs[1]).st_mtime_ns
    outcome = classify(*sharded)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "3 shards")
    assert os.stat(outputs[1]).st_mtime_ns == done
    for number, path in enumerate(outputs):
        content = path.read_text(encoding="utf-8")
        assert [json.loads(line)["index"] for line in content.splitlines()] == list(range(len(TEXTS[number])))
        assert (
            not TEXTS[number] or classify(*flags, f"--input_file={text_folder / f'part-{number}.txt'}").out == content
        )
    outcome = classify(*sharded, "--shard=0/2")
    assert (outcome.code, outcome.out) == (0, "")
    check_message(outcome.err, "2 shards")
    assert "devices:" not in outcome.err  # TensorFlow was not needed
    classify(*sharded, "--max_seq_length=16").assert_refused("--max_seq_length=32")
    assert {path.name for path in outputs[0].parent.iterdir()} == {"x.jsonl.shards.json", *(p.name for p in outputs)}
    assert snapshot(trained) == before
    classify(*sharded, "--do_predict").assert_refused("--do_predict")


def test_tables_from_independent_processes(trained, cola, text_folder, classify, monkeypatch):
    rows = (cola / "test.tsv").read_text(encoding="utf-8").splitlines()
    for number, chosen in enumerate((rows[1:5], rows[5:])):
        text = "\n".join(["id\ttext", *chosen])
        (text_folder / f"rows-{number}.tsv").write_text(f"{text}\n", encoding="utf-8")
    flags = [f"--output_dir={trained}", f"--predict_file={text_folder / 'rows-*.tsv'}", *FLAGS]
    # The other process does not exist, and this one does not wait for it.
    cluster = {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}}))
    outcome = classify(*flags, "--do_predict")
    assert outcome.code == 0, outcome.err
    written = {path.name for path in trained.iterdir() if "-of-" in path.name}
    assert {name for name in written if "data" not in name} == {
        "test_results.tsv-00001-of-00002", "predictions.tsv-00001-of-00002",
    }  # fmt: skip
    monkeypatch.delenv("TF_CONFIG")
    assert classify(*flags, "--do_predict").code == 0
    for name in ("test_results.tsv", "predictions.tsv"):
        whole = (trained / name).read_text(encoding="utf-8").splitlines()
        shards = [(trained / f"{name}-0000{n}-of-00002").read_text(encoding="utf-8").splitlines() for n in (0, 1)]
        # Each file's header, and ids, which cola generates.
        skipped = int(name == "predictions.tsv")
        lines_of_shards = [line for lines in shards for line in lines[skipped:]]
        for actual, expected in zip(lines_of_shards, whole[skipped:], strict=True):
            assert _rounded(actual)[skipped:] == _rounded(expected)[skipped:]
    classify(*flags, "--do_eval", "--do_predict").assert_refused("--do_eval")
    classify(*flags, "--do_predict", "--output_format=jsonl").assert_refused("--output_format=tsv")


def _rounded(line: str) -> list:
    """Return the cells of a table line, with numbers rounded to five digits.

    Other rows in a batch change the last digits.
    """
    return [round(float(cell), 5) if cell.startswith(("0.", "1.")) else cell for cell in line.split("\t")]


@pytest.mark.slow
@pytest.mark.parametrize("output_format", ["jsonl", "npy"])
def test_vectors(trained, text_folder, capfd, output_format):
    def extract(*words):
        flags = [f"--init_checkpoint={trained}", "--pooling=mean", f"--output_format={output_format}", *FLAGS]
        flags.append("--max_seq_length=32")
        return helpers.call(capfd, "bert-extract-features", extract_features.main, *flags, *words)

    sharded = [f"--input_file={text_folder / 'part-*.txt'}", f"--output_file={text_folder / 'v'}"]
    for shard in ("0/3", "1/3"):
        outcome = extract(*sharded, f"--shard={shard}")
        assert outcome.code == 0, outcome.err
    assert not (text_folder / "v-00002-of-00003").exists()
    outcome = extract(*sharded, "--shard=all")
    check_message(outcome.err, "3 shards")
    for number in range(3):
        assert (
            extract(f"--input_file={text_folder / f'part-{number}.txt'}", f"--output_file={text_folder / 'one'}").code
            == 0
        )
        shard_output, whole_output = text_folder / f"v-0000{number}-of-00003", text_folder / "one"
        if output_format == "jsonl":
            assert shard_output.read_bytes() == whole_output.read_bytes()
        else:
            np.testing.assert_array_equal(np.load(shard_output), np.load(whole_output))
    extract(*sharded, "--layers=0").assert_refused("v.shards.json: ")
    extract(*sharded, "--attentions=a.npz").assert_refused("--attentions takes one file")
