"""Bytes into text: no other module decodes lines from files or streams.

All text is UTF-8. User text in other encodings is recoded before, see `recoding.as_utf8`.
"""

import io
from collections.abc import Iterable, Iterator

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.misread_text import is_damaged_utf_8, propose_encoding
from bert_cli.base.names import STANDARD
from bert_cli.base.recoding import UTF_16_MARKS

LONGEST_LINE = 10_000_000  # bytes; longer lines are not text that people or programs wrote as lines
TEXT = "text"  # a value of `noun`, see `decode`
_MARK = "\ufeff"  # a byte-order mark, decoded
_GZIP_MARK = b"\x1f\x8b"


def input_name(path: str) -> str:
    """Return an input's name for messages: its path, or "standard input"."""
    return "standard input" if path == STANDARD else path


def decode(data: bytes, name: str, first_line: int = 1, noun: str = "file", follows_utf_8: bool = False) -> str:
    """Return strict UTF-8 as text, or raise InputError with the line of the first wrong byte.

    A byte-order mark of UTF-16 or a gzip header gets its own message.

    Args:
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


def line_too_long_error(name: str, number: int) -> InputError:
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
            raise line_too_long_error(name, number)
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
                raise line_too_long_error(name, number)
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
            raise nul_error(name, number, TEXT, number == 1 and line.startswith("\0"))
        yield line


def nul_error(name: str, number: int, noun: str, is_big_endian: bool) -> InputError:
    """Return the error for a NUL character, which is a sign of UTF-16.

    Args:
        name: file name for messages.
        number: line that has it.
        noun: see `decode`.
        is_big_endian: whether it is the file's first character.
    """
    advice = f"give --encoding=utf-16-{'be' if is_big_endian else 'le'}" if noun == TEXT else "save the file as UTF-8"
    return InputError(f"{name}:{number}: holds a NUL character; remove it, or {advice} if it is UTF-16")


def read_text(path: str) -> str:
    """Return a UTF-8 file's content as text, without a byte-order mark, with line ends unchanged.

    Raise InputError with the line number if a byte is not UTF-8, or is NUL, which is a sign of
    UTF-16.
    """
    text = decode(files.read_bytes(path), path)
    if "\0" in text:
        raise nul_error(path, text.count("\n", 0, text.index("\0")) + 1, "file", text.startswith("\0"))
    return text.removeprefix(_MARK)


def find_inputs(patterns: str, flag: str = "input_file") -> list[str]:
    """Return the paths for a flag value: names and glob patterns, separated by commas.

    `-` is standard input. The files that match a pattern are sorted. A file that matches two
    patterns is read twice, as in the original.

    Raises:
        InputError: a pattern matches nothing, or a path is not a readable file.
    """
    inputs: list[str] = []
    for pattern in patterns.split(","):
        if pattern == STANDARD:
            if STANDARD in inputs:
                raise InputError(f"--{flag}={patterns}: standard input can be read only once")
            inputs.append(STANDARD)
            continue
        paths = [pattern] if pattern and files.exists(pattern) else files.match(pattern)
        if not paths:
            raise InputError(f"{pattern!r}: no file matches; check --{flag}")
        for path in paths:
            files.check_readable(path, flag)
        inputs += paths
    return inputs
