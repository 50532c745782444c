"""The log of the package in a program that has, or has not, set up `logging`."""

import contextlib
import io
import logging
import sys

import pytest

from bert_cli.base import log


@contextlib.contextmanager
def logging_of(level: int, handlers: list[logging.Handler]):
    """The package's level and the root's handlers, as a program may have set them."""
    # Within the test, not in a fixture: pytest adds handlers of its own between the two.
    before = log.LOG.level
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger(), "handlers", handlers)
        patch.setattr(log.LOG, "handlers", [])
        patch.setattr(log.LOG, "propagate", True)
        log.LOG.setLevel(level)
        yield
    log.LOG.setLevel(before)


def test_shown_logs_to_stderr_and_ends_with_the_block(capsys):
    with logging_of(logging.NOTSET, []):
        with log.show_log():
            log.LOG.info("training 5/10")
        log.LOG.info("not shown")
        assert not log.LOG.handlers
        assert log.LOG.level == logging.NOTSET
    assert capsys.readouterr().err == "training 5/10\n"


@pytest.mark.parametrize(("level", "handlers"), [(logging.WARNING, []), (logging.NOTSET, [logging.NullHandler()])])
def test_shown_leaves_the_logging_of_a_program(capsys, level, handlers):
    with logging_of(level, handlers), log.show_log():
        log.LOG.info("training 5/10")
    assert capsys.readouterr().err == ""


class OnlyWrite:
    """As some programs put in the place of sys.stderr."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


class Broken:
    """A stream of which every method raises, as of a terminal that is closed."""

    def __init__(self, error):
        self._error = error

    def write(self, text):
        raise self._error

    def flush(self):
        raise self._error

    def isatty(self):
        raise self._error


def closed_stream():
    stream = io.StringIO()
    stream.close()
    return stream


STREAMS = {
    "none": lambda: None,
    "an object without methods": object,
    "closed": closed_stream,
    "a terminal that is gone": lambda: Broken(OSError(5, "Input/output error")),
    "a pipe without a reader": lambda: Broken(BrokenPipeError()),
    "an error of another program": lambda: Broken(RuntimeError("reentrant call")),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_line_that_cannot_be_written_is_dropped(name, monkeypatch):
    monkeypatch.setattr(sys, "stderr", STREAMS[name]())
    with logging_of(logging.INFO, []):
        log.LOG.addHandler(log.StderrHandler())
        log.LOG.propagate = False
        log.LOG.info("training 5/10")
    assert not log.LogStream().isatty()


def test_an_object_that_only_writes_gets_the_lines(monkeypatch):
    stream = OnlyWrite()
    monkeypatch.setattr(sys, "stderr", stream)
    log.LogStream().print("training 5/10")
    assert stream.text == "training 5/10\n"


def test_a_stream_of_another_encoding_gets_escapes(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    log.LogStream().print("label übel")
    assert raw.getvalue() == b"label \\xfcbel\n"


def test_signals_still_end_a_program_that_writes_a_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Broken(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        log.LogStream().print("training 5/10")
