"""Lines of a pipe, as they arrive."""

import collections
import io
import os
import select
import stat
import sys
import time
from collections.abc import Iterator

from bert_cli.base.lines import LONGEST_LINE
from bert_cli.base.recoding import as_utf8

# Bytes to read from a pipe at a time. Recoded as UTF-8, 65,536 bytes have at most this length.
_PIECE = 1 << 18


class ArrivingLines:
    """Lines of a pipe, with a test whether the next one has arrived already.

    Python's own streams cannot do this, since their buffers may hold lines.
    """

    def __init__(self, descriptor: int):
        """Read from this descriptor, which is not closed."""
        self._descriptor = descriptor
        self._source: io.RawIOBase = open(descriptor, "rb", buffering=0, closefd=False)  # noqa: SIM115
        self._lines: collections.deque[bytes] = collections.deque()
        self._partial_line = bytearray()
        self._is_over = False

    @classmethod
    def of_standard_input(cls) -> "ArrivingLines | None":
        """Return the lines of standard input, or None if it is not a pipe or a socket."""
        try:
            descriptor = sys.stdin.fileno()
            mode = os.fstat(descriptor).st_mode
        except (OSError, ValueError, AttributeError):  # an object of another program, or a closed stream
            return None
        # On Windows, select works with sockets only.
        is_pipe = os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
        return cls(descriptor) if is_pipe else None

    def recode(self, encoding: str, name: str) -> None:
        """Recode the lines as UTF-8, see `recoding.as_utf8`."""
        recoded = as_utf8(self._source, encoding, name)  # type: ignore[arg-type]
        if isinstance(recoded, io.BufferedReader):
            # Read without its buffer, because it may hold lines.
            self._source = recoded.raw

    def __iter__(self) -> Iterator[bytes]:
        while True:
            while not self._lines and not self._is_over:
                self._receive()
            if not self._lines:
                return
            yield self._lines.popleft()

    def has_line(self, seconds: float, skips_blank: bool = False) -> bool:
        """Return whether the next line, or the end, is here or comes within `seconds`.

        Args:
            seconds: time to wait; 0 to test only.
            skips_blank: whether the reader skips blank lines and waits for another one.
        """
        deadline = time.monotonic() + seconds
        while not (self._is_over or any(line.strip() or not skips_blank for line in self._lines)):
            if not select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
                return False
            self._receive()
        return True

    def _receive(self) -> None:
        """Wait for bytes, and append the lines that they complete."""
        data = self._source.read(_PIECE)
        first, *others = (data or b"").split(b"\n")
        self._partial_line += first
        for text in others:
            self._lines.append(bytes(self._partial_line) + b"\n")
            self._partial_line = bytearray(text)
        self._is_over = not data
        # Pass on the start of an endless line: the reader refuses it.
        if self._partial_line and (self._is_over or len(self._partial_line) > LONGEST_LINE + 1):
            self._lines.append(bytes(self._partial_line))
            self._partial_line.clear()
