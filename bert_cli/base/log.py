"""The log of the package, and levels of its lines besides the levels of `logging`: --quiet leaves
warnings and results.
"""

import contextlib
import functools
import logging
import sys
from collections.abc import Iterator

LOG = logging.getLogger("bert_cli")
RESULT = 25  # between logging.INFO and logging.WARNING: metrics, which --quiet keeps
EXAMPLES = 5  # examples of each split that --verbose logs


@functools.cache
def warn_once(text: str) -> None:
    """Log a warning, once in a process whatever finds it several times."""
    LOG.warning("%s", text)


class LogStream:
    """What sys.stderr was at the start, without its errors, so that no log line ends the work.

    A terminal may be closed, a pipe may have no reader, a disk may be full. A program may have set
    sys.stderr to None, or to an object that only has `write`.
    """

    def __init__(self) -> None:
        self._stream = sys.stderr

    @property
    def encoding(self) -> str:
        """The encoding of the stream; UTF-8 if it has none."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write a text, or drop it; return the number of characters that are written."""
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                self._stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        except Exception:  # any, as the object may be of another program
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
    """Handler of log lines for standard error, which pass above a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line of a record."""
        LogStream().print(self.format(record))


@contextlib.contextmanager
def show_log() -> Iterator[None]:
    """Within it the log goes to standard error, also in a program that has not set up `logging`.

    A program that has handlers or a level of its own keeps them.
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
