"""The package's log: levels for --quiet and --verbose, and text or JSON lines (--log_format)."""

import contextlib
import functools
import json
import logging
import math
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, ClassVar

from bert_cli.base.errors import InputError, replace_flag_names

LOG = logging.getLogger("bert_cli")
RESULT = 25  # between logging.INFO and logging.WARNING: metrics, which --quiet keeps
EXAMPLES = 5  # examples per split that --verbose logs
# Levels by their names in --log_level and in JSON lines, which log collectors know.
LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": RESULT,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
TEXT, JSON = "text", "json"  # values of --log_format
_PYTHON_WARNINGS = logging.getLogger("py.warnings")  # logger of logging.captureWarnings
_PREFIXES = ("error: ", "warning: ")  # prefixes of text lines, which repeat the level
# Lines of TensorFlow's C++ begin with a letter for the level, after or before their time. Python's
# begin with its name.
_LEVEL_MARK = re.compile(
    r"(?:\d{4}-\d\d-\d\d [\d:.]+: )?([IWEF])(?:\d{4} [\d:.]+ +\d+)? \S+:\d+\]|(INFO|WARNING|ERROR|CRITICAL|Fatal)\b"
)
_MARKED_LEVELS = {"I": logging.INFO, "W": logging.WARNING}


@functools.cache
def warn_once(text: str) -> None:
    """Log a warning once per process."""
    LOG.warning("%s", text)


@functools.cache
def inform_once(text: str) -> None:
    """Log a line once per process."""
    LOG.info("%s", text)


@contextlib.contextmanager
def dropping_lines_logged_before(lines: set[str]) -> Iterator[None]:
    """Drop information that was logged in an earlier context with the same set.

    Args:
        lines: the lines of earlier contexts; the context adds its own ones.
    """
    earlier = frozenset(lines)

    def is_new(record: logging.LogRecord) -> bool:
        line = record.getMessage()
        lines.add(line)
        return record.levelno > logging.INFO or line not in earlier

    LOG.addFilter(is_new)
    try:
        yield
    finally:
        LOG.removeFilter(is_new)


def warn_or_fail(message: str, strict: bool) -> None:
    """Log a warning, or raise InputError with --strict."""
    if strict:
        raise InputError(f"{message} (an error with --strict)")
    LOG.warning("warning: %s", message)


def warn_once_or_fail(message: str, strict: bool) -> None:
    """Log a warning once per process, or raise InputError with --strict."""
    if strict:
        warn_or_fail(message, strict)
    warn_once(f"warning: {message}")


class LogStream:
    """The stream that was sys.stderr at the start, with errors ignored so that logging never fails.

    A terminal may be closed, a pipe may have no reader, and a disk may be full. A program may have
    set sys.stderr to None, or to an object that only has `write`.

    Attributes:
        direct: stream to use instead of sys.stderr while that one leads to a converter (see
            runtime.streams), or None.
    """

    direct: ClassVar[IO[str] | None] = None

    def __init__(self) -> None:
        self._stream = self.direct or sys.stderr

    @property
    def encoding(self) -> str:
        """Return the stream's encoding; use UTF-8 if the stream does not have one."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write a text, or drop it; return the number of characters written."""
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                self._stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        except Exception:  # another program's object may raise anything
            return 0
        return len(text)

    def flush(self) -> bool:
        """Flush the stream; return whether that was possible."""
        try:
            self._stream.flush()
        except Exception:
            return False
        return True

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        try:
            return bool(self._stream.isatty())
        except Exception:
            return False

    def print(self, line: str) -> None:
        """Write a line immediately."""
        self.write(f"{line}\n")
        self.flush()


class StderrHandler(logging.Handler):
    """Handler that writes log lines to standard error, above a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record's line."""
        LogStream().print(self.format(record))

    def emit_all(self, records: Iterable[logging.LogRecord]) -> None:
        """Write the lines for records with a single write."""
        LogStream().print("\n".join(self.format(record) for record in records))


class _PythonHandler(StderrHandler):
    """Handler for Python programs: its lines name arguments, not flags."""

    def format(self, record: logging.LogRecord) -> str:
        return replace_flag_names(super().format(record))


# One encoder for all lines: json.dumps with these arguments would build one for each.
_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode


@functools.lru_cache(maxsize=2)
def _format_second(second: int) -> str:
    """Return a time in seconds as ISO 8601 in UTC; a busy server has many lines in a second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


class JsonFormatter(logging.Formatter):
    """Formatter for JSON lines with time (ISO 8601, UTC), level, command, message and other fields.

    A record has other fields in its attribute `fields`: `LOG.info(…, extra={"fields": {…}})`.
    """

    def __init__(self, command: str):
        super().__init__()
        self._command = command

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's line."""
        seconds = _format_second(int(record.created))
        level = next((name for name, least in reversed(LEVELS.items()) if record.levelno >= least), "debug")
        message = record.getMessage()
        for prefix in _PREFIXES:
            message = message.removeprefix(prefix)
        line: dict[str, Any] = {"time": f"{seconds}.{int(record.msecs):03d}Z", "level": level, "command": self._command}
        line |= {"message": message}
        for name, value in getattr(record, "fields", {}).items():
            # JSON has no number for infinity and NaN.
            line[name] = str(value) if isinstance(value, float) and not math.isfinite(value) else value
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _encode(line)


def convert_lines(source: IO[bytes], target: IO[bytes], command: str) -> None:
    """Copy lines, and convert those that are not JSON to JSON lines.

    Args:
        source: file that other libraries write to, until it ends.
        target: file for the JSON lines. If it cannot be written, lines are still read, so that
            nobody waits for a full pipe.
        command: the command's name.
    """
    formatter = JsonFormatter(command)
    for written in source:
        for text in written.decode("utf-8", "replace").replace("\r", "\n").splitlines():
            if not text.strip():
                continue
            line = text if _is_json(text) else formatter.format(_foreign_record(text))
            with contextlib.suppress(OSError):
                target.write(f"{line}\n".encode())
                target.flush()


def _is_json(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _foreign_record(text: str) -> logging.LogRecord:
    """Return a record for another library's line, with the level in the line or else a warning's."""
    mark = _LEVEL_MARK.match(text)
    name = (mark[1] or mark[2][0]) if mark else "W"
    return LOG.makeRecord(LOG.name, _MARKED_LEVELS.get(name, logging.ERROR), "", 0, "%s", (text,), None)


def set_log_format(log_format: str, command: str) -> None:
    """Set the format of this package's lines on standard error.

    JSON lines include Python's warnings, so that a log collector can parse every line.

    Args:
        log_format: TEXT or JSON.
        command: the command's name.
    """
    had_json = uses_json()
    formatter = JsonFormatter(command) if log_format == JSON else None
    for handler in LOG.handlers:
        if isinstance(handler, StderrHandler):
            handler.setFormatter(formatter)
            if formatter and handler not in _PYTHON_WARNINGS.handlers:
                _PYTHON_WARNINGS.addHandler(handler)
            elif not formatter:
                _PYTHON_WARNINGS.removeHandler(handler)
    # Leave the setting of a program alone unless it was changed here.
    if formatter or had_json:
        logging.captureWarnings(formatter is not None)


def uses_json() -> bool:
    """Return whether log lines are JSON."""
    return _json_handler() is not None


def _json_handler() -> logging.Handler | None:
    return next((handler for handler in LOG.handlers if isinstance(handler.formatter, JsonFormatter)), None)


def print_line(level: int, line: str, error: BaseException | None = None, **fields: Any) -> None:
    """Print a line on standard error at any --log_level, for example a command's last line.

    Args:
        level: the line's level, for JSON.
        error: exception with a traceback that JSON includes, or None.
        **fields: further fields, for JSON.
    """
    handler = _json_handler()
    if handler is None:
        LogStream().print(line)
        return
    exception = (type(error), error, error.__traceback__) if error else None
    record = LOG.makeRecord(LOG.name, level, "", 0, line, (), exception, extra={"fields": fields})
    handler.handle(record)


def log_all(records: Sequence[logging.LogRecord]) -> None:
    """Log several records together: on standard error with a single write."""
    for handler in LOG.handlers:
        if isinstance(handler, StderrHandler):
            handler.emit_all(records)
        else:
            for record in records:
                handler.handle(record)


@contextlib.contextmanager
def mute_log() -> Iterator[None]:
    """Log nothing within a block."""
    was_disabled = LOG.disabled
    LOG.disabled = True
    try:
        yield
    finally:
        LOG.disabled = was_disabled


@contextlib.contextmanager
def show_log(level: int = logging.INFO) -> Iterator[None]:
    """Show the log on standard error within a block, if the program has not configured `logging`.

    A program with handlers or a level for this logger keeps them.

    Args:
        level: lowest level to show.
    """
    if LOG.level != logging.NOTSET or LOG.hasHandlers():
        yield
        return
    handler = _PythonHandler()
    LOG.addHandler(handler)
    LOG.setLevel(level)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(logging.NOTSET)
