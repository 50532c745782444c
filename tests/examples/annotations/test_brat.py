"""brat documents."""

import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.reading import read_annotations
from bert_cli.reading.source import Source
from tests.snapshots import check_message, raises


def read(folder, text, annotations, path="d.txt"):
    (folder / "d.txt").write_bytes(text.encode("utf-8"))
    (folder / "d.ann").write_bytes(annotations.encode("utf-8"))
    (example,) = read_annotations(Source(str(folder / path), may_be_folder=True)).examples
    return list(zip(example.words, example.tags, strict=True))


@pytest.mark.parametrize("path", ["d.txt", "d.ann", "."])
def test_document_by_each_of_its_names(path, tmp_path):
    (tmp_path / ".hidden.txt").write_text("x", encoding="utf-8")
    rows = "T1\tLOC 3 11\tNew York\nR1\tin Arg1:T1 Arg2:T1\nA1\tSure T1\n"
    assert read(tmp_path, "in New York.", rows, path)[1:3] == [("New", "B-LOC"), ("York", "I-LOC")]


def test_lines_that_are_not_used(tmp_path):
    for name, rows in (
        ("d", "T1\tLOC 0 4\tLund\r\nR1\tin Arg1:T1 Arg2:T1\r\n\r\n"),
        ("e", "#1\tNote T1\tx\nR2\tx\nno line\n"),
    ):
        (tmp_path / f"{name}.txt").write_text("Lund", encoding="utf-8")
        (tmp_path / f"{name}.ann").write_text(rows, encoding="utf-8")
    file = read_annotations(Source(str(tmp_path), may_be_folder=True))
    assert file.facts.not_used == ["relations", "notes", "other lines"]


def test_carriage_returns_and_nul_and_byte_order_marks_are_characters(tmp_path):
    text = "\ufeffAnna\r\nat \0 Lund\r\n"
    start = text.index("Lund")
    rows = f"T1\tPER 1 5\tAnna\r\nT2\tLOC {start} {start + 4}\tLund\r\n"
    assert read(tmp_path, text, rows) == [("Anna", "B-PER"), ("at", "O"), ("\0", "O"), ("Lund", "B-LOC")]


def test_fragments_of_a_span(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "bert_cli")
    text = "New\n York and Lund"
    assert read(tmp_path, text, "T1\tLOC 0 3;5 9\tNew York\n")[:2] == [("New", "B-LOC"), ("York", "I-LOC")]
    assert not caplog.messages
    tags = read(tmp_path, text, "T1\tLOC 0 3;14 18\tNew Lund\n")
    assert {tag for _, tag in tags} == {"O"}
    check_message(caplog)


@pytest.mark.parametrize(
    "row",
    ["T1 LOC 0 4 Anna", "T1\tLOC 0\tAnna", f"T1\tLOC 0 {'9' * 5000}", "T1\tLOC 0 4\tAnne", "T1\tLOC 0 40\tAnna"],
)
def test_invalid_rows(row, tmp_path):
    with raises(InputError, f"{tmp_path}/d.ann:2: "):
        read(tmp_path, "Anna left", f"# a note\n{row}\n")


def test_annotation_without_text_file(tmp_path):
    (tmp_path / "d.ann").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"d.txt: no such file"):
        read_annotations(Source(str(tmp_path / "d.ann")))


def test_words_have_line_numbers(tmp_path):
    (tmp_path / "d.txt").write_text("Anna\n\nleft Lund\n", encoding="utf-8")
    (tmp_path / "d.ann").write_text("", encoding="utf-8")
    file = read_annotations(Source(str(tmp_path), may_be_folder=True))
    (example,) = file.examples
    assert (example.name, example.path, example.lines) == ("d", f"{tmp_path}/d.txt", (1, 3, 3))
    assert file.location(example, 2) == f"{tmp_path}/d.txt:3"


def test_skipped_files_in_a_directory_are_named(tmp_path, caplog):
    """Subdirectories with documents and annotations without text are named, but not brat's other files."""
    for name in ("d.txt", "d.ann", "lost.ann", ".hidden.ann", "annotation.conf", "more/e.txt", "empty/notes"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    assert [example.name for example in read_annotations(Source(str(tmp_path), may_be_folder=True)).examples] == ["d"]
    form = "NAME.txt with NAME.ann directly in a directory are read"
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warned == [f"{tmp_path}: left out: lost.ann, more; only {form}"]
