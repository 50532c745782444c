"""Vector files, and the partial file that --resume continues."""

import contextlib
import json

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.outputs.vectors.files import check_format, finished_lines, has_finished_output, lines_to_skip, open_writer
from bert_cli.outputs.vectors.rows import FeatureRows, VectorFormat
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import read_records
from tests.snapshots import raises

FORM = VectorFormat("line", (-1,), combined=True, width=2)
FACTS = {"layers": "-1"}


def rows(first_line: int, *vectors: tuple[float, float]) -> FeatureRows:
    values = np.array(vectors, np.float32)[:, None]
    return FeatureRows(first_line, np.arange(len(vectors) + 1), values)


def test_a_finished_file_replaces_its_partial_file(tmp_path):
    path = str(tmp_path / "out.jsonl")
    with open_writer(path, "jsonl", FORM, facts=FACTS) as writer:
        writer.write(rows(0, (1.0, 2.0)))
        assert not has_finished_output(path)
    assert has_finished_output(path)
    assert json.loads((tmp_path / "out.jsonl").read_text())["values"] == [1.0, 2.0]
    assert [file.name for file in tmp_path.iterdir()] == ["out.jsonl"]


def stop_after_one_line(path: str) -> None:
    with contextlib.suppress(KeyboardInterrupt), open_writer(path, "jsonl", FORM, facts=FACTS) as writer:
        writer.write(rows(0, (1.0, 2.0)))
        raise KeyboardInterrupt


def test_a_stopped_run_is_continued(tmp_path):
    path = str(tmp_path / "out.jsonl")
    assert lines_to_skip(path, FACTS) == 0
    stop_after_one_line(path)
    assert lines_to_skip(path, FACTS) == 1
    with open_writer(path, "jsonl", FORM, done=1, facts=FACTS) as writer:
        writer.write(rows(1, (3.0, 4.0)))
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["linex_index"] for line in lines] == [0, 1]


def test_other_flags_do_not_continue_it(tmp_path):
    path = str(tmp_path / "out.jsonl")
    stop_after_one_line(path)
    with raises(InputError, "out.jsonl.partial: "):
        lines_to_skip(path, {"layers": "-2"})


def test_an_incomplete_last_line_is_cut_off(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"1\n2\n3")
    assert finished_lines(str(path)) == 2
    assert path.read_bytes() == b"1\n2\n"


def test_tfrecords_have_an_example_per_line(tmp_path):
    path = str(tmp_path / "out.tfrecord")
    with open_writer(path, "tfrecord", FORM) as writer:
        writer.write(rows(7, (1.0, 2.0), (3.0, 4.0)))
    first, second = (decode_example(record) for record in read_records(path))
    assert (first["linex_index"].tolist(), first["vector"].tolist()) == ([7], [1.0, 2.0])
    assert (second["linex_index"].tolist(), second["vector"].tolist()) == ([8], [3.0, 4.0])


def test_installed_formats_are_allowed():
    for name in ("jsonl", "npy", "npz", "parquet", "tfrecord"):
        check_format(name)
