"""bert-create-pretraining-data as a user calls it: Google's records, shards, tables and errors."""

import collections
import os
import re
import signal
import subprocess
import sys

import pytest

from bert_cli.base.spec import pretraining_features
from bert_cli.create_pretraining_data import main
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import read_records
from tests.commands import helpers
from tests.rows import write_rows
from tests.snapshots import check_message

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXT = """The old farmer sees a small bird.
My young teacher likes our house.
A bird sings near the river.

Our dog never finds the garden.
The teacher buys bread.
A cat sees the big dog.
The young dog likes bread.

My old cat never sings.
Our farmer paints a big garden.
The bird finds the river under the house.
"""
WORDS = [*dict.fromkeys(re.findall(r"[a-z]+", TEXT.lower())), "."]
COLOURS = [f"colour{number}" for number in range(60)]


@pytest.fixture
def create(tmp_path, monkeypatch, capfd):
    """Call the command in a directory with text.txt and vocab.txt."""
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "vocab.txt", [*SPECIAL, *WORDS, *COLOURS])
    (tmp_path / "text.txt").write_text(TEXT)

    def call(*flags, **values) -> helpers.Outcome:
        values = {"input_file": "text.txt", "output_file": "out", "vocab_file": "vocab.txt"} | values
        return helpers.call(capfd, "bert-create-pretraining-data", main, *helpers.words(values), *flags)

    return call


def read(*paths) -> list[dict[str, list]]:
    """Return the records in all files, one file after another."""
    records = (decode_example(record) for path in paths for record in read_records(str(path)))
    return [{name: values.tolist() for name, values in record.items()} for record in records]


def table(lines: list[str]) -> dict[str, str]:
    """Return the first two columns of the table at the end of the log."""
    rows = (re.split(r" {2,}", line.strip()) for line in lines)
    return {row[0]: row[1] for row in rows if len(row) > 1}


def test_tensorflow_reads_the_features(create):
    import tensorflow as tf

    assert create(max_seq_length=32, max_predictions_per_seq=5, dupe_factor=3).code == 0
    spec = {
        feature.name: tf.io.FixedLenFeature([feature.length], feature.dtype) for feature in pretraining_features(32, 5)
    }
    parsed = [tf.io.parse_single_example(record, spec) for record in tf.data.TFRecordDataset("out")]
    assert [{name: value.numpy().tolist() for name, value in row.items()} for row in parsed] == read("out")


@pytest.mark.parametrize("mode", [{}, {"num_workers": 1}])
@pytest.mark.parametrize("whole_word", ["true", "false"])
def test_every_record_is_consistent(create, mode, whole_word):
    outcome = create(
        max_seq_length=24, max_predictions_per_seq=5, masked_lm_prob=0.25, do_whole_word_mask=whole_word, **mode
    )
    assert outcome.code == 0
    records = read("out")
    assert len(records) > 40
    for record in records:
        ids, size = record["input_ids"], sum(record["input_mask"])
        count = int(sum(record["masked_lm_weights"]))
        positions, labels = record["masked_lm_positions"], record["masked_lm_ids"]
        assert record["input_mask"] == [1] * size + [0] * (24 - size)
        assert record["masked_lm_weights"] == [1.0] * count + [0.0] * (5 - count)
        assert positions[:count] == sorted(set(positions[:count]))
        assert 0 < count == min(5, max(1, round(size * 0.25)))
        assert (positions[count:], labels[count:], ids[size:]) == (
            [0] * (5 - count),
            [0] * (5 - count),
            [0] * (24 - size),
        )
        original = list(ids)
        for position, label in zip(positions[:count], labels, strict=False):
            original[position] = label
        separators = [place for place, token in enumerate(original) if token == 3]
        assert (original[0], len(separators), separators[-1]) == (2, 2, size - 1)
        first = separators[0] + 1
        assert record["segment_ids"] == [0] * first + [1] * (size - first) + [0] * (24 - size)
        assert record["next_sentence_labels"] in ([0], [1])


def test_log_table_and_report(create):
    outcome = create(max_seq_length=32, dupe_factor=4)
    records = read("out")
    assert outcome.lines[:2] == ["*** Reading from input files ***", "  text.txt"]
    # Two examples as in all commands (Google's code logs twenty), without padding.
    assert outcome.lines.count("*** Example ***") == 2
    first = outcome.lines.index("*** Example ***")
    ids = records[0]["input_ids"][: sum(records[0]["input_mask"])]
    assert outcome.lines[first + 2] == f"input_ids: {' '.join(map(str, ids))}"
    assert outcome.lines[-1] == f"Wrote {len(records)} total instances"
    figures = table(outcome.lines)
    assert figures["documents"] == "3"
    assert figures["sentences"] == "10"
    assert int(figures["instances"]) == len(records)
    assert int(figures["random next"]) == sum(record["next_sentence_labels"][0] for record in records)
    assert int(figures["masked"]) == sum(sum(record["masked_lm_weights"]) for record in records)
    assert not any("warning" in line for line in outcome.lines)


def test_shards_do_not_depend_on_the_number_of_workers(create, tmp_path):
    outputs = {workers: f"out{workers}@3" for workers in (1, 2)}
    for workers, output in outputs.items():
        outcome = create(output_file=output, num_workers=workers, num_shards=7, max_seq_length=32)
        assert outcome.code == 0, outcome.lines
    contents = {
        workers: [(tmp_path / f"out{workers}-0000{number}-of-00003").read_bytes() for number in range(3)]
        for workers in outputs
    }
    assert contents[1] == contents[2]
    assert all(contents[1])
    assert len(os.listdir(tmp_path)) == 2 + 6
    create(output_file="other", num_workers=1, num_shards=8, max_seq_length=32)
    assert (tmp_path / "other").read_bytes() != b"".join(contents[1])
    create(output_file="other", num_workers=1, num_shards=7, max_seq_length=32, random_seed=1)
    assert (tmp_path / "other").read_bytes() != b"".join(contents[1])


@pytest.mark.parametrize("num_workers", [0, 1])
def test_each_pass_uses_each_document_once(create, tmp_path, num_workers):
    """A document with one sentence makes one instance per pass and is its first text."""
    (tmp_path / "text.txt").write_text("\n\n".join(f"{colour} the house" for colour in COLOURS))
    outcome = create(num_workers=num_workers, dupe_factor=4, masked_lm_prob=0.01, max_seq_length=32)
    first_ids = collections.Counter()
    for record in read("out"):
        ids = record["input_ids"]
        for position, label, weight in zip(
            record["masked_lm_positions"], record["masked_lm_ids"], record["masked_lm_weights"], strict=True
        ):
            ids[position] = label if weight else ids[position]
        first_ids[ids[1]] += 1
    assert first_ids == {len(SPECIAL) + len(WORDS) + number: 4 for number in range(60)}
    warning = next(line for line in outcome.lines if line.startswith("warning"))
    check_message(warning)


def test_a_document_ends_with_its_file_when_sharded(create, tmp_path):
    (tmp_path / "a.txt").write_text("my cat sings\nmy dog sings")
    (tmp_path / "b.txt").write_text("our bird sings\n")
    assert table(create(input_file="?.txt").lines)["documents"] == "1"
    assert table(create(input_file="?.txt", num_workers=1).lines)["documents"] == "2"


def test_a_single_document_is_warned_of(create, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT.replace("\n\n", "\n"))
    outcome = create()
    assert outcome.code == 0
    assert "warning: the text is one document" in "\n".join(outcome.lines)


def test_records_go_round_robin_over_the_files(create):
    assert create(max_seq_length=32).code == 0
    assert create(max_seq_length=32, output_file="part@2").code == 0
    whole, files = read("out"), [read(f"part-0000{number}-of-00002") for number in range(2)]
    assert files == [whole[0::2], whole[1::2]]


def test_too_few_predictions_are_warned_of(create):
    outcome = create(max_seq_length=512)
    check_message(outcome.lines[0], "--max_predictions_per_seq=20")


@pytest.mark.parametrize(
    "flags",
    [
        {"input_file": "missing/*.txt"},
        {"input_file": "blank.txt"},
        {"input_file": "latin.txt"},
        {"vocab_file": "text.txt"},
        {"max_seq_length": 4},
        {"max_predictions_per_seq": 0},
        {"masked_lm_prob": 0},
        {"masked_lm_prob": 1.5},
        {"short_seq_prob": -0.1},
        {"dupe_factor": 0},
        {"output_file": "missing/out"},
        {"output_file": "folder"},
        {"output_file": "./text.txt"},
        {"output_file": "vocab.txt"},
        {"output_file": "a,b,a"},
        {"input_file": ","},
        {"output_file": ", ,"},
        {"output_file": "a@0"},
        {"output_file": os.devnull},
        {"num_shards": 4, "num_workers": 1, "output_file": "a@5"},
        {"seed": 4},
    ],
)
def test_errors_are_one_line_and_leave_nothing(create, tmp_path, flags):
    (tmp_path / "blank.txt").write_text("\n \n\u200b\n")
    (tmp_path / "latin.txt").write_bytes(b"one\ncaf\xe9\n")
    (tmp_path / "folder").mkdir()
    before = sorted(os.listdir(tmp_path))
    outcome = create(**flags)
    assert outcome.code == 1
    check_message(outcome.lines[-1], "bert-create-pretraining-data: ")
    assert not any("Traceback" in line for line in outcome.lines)
    assert sorted(os.listdir(tmp_path)) == before


def test_an_error_in_a_worker_leaves_the_earlier_file(create, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"one\ncaf\xe9\n")
    (tmp_path / "out").write_text("precious")
    before = sorted(os.listdir(tmp_path))
    outcome = create(input_file="text.txt,latin.txt", num_workers=2)
    assert (outcome.code, outcome.lines[-1]) == (
        1,
        "bert-create-pretraining-data: error: latin.txt:2: is not UTF-8 (byte 0xe9); give its encoding, as in "
        "--encoding=latin-1, or save the file as UTF-8",
    )
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "out").read_text() == "precious"


def test_a_full_disk_is_one_line(create, tmp_path, monkeypatch):
    """Writing beyond the file size limit fails in the same way as writing to a full disk."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = sorted(os.listdir(tmp_path))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        outcome = create()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, previous)
    assert outcome.code == 1
    check_message(outcome.lines[-1], "bert-create-pretraining-data: error: out: ")
    assert sorted(os.listdir(tmp_path)) == before


def test_interrupted_while_reading_standard_input(create, tmp_path):
    """The process must end without TensorFlow; it reports itself if TensorFlow was imported."""
    # If a shell runs the tests in the background, SIGINT is ignored, and this process
    # would inherit that.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); sys.modules['tensorflow'] = None"
    )
    code += "; from bert_cli.create_pretraining_data import main; raise SystemExit(main(sys.argv[1:]))"
    flags = ["--input_file=-", "--output_file=out", "--vocab_file=vocab.txt", "--num_workers=2"]
    before = sorted(os.listdir(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", code, *flags],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:  # fmt: skip
        assert process.stderr.readline() == "*** Reading from input files ***\n"
        assert process.stderr.readline() == "  -\n"
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(timeout=60) == 130
    assert rest == "bert-create-pretraining-data: interrupted; nothing was written\n"
    assert sorted(os.listdir(tmp_path)) == before


def test_rows_and_extracts_give_the_records_of_their_text(create, tmp_path):
    assert create(num_workers=1, num_shards=2).code == 0
    expected = (tmp_path / "out").read_bytes()
    documents = TEXT.strip().split("\n\n")
    (tmp_path / "table").mkdir()
    quoted = "".join(f'{number},"{text}"\n' for number, text in enumerate(documents))
    (tmp_path / "table" / "a.csv").write_text(f"number,text\n{quoted}")
    elements = (f'<doc id="{number}" url="u" title="t">\n{text}\n\n</doc>\n' for number, text in enumerate(documents))
    (tmp_path / "wiki_00").write_text("\n".join(elements))
    for path, shown in (("table/a.csv", "3 rows: text from 'text'; not used: number"), ("wiki_00", "3 documents: ")):
        outcome = create(input_file=path, num_workers=1, num_shards=2)
        assert outcome.code == 0, outcome.err
        assert f"{path}: {shown}" in outcome.err
        assert (tmp_path / "out").read_bytes() == expected
    create(input_file="text.txt,table/a.csv", text_column="text").assert_refused("--text_column=text: text.txt ")
