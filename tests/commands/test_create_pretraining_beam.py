"""bert-create-pretraining-data with Beam's direct runner: the same records as with processes."""

import importlib.util
import pathlib
import re

import pytest

from bert_cli.create_pretraining_data import main
from tests.commands import helpers
from tests.rows import write_rows

HAS_BEAM = importlib.util.find_spec("apache_beam") is not None
with_beam = pytest.mark.skipif(not HAS_BEAM, reason="needs the extra beam")
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAME = ("documents", "sentences", "tokens", "instances", "random next", "masked", "truncated")


@pytest.fixture
def create(tmp_path, monkeypatch, capfd):
    """Call the command in a directory with vocab.txt and three text files, one of them empty."""
    monkeypatch.chdir(tmp_path)
    lines = (ROOT / "data" / "pretraining" / "corpus.txt").read_text(encoding="utf-8").split("\n")[:600]
    for name, chosen in (("c.txt", lines[:250]), ("a.txt", []), ("b.txt", lines[250:])):
        (tmp_path / name).write_text("\n".join(chosen), encoding="utf-8")
    words = sorted({word for line in lines for word in re.findall(r"\w+|[^\w\s]", line.lower())})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    write_rows(tmp_path / "vocab.txt", vocabulary)

    def call(*flags, **values) -> helpers.Outcome:
        values = {"input_file": "*.txt", "output_file": "out@3", "vocab_file": "vocab.txt"} | values
        values |= {"max_seq_length": 32, "max_predictions_per_seq": 5, "dupe_factor": 2}
        # Rename it: vocab.txt would match the pattern for texts.
        (tmp_path / "vocab.txt").rename(tmp_path / "vocabulary")
        values["vocab_file"] = "vocabulary"
        try:
            return helpers.call(capfd, "bert-create-pretraining-data", main, *helpers.words(values), *flags)
        finally:
            (tmp_path / "vocabulary").rename(tmp_path / "vocab.txt")

    return call


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if "-of-" in path.name}


def table(outcome: helpers.Outcome) -> dict[str, list[str]]:
    rows = (re.split(r" {2,}", line.strip()) for line in outcome.lines)
    return {row[0]: row[1:] for row in rows if row[0] in SAME}


@with_beam
@pytest.mark.parametrize("num_shards", [0, 7])
def test_records_equal_those_of_local_processes(create, tmp_path, num_shards):
    outcome = create(num_workers=1, num_shards=num_shards)
    assert outcome.code == 0, outcome.err
    expected = contents(tmp_path)
    for name in expected:
        (tmp_path / name).unlink()
    beam_outcome = create(runner="direct", num_shards=num_shards)
    assert beam_outcome.code == 0, beam_outcome.err
    assert contents(tmp_path) == expected
    assert table(beam_outcome) == table(outcome)
    assert len(table(beam_outcome)) == len(SAME)
    assert [line for line in beam_outcome.lines if "Example" in line or line.startswith("tokens: ")] == [
        line for line in outcome.lines if "Example" in line or line.startswith("tokens: ")
    ]
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@with_beam
@pytest.mark.slow
def test_separate_worker_processes(create, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert create(num_workers=1).code == 0
    expected = contents(tmp_path)
    options = "--direct_num_workers=2 --direct_running_mode=multi_processing"
    outcome = create(runner="direct", beam_options=options)
    assert outcome.code == 0, outcome.err
    assert contents(tmp_path) == expected


@with_beam
def test_remote_folder(create, tmp_path):
    """The pieces are written as to a cloud; the file system is in this process's memory."""
    import tensorflow as tf

    gfile = tf.io.gfile
    gfile.makedirs("ram://beam")
    assert create(num_workers=1).code == 0
    expected = contents(tmp_path)
    for path in (*tmp_path.glob("?.txt"), tmp_path / "vocab.txt"):
        gfile.copy(str(path), f"ram://beam/{path.name}", overwrite=True)
    outcome = create(runner="direct", input_file="ram://beam/?.txt", output_file="ram://beam/out@3")
    assert outcome.code == 0, outcome.err
    for name, content in expected.items():
        with gfile.GFile(f"ram://beam/{name}", "rb") as file:
            assert file.read() == content
    assert not [name for name in gfile.listdir("ram://beam") if name.startswith(".")]


@with_beam
def test_mistake_in_the_text_is_one_line(create, tmp_path):
    (tmp_path / "out-00000-of-00003").write_text("before")
    (tmp_path / "b.txt").write_bytes(b"good\n\xff\n")
    create(runner="direct").assert_refused("b.txt:2: is not UTF-8")
    for path in tmp_path.glob("[abc].txt"):
        path.write_text("\n")
    create(runner="direct").assert_refused("the input has no sentence")
    create(runner="direct", beam_options="--projct=3").assert_refused("--beam_options: Beam has no option --projct")
    create(runner="dataflow").assert_refused("a.txt: --runner=dataflow works on machines that do not see it")
    assert contents(tmp_path) == {"out-00000-of-00003": b"before"}


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        ({"runner": "direct", "beam_options": "--runner=x"}, "--beam_options: "),
        ({"runner": "direct", "beam_options": "'--a"}, "--beam_options='--a: "),
        ({"runner": "direct", "input_file": "-"}, "--runner"),
    ],
)
def test_contradictory_flags(create, flags, fragment):
    create(**flags).assert_refused(fragment)


@pytest.mark.skipif(HAS_BEAM, reason="apache-beam is installed")
def test_without_the_package(create):
    create(runner="flink").assert_refused("--runner=flink", "[beam]")


@with_beam
def test_runners_read_tables(create, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"body": "the mill\\nthe river", "text": "x"}\n{"body": "a bird"}\n')
    assert create(num_workers=1, input_file="*.jsonl", text_column="body").code == 0
    expected = contents(tmp_path)
    outcome = create(runner="direct", input_file="*.jsonl", text_column="body")
    assert outcome.code == 0, outcome.err
    assert "d.jsonl: 2 rows: text from 'body'; not used: text" in outcome.err
    assert contents(tmp_path) == expected
