"""The package's log, with levels for --quiet, which keeps warnings and results, and --verbose."""

import contextlib
import functools
import logging
import sys
from collections.abc import Iterator

LOG = logging.getLogger("bert_cli")
RESULT = 25  # between logging.INFO and logging.WARNING: metrics, which --quiet keeps
EXAMPLES = 5  # examples per split that --verbose logs


@functools.cache
def warn_once(text: str) -> None:
    """Log a warning once per process."""
    LOG.warning("%s", text)


class LogStream:
    """The stream that was sys.stderr at the start, with errors ignored so that logging never fails.

    A terminal may be closed, a pipe may have no reader, and a disk may be full. A program may have
    set sys.stderr to None, or to an object that only has `write`.
    """

    def __init__(self) -> None:
        self._stream = sys.stderr

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


@contextlib.contextmanager
def show_log() -> Iterator[None]:
    """Show the log on standard error within a block, if the program has not configured `logging`.

    A program with handlers or a level for this logger keeps them.
    """
    if LOG.level != logging.NOTSET or LOG.hasHandlers():
        yield
        return
    handler = StderrHandler()
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(logging.NOTSET)
