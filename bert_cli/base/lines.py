"""Bytes -> text: the only place where the lines of a file or of a stream are decoded. All text is
UTF-8; texts that users give in other encodings are recoded before, see `as_utf8`.
"""

import codecs
import contextlib
import io
import re
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from bert_cli.base.errors import InputError
from bert_cli.base.files import open_binary, read_bytes
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD

LONGEST_LINE = 10_000_000  # bytes; a longer line is no text that people or programs wrote as lines
UTF_8 = "utf-8"
TEXT = "text"  # of `decode`
_CARRIAGE_RETURNS = "%s: its lines end in carriage returns (CR); they are read as lines"
_PIECE = 1 << 16  # bytes that are recoded at a time
_MARK = "\ufeff"  # a byte-order mark, decoded
_GZIP_MARK = b"\x1f\x8b"
_CONTROLS = re.compile("[\x80-\x84\x86-\x9f]")  # C1 without U+0085, which is a line end in old texts
_ONLY_IN_CP1252 = re.compile(rb"[\x80-\x9f]")  # printable there, controls in latin-1
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Byte-order marks of the encodings that need one, by the encoding's name in `codecs`.
_MARKS = {"utf-16": _UTF_16_MARKS, "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)}
_LONGEST_MARK = 4  # bytes


def read_encoding(text: str) -> str:
    """The value of --encoding. InputError for a name that Python does not know as an encoding of
    text.
    """
    try:
        # An encoder of bytes, such as base64, fails with a text.
        "".encode(text)
        codecs.getincrementaldecoder(text)
    except (LookupError, ValueError):
        raise InputError(
            f"--encoding={text}: is not an encoding that Python knows, such as utf-8, latin-1, cp1252 or utf-16"
        ) from None
    return text


def as_utf8(file: BinaryIO, encoding: str, name: str) -> BinaryIO:
    """The bytes of a text file as UTF-8, read piece by piece: the file itself where it is UTF-8.

    name: of the file, for messages. Reading raises InputError, with the line, for bytes that are
    not of this encoding.
    """
    if codecs.lookup(encoding).name == UTF_8:
        return file
    return io.BufferedReader(_Recoded(file, encoding, name), _PIECE)


class _Recoded(io.RawIOBase):
    """The text of a file as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str, name: str):
        self._file = file
        self._encoding = encoding
        self._name = name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._marks = _MARKS.get(codecs.lookup(encoding).name, (b"",))
        self._first_bytes = b""
        self._pending = b""
        self._line = 1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        is_over = False
        while not self._pending and not is_over:
            # One read of what is there: at a terminal, each line is answered when it is typed.
            data = self._file.read1(_PIECE) if isinstance(self._file, io.BufferedReader) else self._file.read(_PIECE)
            is_over = not data
            self._pending = self._decoded(data).encode(UTF_8)
        count = min(len(buffer), len(self._pending))
        buffer[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count

    def _decoded(self, data: bytes) -> str:
        """Return the text of a piece, or raise InputError with the line of the first wrong byte."""
        self._first_bytes += data[: _LONGEST_MARK - len(self._first_bytes)]
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeError as error:
            line, problem = self._line, ""  # before Python 3.13, some codecs do not give the position
            if not self._first_bytes.startswith(self._marks):
                # Not the codec's words, which depend on the version of Python.
                line, problem = 1, " (no byte-order mark at the beginning)"
            elif isinstance(error, UnicodeDecodeError):
                sound = error.object[: error.start].decode(self._encoding, "ignore")
                line += sound.count("\n")
                byte = error.object[error.start : error.start + 1].hex()  # "" if the data end too early
                problem = f" (byte 0x{byte})" if byte else ""
            raise InputError(
                f"{self._name}:{line}: is not {self._encoding}{problem}; give another --encoding, "
                "or save the file as UTF-8"
            ) from None
        self._line += text.count("\n")
        return text


def input_name(path: str) -> str:
    """What messages call the place that lines come from."""
    return "standard input" if path == STANDARD else path


def decode(data: bytes, name: str, first_line: int = 1, what: str = "file") -> str:
    """Strict UTF-8, nothing dropped; `first_line` is the number of the first line of `data` in the
    file `name`.

    what: "text" is a file that --encoding is about. Raises InputError with the number of the line
    of the first byte that is not UTF-8. A "file" or "text" that begins with a mark of UTF-16 or
    gzip gets an error that says so.
    """
    if first_line == 1 and what in ("file", TEXT) and data.startswith(_UTF_16_MARKS):
        advice = "; give --encoding=utf-16, or" if what == TEXT else ", UTF-8 is needed;"
        raise InputError(f"{name}:1: is UTF-16{advice} save it as UTF-8")
    if first_line == 1 and data.startswith(_GZIP_MARK):
        raise InputError(f"{name}: is packed with gzip, which is not read here; unpack it")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        encoding = "cp1252" if _ONLY_IN_CP1252.search(data) else "latin-1"
        flag = f"give its encoding, as in --encoding={encoding}, or " if what == TEXT else ""
        saved = "file" if what == TEXT else what
        raise InputError(
            f"{name}:{line}: is not UTF-8 (byte 0x{data[error.start]:02x}); {flag}save the {saved} as UTF-8"
        ) from None


def too_long(name: str, number: int) -> InputError:
    """What to raise for a line above LONGEST_LINE."""
    return InputError(f"{name}:{number}: is a line of more than 10 MB; does each line of this text have a line end?")


def bounded_lines(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines of a file, with their ends, as they come. InputError for one above LONGEST_LINE, of
    which no more is read.
    """
    if isinstance(lines, io.BufferedIOBase):
        file = lines
        # A file of one endless line would else be read into memory before its length is known.
        lines = iter(lambda: file.readline(LONGEST_LINE + 2), b"")
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE + 1:
            raise too_long(name, number)
        yield line


def split_lines(text: str, name: str) -> list[str]:
    """The lines of a text without their ends, `\\n`; an end after the last line is followed by "".
    InputError as above.
    """
    lines = text.split("\n")
    if len(text) > LONGEST_LINE:
        # A short text cannot hold a long line: most files skip the walk over their lines.
        for number, line in enumerate(lines, start=1):
            if len(line) > LONGEST_LINE:
                raise too_long(name, number)
    return lines


def decode_lines(lines: Iterable[bytes], name: str, first_line: int = 1, what: str = TEXT) -> Iterator[str]:
    """Each line, with its end, as it comes; a byte-order mark before line 1 is dropped. what: see
    `decode`.

    InputError as in `decode` and, where `lines` is a file from its line 1 on, in `bounded_lines`.
    """
    lines = bounded_lines(lines, name) if first_line == 1 else lines
    for number, line in enumerate(lines, start=first_line):
        text = decode(line, name, number, what)
        yield text.removeprefix(_MARK) if number == 1 else text


def without_nul(lines: Iterable[str], name: str) -> Iterator[str]:
    """The lines, from the first one of a file on, as they come. InputError for one with a NUL
    character.
    """
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise _nul(name, number, TEXT)
        yield line


def _nul(name: str, number: int, what: str) -> InputError:
    advice = "give --encoding=utf-16-le" if what == TEXT else "save the file as UTF-8"
    return InputError(f"{name}:{number}: holds a NUL character; remove it, or {advice} if it is UTF-16")


def read_text(path: str, encoding: str | None = None) -> str:
    """The whole file as text, a byte-order mark dropped, newlines left as they are.

    encoding: of a text, see `as_utf8`; None: the file is UTF-8, and no flag is about it.

    Raises InputError with the line number of the first byte that is not UTF-8, or that is NUL (a
    sign of UTF-16).
    """
    data = read_bytes(path)
    what = TEXT if encoding else "file"
    if encoding:
        data = as_utf8(io.BytesIO(data), encoding, path).read()
    if what == TEXT and _has_only_carriage_returns(data):
        LOG.info(_CARRIAGE_RETURNS, path)
        data = data.replace(b"\r", b"\n")
    text = decode(data, path, what=what)
    if "\0" in text:
        raise _nul(path, text.count("\n", 0, text.index("\0")) + 1, what)
    if what == TEXT and not text.isascii() and (control := _CONTROLS.search(text)):
        _warn_of_control(path, text.count("\n", 0, control.start()) + 1, control[0])
    return text.removeprefix(_MARK)


@contextlib.contextmanager
def open_lines(path: str, encoding: str | None = None, logs: bool = True) -> Iterator[Iterator[str]]:
    """Open a file, or standard input for "-", as its lines, which are read as they come.

    Lines that all end in carriage returns are lines too, see `with_line_feeds`. Raise InputError
    for bytes that are not of this encoding.

    Args:
        path: the file.
        encoding: of a text, see `read_text`.
        logs: whether to log what is unusual; False if the file is read again.
    """
    name = input_name(path)
    what = TEXT if encoding else "file"
    with contextlib.ExitStack() as stack:
        if path == STANDARD:
            file: BinaryIO = sys.stdin.buffer
            recoded = as_utf8(file, encoding, name) if encoding else file
        else:
            file = stack.enter_context(open_binary(path))
            recoded = with_line_feeds(as_utf8(file, encoding, name) if encoding else file, name, logs)
        lines = decode_lines(recoded, name, what=what)
        yield warn_of_controls(lines, name) if logs and what == TEXT else lines


def with_line_feeds(file: BinaryIO, name: str, logs: bool = True) -> BinaryIO:
    """Return the file, with line feeds for its carriage returns if all its lines end in these.

    Excel's "CSV (Macintosh)" and other programs of that age write such files.

    Args:
        file: the bytes of a text in UTF-8, at its beginning.
        name: the file's name, for the log.
        logs: whether to log it.
    """
    if not isinstance(file, io.BufferedReader) or not _has_only_carriage_returns(file.peek()):
        return file
    # A long first line: a cell of a line with line feeds may hold carriage returns.
    file = io.BufferedReader(file, _PIECE)
    if not _has_only_carriage_returns(file.peek()):
        return file
    if logs:
        LOG.info(_CARRIAGE_RETURNS, name)
    return io.BufferedReader(_LineFeeds(file), _PIECE)


def _has_only_carriage_returns(head: bytes) -> bool:
    return b"\r" in head.rstrip(b"\r\n") and b"\n" not in head


class _LineFeeds(io.RawIOBase):
    """The bytes of a file with a line feed for each carriage return."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(data)] = data
        return len(data)


def warn_of_controls(lines: Iterable[str], name: str, first_line: int = 1) -> Iterator[str]:
    """Yield the lines of a text, and log the first one with a C1 control character.

    Text in cp1252 that is read as latin-1 holds such characters for quotes and dashes.
    """
    lines = iter(lines)
    for number, line in enumerate(lines, start=first_line):
        yield line
        if not line.isascii() and (control := _CONTROLS.search(line)):
            _warn_of_control(name, number, control[0])
            break
    # One warning per file is enough, and the other lines need no look.
    yield from lines


def _warn_of_control(name: str, number: int, control: str) -> None:
    LOG.warning(
        "%s:%d: warning: holds the control character U+%04X, as text in cp1252 does that is read as latin-1; "
        "if it is such text, give --encoding=cp1252",
        name, number, ord(control),
    )  # fmt: skip
