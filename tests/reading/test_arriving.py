"""Lines that arrive in a pipe."""

import contextlib
import os

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.lines import bounded_lines
from bert_cli.reading.arriving import ArrivingLines
from tests.snapshots import raises


@pytest.fixture
def pipe():
    """Return a pipe's lines, and a function that writes bytes to it or closes it."""
    reading, writing = os.pipe()

    def write(data: bytes) -> None:
        if data:
            os.write(writing, data)
        else:
            os.close(writing)

    yield ArrivingLines(reading), write
    os.close(reading)
    with contextlib.suppress(OSError):
        os.close(writing)


def test_a_line_has_arrived_if_it_can_be_read_without_waiting(pipe):
    lines, write = pipe
    iterator = iter(lines)
    assert not lines.has_line(0)
    write(b"first\nsecond\n\nhal")
    assert lines.has_line(0)
    assert [next(iterator) for _ in range(2)] == [b"first\n", b"second\n"]
    assert (lines.has_line(0), lines.has_line(0, skips_blank=True)) == (True, False)
    assert next(iterator) == b"\n"
    assert not lines.has_line(0.01)
    write(b"f\r\nlast")
    assert next(iterator) == b"half\r\n"
    assert not lines.has_line(0)
    write(b"")
    assert lines.has_line(0)
    assert list(iterator) == [b"last"]
    assert lines.has_line(0, skips_blank=True)


def test_recoded_lines_of_a_pipe(pipe):
    lines, write = pipe
    lines.recode("latin-1", "standard input")
    iterator = iter(lines)
    text = "\u00e9" * 40_000
    write(text.encode("latin-1") + b"\nb\n")
    assert lines.has_line(0)
    assert (next(iterator), next(iterator)) == (f"{text}\n".encode(), b"b\n")
    assert not lines.has_line(0)


def test_an_endless_line_of_a_pipe_is_refused_before_its_end(pipe, monkeypatch):
    for module in ("bert_cli.base.lines", "bert_cli.reading.arriving"):
        monkeypatch.setattr(f"{module}.LONGEST_LINE", 10)
    lines, write = pipe
    write(b"short\n" + b"x" * 100)
    bounded = bounded_lines(lines, "standard input")
    assert next(bounded) == b"short\n"
    with raises(InputError, "standard input:2: "):
        next(bounded)
