"""The package's log, in programs with and without their own `logging` setup."""

import contextlib
import io
import json
import logging
import re
import sys
import warnings

import pytest

from bert_cli.base import log
from bert_cli.base.errors import InputError
from tests.snapshots import raises


@contextlib.contextmanager
def logging_of(level: int, handlers: list[logging.Handler]):
    """Set the package's level and the root's handlers, as a program might."""
    # Set them within the test, not in a fixture: pytest adds its handlers between the two.
    before = log.LOG.level
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger(), "handlers", handlers)
        patch.setattr(log.LOG, "handlers", [])
        patch.setattr(log.LOG, "propagate", True)
        log.LOG.setLevel(level)
        yield
    log.LOG.setLevel(before)


def test_show_log_logs_to_stderr_within_the_block(capsys):
    with logging_of(logging.NOTSET, []):
        with log.show_log():
            log.LOG.info("training 5/10")
            log.LOG.warning("warning: --text_column=0 is 'label'; try bert-classify --seed=3")
        log.LOG.info("not shown")
        assert not log.LOG.handlers
        assert log.LOG.level == logging.NOTSET
    # Python's arguments have no dashes, but a command line keeps them.
    warning = "warning: text_column=0 is 'label'; try bert-classify --seed=3\n"
    assert capsys.readouterr().err == f"training 5/10\n{warning}"


@pytest.mark.parametrize(("level", "handlers"), [(logging.WARNING, []), (logging.NOTSET, [logging.NullHandler()])])
def test_show_log_keeps_the_logging_setup_of_a_program(capsys, level, handlers):
    with logging_of(level, handlers), log.show_log():
        log.LOG.info("training 5/10")
    assert capsys.readouterr().err == ""


class OnlyWrite:
    """Replacement for sys.stderr that some programs use."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


class Broken:
    """A stream with methods that raise, like a closed terminal's stream."""

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
def test_line_is_dropped_if_it_cannot_be_written(name, monkeypatch):
    monkeypatch.setattr(sys, "stderr", STREAMS[name]())
    with logging_of(logging.INFO, []):
        log.LOG.addHandler(log.StderrHandler())
        log.LOG.propagate = False
        log.LOG.info("training 5/10")
    assert not log.LogStream().isatty()


def test_object_with_only_write_gets_the_lines(monkeypatch):
    stream = OnlyWrite()
    monkeypatch.setattr(sys, "stderr", stream)
    log.LogStream().print("training 5/10")
    assert stream.text == "training 5/10\n"


def test_characters_are_escaped_for_other_encodings(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    log.LogStream().print("label übel")
    assert raw.getvalue() == b"label \\xfcbel\n"


def test_signals_end_a_program_while_it_writes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Broken(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        log.LogStream().print("training 5/10")


@contextlib.contextmanager
def json_log(level: int = logging.INFO):
    """Log JSON lines as a command with --log_format=json does."""
    with logging_of(level, []):
        log.LOG.addHandler(log.StderrHandler())
        log.LOG.propagate = False
        log.set_log_format(log.JSON, "bert-tag")
        try:
            yield
        finally:
            log.set_log_format(log.TEXT, "bert-tag")


class WriteCounter(io.StringIO):
    """Stream that counts its writes."""

    num_writes = 0

    def write(self, text):
        self.num_writes += 1
        return super().write(text)


def test_records_are_logged_together_with_one_write(monkeypatch, caplog):
    stream = WriteCounter()
    monkeypatch.setattr(sys, "stderr", stream)
    records = [log.LOG.makeRecord(log.LOG.name, logging.INFO, "", 0, f"line {i}", (), None) for i in range(3)]
    with json_log():
        log.LOG.addHandler(caplog.handler)
        log.log_all(records)
        log.LOG.removeHandler(caplog.handler)
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["line 0", "line 1", "line 2"]
    assert stream.num_writes == 1
    assert caplog.records == records


def test_json_lines_have_time_level_message_and_fields(capsys):
    with json_log(logging.DEBUG):
        log.LOG.debug("mask: %s", "1 1")
        log.LOG.info("training\n5/10 „übel“", extra={"fields": {"position": 5, "loss": float("inf")}})
        log.LOG.log(log.RESULT, "accuracy = 0.5")
        log.LOG.warning("warning: 3 texts were cut")
        log.LOG.error("error: a batch failed")
        log.print_line(logging.ERROR, "error: no file", exit_code=1)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)
    assert {line["command"] for line in lines} == {"bert-tag"}
    assert [line["level"] for line in lines] == ["debug", "info", "notice", "warning", "error", "error"]
    assert [line["message"] for line in lines][1:5] == [
        "training\n5/10 „übel“", "accuracy = 0.5", "3 texts were cut", "a batch failed"
    ]  # fmt: skip
    assert (lines[1]["position"], lines[1]["loss"], lines[5]["exit_code"]) == (5, "inf", 1)


def test_json_lines_include_tracebacks_and_python_warnings(capsys):
    with json_log(), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old name", DeprecationWarning, stacklevel=1)
        try:
            raise ValueError("a bug")
        except ValueError as error:
            log.print_line(logging.ERROR, "ValueError: a bug", error)
    warned, failed = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (warned["level"], "old name" in warned["message"]) == ("warning", True)
    assert failed["traceback"].endswith("ValueError: a bug")


def test_text_lines_return_after_json(capsys):
    with json_log():
        log.set_log_format(log.TEXT, "bert-tag")
        log.LOG.warning("warning: one")
        log.print_line(logging.ERROR, "bert-tag: error: two")
        assert not log.uses_json()
    assert capsys.readouterr().err == "warning: one\nbert-tag: error: two\n"


def test_strict_makes_an_error(caplog):
    log.warn_or_fail("odd", strict=False)
    assert caplog.messages == ["warning: odd"]
    with raises(InputError, "--strict"):
        log.warn_or_fail("odd", strict=True)


def test_repeated_information_is_left_out(caplog):
    lines: set[str] = set()
    with logging_of(logging.INFO, [caplog.handler]):
        for number in range(2):
            with log.dropping_lines_logged_before(lines):
                log.LOG.info("two labels")
                log.LOG.info("two labels")
                log.LOG.info("run %d", number)
                log.LOG.warning("warning: few rows")
        log.LOG.info("two labels")
    first = ["two labels", "two labels", "run 0", "warning: few rows"]
    assert [record.message for record in caplog.records] == [*first, "run 1", "warning: few rows", "two labels"]
