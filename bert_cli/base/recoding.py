"""Text files in any encoding and with any line end, recoded as UTF-8."""

import codecs
import io
from collections.abc import Callable
from typing import BinaryIO

from bert_cli.base.errors import InputError
from bert_cli.base.misread_text import is_utf_8

UTF_8 = "utf-8"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Byte-order marks for encodings that require one, by name in `codecs`.
_MARKS = {"utf-16": UTF_16_MARKS, "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)}
_LONGEST_MARK = 4  # bytes
_PIECE = 1 << 16  # bytes to recode at a time


def read_encoding(text: str) -> str:
    """Return the value of --encoding; raise InputError if Python has no such text encoding."""
    try:
        # Codecs for bytes, such as base64, fail with a text.
        "".encode(text)
        codecs.getincrementaldecoder(text)
    except (LookupError, ValueError):
        raise InputError(
            f"--encoding={text}: is not an encoding that Python knows, such as utf-8, latin-1, cp1252 or utf-16"
        ) from None
    return text


def as_utf8(file: BinaryIO, encoding: str, name: str) -> BinaryIO:
    """Return a text file's bytes as UTF-8, recoded piece by piece; a UTF-8 file is returned itself.

    Reading raises InputError, with the line, for bytes that the encoding does not allow.

    Args:
        file: the file's bytes.
        encoding: the file's encoding.
        name: file name for messages.
    """
    if codecs.lookup(encoding).name == UTF_8:
        return file
    return io.BufferedReader(_Recoded(file, encoding, name), _PIECE)


class _Recoded(io.RawIOBase):
    """Raw stream that decodes a file and returns UTF-8."""

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
            # Read only the available bytes: at a terminal, each line is answered when it is typed.
            data = self._file.read1(_PIECE) if isinstance(self._file, io.BufferedReader) else self._file.read(_PIECE)
            is_over = not data
            self._pending = self._decode(data).encode(UTF_8)
        count = min(len(buffer), len(self._pending))
        buffer[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count

    def _decode(self, data: bytes) -> str:
        """Return the piece as text, or raise InputError with the line number if a byte is wrong."""
        self._first_bytes += data[: _LONGEST_MARK - len(self._first_bytes)]
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeError as error:
            line, problem = self._line, ""  # some codecs give no position before Python 3.13
            if not self._first_bytes.startswith(self._marks):
                # Do not show the codec's message: it depends on the Python version.
                line, problem = 1, " (no byte-order mark at the beginning)"
            elif isinstance(error, UnicodeDecodeError):
                valid = error.object[: error.start].decode(self._encoding, "ignore")
                line += valid.count("\n")
                byte = error.object[error.start : error.start + 1].hex()  # "" if the data end too early
                problem = f" (byte 0x{byte})" if byte else ""
                if is_utf_8(error.object, self._encoding):
                    raise InputError(
                        f"{self._name}:{line}: is not {self._encoding}{problem}, but UTF-8; leave out --encoding"
                    ) from None
            raise InputError(
                f"{self._name}:{line}: is not {self._encoding}{problem}; give another --encoding, "
                "or save the file as UTF-8"
            ) from None
        self._line += text.count("\n")
        return text


def with_line_feeds(file: BinaryIO, report: Callable[[], None]) -> BinaryIO:
    """Return the file with carriage returns replaced by line feeds, if all its lines end in them.

    Excel's "CSV (Macintosh)" and other programs from that time write such files.

    Args:
        file: UTF-8 bytes, from the file's start. Its buffer should be large: a long first line may
            have carriage returns inside a cell.
        report: function to call if they are replaced.
    """
    if not isinstance(file, io.BufferedReader) or not has_only_carriage_returns(file.peek()):
        return file
    report()
    return io.BufferedReader(_LineFeeds(file), _PIECE)


def has_only_carriage_returns(head: bytes) -> bool:
    """Return whether a file's first lines end in carriage returns alone."""
    return b"\r" in head.rstrip(b"\r\n") and b"\n" not in head


class _LineFeeds(io.RawIOBase):
    """Raw stream that replaces each carriage return with a line feed."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(data)] = data
        return len(data)
