"""Bytes -> text: the only place where the lines of a file or of a stream are decoded. All text is
UTF-8.
"""

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator

from bert_cli.base.errors import InputError
from bert_cli.base.files import open_binary, read_bytes
from bert_cli.base.names import STANDARD

LONGEST_LINE = 10_000_000  # bytes; a longer line is no text that people or programs wrote as lines
_MARK = "\ufeff"  # a byte-order mark, decoded
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def input_name(path: str) -> str:
    """What messages call the place that lines come from."""
    return "standard input" if path == STANDARD else path


def decode(data: bytes, name: str, first_line: int = 1, what: str = "file") -> str:
    """Strict UTF-8, nothing dropped; `first_line` is the number of the first line of `data` in the
    file `name`.

    Raises InputError with the number of the line of the first byte that is not UTF-8. A "file"
    (`what`) that begins with a mark of UTF-16 gets an error that says so.
    """
    if first_line == 1 and what == "file" and data.startswith(_UTF_16_MARKS):
        raise InputError(f"{name}:1: is UTF-16, UTF-8 is needed; save it as UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise InputError(
            f"{name}:{line}: is not UTF-8 (byte 0x{data[error.start]:02x}); save the {what} as UTF-8"
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


def decode_lines(lines: Iterable[bytes], name: str, first_line: int = 1) -> Iterator[str]:
    """Each line, with its end, as it comes; a byte-order mark before line 1 is dropped.

    InputError as in `decode` and, where `lines` is a file from its line 1 on, in `bounded_lines`.
    """
    lines = bounded_lines(lines, name) if first_line == 1 else lines
    for number, line in enumerate(lines, start=first_line):
        text = decode(line, name, number)
        yield text.removeprefix(_MARK) if number == 1 else text


def without_nul(lines: Iterable[str], name: str) -> Iterator[str]:
    """The lines, from the first one of a file on, as they come. InputError for one with a NUL
    character.
    """
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise _nul(name, number)
        yield line


def _nul(name: str, number: int) -> InputError:
    return InputError(f"{name}:{number}: holds a NUL character; remove it, or save the file as UTF-8 if it is UTF-16")


def read_text(path: str) -> str:
    """The whole file as text: strict UTF-8, a byte-order mark dropped, newlines left as they are.

    Raises InputError with the line number of the first byte that is not UTF-8, or that is NUL (a
    sign of UTF-16).
    """
    text = decode(read_bytes(path), path)
    if "\0" in text:
        raise _nul(path, text.count("\n", 0, text.index("\0")) + 1)
    return text.removeprefix(_MARK)


@contextlib.contextmanager
def open_lines(path: str) -> Iterator[Iterator[str]]:
    """The lines of a file, or of standard input for "-", as they come. InputError for bytes that
    are not UTF-8.
    """
    if path == STANDARD:
        yield decode_lines(sys.stdin.buffer, input_name(path))
        return
    with open_binary(path) as file:
        yield decode_lines(file, path)
