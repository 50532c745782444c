"""Bytes into text: no other module decodes lines from files or streams.

All text is UTF-8. User text in other encodings is recoded before, see `recoding.as_utf8`.
"""

import collections
import contextlib
import io
import os
import select
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from bert_cli.base.errors import InputError
from bert_cli.base.files import open_binary, read_bytes
from bert_cli.base.misread_text import (
    is_damaged_utf_8,
    propose_encoding,
    warn_of_misread_text,
    warn_of_misreading,
)
from bert_cli.base.names import STANDARD
from bert_cli.base.recoding import (
    UTF_16_MARKS,
    as_utf8,
    has_only_carriage_returns,
    log_carriage_returns,
    with_line_feeds,
)

LONGEST_LINE = 10_000_000  # bytes; longer lines are not text that people or programs wrote as lines
TEXT = "text"  # a value of `noun`, see `decode`
# Bytes to read from a pipe at a time. Recoded as UTF-8, 65,536 bytes have at most this length.
_PIECE = 1 << 18
_MARK = "\ufeff"  # a byte-order mark, decoded
_GZIP_MARK = b"\x1f\x8b"


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


def input_name(path: str) -> str:
    """Return an input's name for messages: its path, or "standard input"."""
    return "standard input" if path == STANDARD else path


def decode(data: bytes, name: str, first_line: int = 1, noun: str = "file", follows_utf_8: bool = False) -> str:
    """Return strict UTF-8 as text, or raise InputError with the line of the first wrong byte.

    A byte-order mark of UTF-16 or a gzip header gets its own message.

    Args:
        data: the bytes.
        name: file name for messages.
        first_line: line number at which `data` begins.
        noun: noun for the file in messages. TEXT is a file that --encoding applies to.
        follows_utf_8: whether the file has letters in UTF-8 before `data`.
    """
    if first_line == 1 and noun in ("file", TEXT) and data.startswith(UTF_16_MARKS):
        advice = "; give --encoding=utf-16, or" if noun == TEXT else ", UTF-8 is needed;"
        raise InputError(f"{name}:1: is UTF-16{advice} save it as UTF-8")
    if first_line == 1 and data.startswith(_GZIP_MARK):
        raise InputError(f"{name}: is packed with gzip, which is not read here; unpack it")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        problem = f"{name}:{line}: is not UTF-8 (byte 0x{data[error.start]:02x})"
        # Propose no encoding for damaged UTF-8: it would change all other letters.
        if is_damaged_utf_8(data, follows_utf_8):
            raise InputError(f"{problem}, but the rest is; correct this line") from None
        saved = "file" if noun == TEXT else noun
        raise InputError(
            f"{problem}; {_encoding_advice(data) if noun == TEXT else ''}save the {saved} as UTF-8"
        ) from None


def _encoding_advice(data: bytes) -> str:
    encoding = propose_encoding(data)
    return f"give its encoding, as in --encoding={encoding}, or " if encoding else "give its --encoding, or "


def line_too_long(name: str, number: int) -> InputError:
    """Return the error for a line longer than LONGEST_LINE."""
    return InputError(f"{name}:{number}: is a line of more than 10 MB; does each line of this text have a line end?")


def bounded_lines(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield a file's lines with their ends, as they come.

    Raise InputError for a line longer than LONGEST_LINE, without reading all of it.
    """
    if isinstance(lines, io.BufferedIOBase):
        file = lines
        # Limit each read: a file that is one endless line would fill the memory.
        lines = iter(lambda: file.readline(LONGEST_LINE + 2), b"")
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE + 1:
            raise line_too_long(name, number)
        yield line


def split_lines(text: str, name: str) -> list[str]:
    """Return a text's lines without `\\n`; a line end after the last line is followed by "".

    Raise InputError for a line longer than LONGEST_LINE.
    """
    lines = text.split("\n")
    if len(text) > LONGEST_LINE:
        # A short text cannot hold a long line, so most files skip this loop.
        for number, line in enumerate(lines, start=1):
            if len(line) > LONGEST_LINE:
                raise line_too_long(name, number)
    return lines


def decode_lines(lines: Iterable[bytes], name: str, first_line: int = 1, noun: str = TEXT) -> Iterator[str]:
    """Yield each line as text, with its end, as it comes, without a byte-order mark before line 1.

    Raise InputError as `decode` does. If `first_line` is 1, also raise it as `bounded_lines` does.

    Args:
        lines: lines as bytes, or an open file.
        name: see `decode`.
        first_line: line number at which `lines` begins.
        noun: see `decode`.
    """
    lines = bounded_lines(lines, name) if first_line == 1 else lines
    follows_utf_8 = False
    for number, line in enumerate(lines, start=first_line):
        text = decode(line, name, number, noun, follows_utf_8)
        follows_utf_8 = follows_utf_8 or not text.isascii()
        yield text.removeprefix(_MARK) if number == 1 else text


def refuse_nul(lines: Iterable[str], name: str) -> Iterator[str]:
    """Yield the lines from a file's first line on; raise InputError for a NUL character."""
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise _nul_error(name, number, TEXT, number == 1 and line.startswith("\0"))
        yield line


def _nul_error(name: str, number: int, noun: str, is_big_endian: bool) -> InputError:
    advice = f"give --encoding=utf-16-{'be' if is_big_endian else 'le'}" if noun == TEXT else "save the file as UTF-8"
    return InputError(f"{name}:{number}: holds a NUL character; remove it, or {advice} if it is UTF-16")


def read_text(path: str, encoding: str | None = None) -> str:
    """Return a file's content as text, without a byte-order mark, with line ends unchanged.

    Raise InputError with the line number if a byte is not UTF-8, or is NUL, which is a sign of
    UTF-16.

    Args:
        path: the file.
        encoding: value of --encoding, see `as_utf8`. None if the file is UTF-8 and no flag applies.
    """
    data = read_bytes(path)
    noun = TEXT if encoding else "file"
    if encoding:
        data = as_utf8(io.BytesIO(data), encoding, path).read()
    if noun == TEXT and has_only_carriage_returns(data):
        log_carriage_returns(path)
        data = data.replace(b"\r", b"\n")
    text = decode(data, path, noun=noun)
    if "\0" in text:
        raise _nul_error(path, text.count("\n", 0, text.index("\0")) + 1, noun, text.startswith("\0"))
    if encoding:
        warn_of_misread_text(text, path, encoding)
    return text.removeprefix(_MARK)


@contextlib.contextmanager
def open_lines(
    path: str, encoding: str | None = None, logs: bool = True, pipe: ArrivingLines | None = None
) -> Iterator[Iterator[str]]:
    """Open a file, or standard input for "-", as an iterator over its lines as they come.

    Lines that all end in carriage returns are lines too, see `with_line_feeds`. Raise InputError
    for bytes that the encoding does not allow.

    Args:
        path: the file.
        encoding: see `read_text`.
        logs: whether to log unusual content; False if the file is read again.
        pipe: standard input, if the caller tests which lines have arrived.
    """
    name = input_name(path)
    noun = TEXT if encoding else "file"
    with contextlib.ExitStack() as stack:
        recoded: Iterable[bytes]
        if path == STANDARD and pipe:
            if encoding:
                pipe.recode(encoding, name)
            recoded = pipe
        elif path == STANDARD:
            file: BinaryIO = sys.stdin.buffer
            recoded = as_utf8(file, encoding, name) if encoding else file
        else:
            file = stack.enter_context(open_binary(path))
            recoded = with_line_feeds(as_utf8(file, encoding, name) if encoding else file, name, logs)
        lines = decode_lines(recoded, name, noun=noun)
        yield warn_of_misreading(lines, name, encoding) if logs and encoding else lines
