"""Predictions for lines that arrive in chunks."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.tasks.interactive import (
    ChunkReader,
    check_files,
    predict_items,
    predict_lines,
    write_records,
)
from tests.snapshots import raises


def lengths(texts: list[str]) -> list[dict]:
    return [{"length": len(text), "chunk": len(texts)} for text in texts]


def records(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("is_line_buffered", "chunks"), [(False, [2, 2, 1]), (True, [1, 1, 1])])
def test_line_buffering_predicts_every_line(tmp_path, is_line_buffered, chunks):
    reader = ChunkReader("a.txt", is_line_buffered, size=2)
    path = tmp_path / "out.jsonl"
    assert write_records(iter(["a", "bb", "ccc"]), str(path), lengths, reader) == 3
    assert [record["chunk"] for record in records(path)] == chunks
    assert [record["length"] for record in records(path)] == [1, 2, 3]


def test_items_are_numbered(tmp_path, caplog):
    path = tmp_path / "out.jsonl"
    with caplog.at_level("INFO", "bert_cli"):
        predict_items(iter(["a", "bb"]), str(path), lengths)
    assert [record["index"] for record in records(path)] == [0, 1]
    assert caplog.messages == [f"wrote {path}: 2 texts"]


def test_blank_lines_count(tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_bytes(b"a\r\n\nb")
    predict_lines(str(source), str(target), lengths, "utf-8", ChunkReader(str(source), False))
    assert [record["length"] for record in records(target)] == [1, 0, 1]


def test_empty_sources_leave_no_file(tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.touch()
    reader = ChunkReader(str(source), False)
    with raises(InputError, "in.txt: "):
        predict_lines(str(source), str(target), lengths, "utf-8", reader)
    assert not target.exists()
    predict_lines(str(source), str(target), lengths, "utf-8", reader, may_be_empty=True)
    assert target.read_text() == ""


def test_errors_in_the_middle_leave_no_file(tmp_path):
    def refuse(texts: list[str]) -> list[dict]:
        raise InputError("wrong")

    with pytest.raises(InputError, match="wrong"):
        write_records(iter(["a"]), str(tmp_path / "out.jsonl"), refuse)
    assert list(tmp_path.iterdir()) == []


def test_a_source_must_be_readable(tmp_path):
    check_files(None, None)
    check_files("-", "-")
    with raises(InputError, "--input_file"):
        check_files(str(tmp_path / "in.txt"), "-")
