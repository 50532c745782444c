"""Bytes into text: the only place that decodes the lines of a file or of a stream.

All text is UTF-8; texts that users give in other encodings are recoded before, see `recoding.as_utf8`.
"""

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
from bert_cli.base.recoding import CARRIAGE_RETURNS, UTF_16_MARKS, as_utf8, has_only_carriage_returns, with_line_feeds

LONGEST_LINE = 10_000_000  # bytes; a longer line is no text that people or programs wrote as lines
TEXT = "text"  # of `decode`
_MARK = "\ufeff"  # a byte-order mark, decoded
_GZIP_MARK = b"\x1f\x8b"
_CONTROLS = re.compile("[\x80-\x84\x86-\x9f]")  # C1 without U+0085, which is a line end in old texts
_ONLY_IN_CP1252 = re.compile(rb"[\x80-\x9f]")  # printable there, controls in latin-1


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
    if first_line == 1 and what in ("file", TEXT) and data.startswith(UTF_16_MARKS):
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


def line_too_long(name: str, number: int) -> InputError:
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
            raise line_too_long(name, number)
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
                raise line_too_long(name, number)
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


def refuse_nul(lines: Iterable[str], name: str) -> Iterator[str]:
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
    if what == TEXT and has_only_carriage_returns(data):
        LOG.info(CARRIAGE_RETURNS, path)
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
