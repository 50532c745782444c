"""A user's input, opened once: a local or remote file, or standard input, as bytes, lines or text.

Each reading starts again at the first byte of the same open file, and ends the one before. Gzip is
unpacked, and text in any encoding becomes UTF-8. Unusual content is logged once per source.
"""

import contextlib
import functools
import gzip
import io
import itertools
import json
import sys
import weakref
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line
from bert_cli.base.lines import TEXT, bounded_lines, decode, decode_lines, input_name, nul_error, refuse_nul
from bert_cli.base.log import LOG
from bert_cli.base.misread_text import describe_misreading, warn_of_misread_text
from bert_cli.base.names import STANDARD
from bert_cli.base.recoding import UTF_8, as_utf8, with_line_feeds
from bert_cli.reading.arriving import ArrivingLines

_GZIP = b"\x1f\x8b"  # UTF-8 text never begins so: the second byte cannot follow the first
_ZLIB = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")  # first bytes of compressed data
_BLOCK, _LARGE_BLOCK = 1 << 16, 1 << 20
_HEAD = 200


class Source:
    """An open input. The file is closed when nothing refers to the source any more.

    Attributes:
        path: path as the user gave it, - for standard input.
        name: its name in messages.
        encoding: value of --encoding, None for a UTF-8 file that the flag does not apply to.
        is_folder: whether it is a directory.
        can_rewind: whether it can be read again, unlike a pipe.
    """

    def __init__(
        self,
        path: str,
        encoding: str | None = UTF_8,
        flag: str = "",
        pipe: ArrivingLines | None = None,
        may_be_folder: bool = False,
    ):
        """Open a file, or standard input.

        Args:
            path, encoding: see the attributes.
            flag: flag that gives the path, for messages.
            pipe: standard input, if the caller tests which lines have arrived.
            may_be_folder: whether the path may be a directory, which has no bytes.

        Raises:
            InputError: there is no such file, or it cannot be read.
        """
        self.path, self.name, self.encoding = path, input_name(path), encoding
        self._pipe = pipe
        self._noun = TEXT if encoding else "file"
        self.is_folder = may_be_folder and files.is_directory(path)
        self._was_read = self._has_logged_line_ends = self._has_warned = False
        if path == STANDARD or self.is_folder:
            self._file: BinaryIO = io.BytesIO() if self.is_folder else sys.stdin.buffer
        else:
            files.check_readable(path, flag)
            self._file = files.open_binary(path)
            weakref.finalize(self, self._file.close)
        # Never rewind standard input: another program may have read its beginning.
        self.can_rewind = path != STANDARD and self._file.seekable()

    @property
    def position(self) -> int | None:
        """Return the number of bytes read so far, as they are on disk; None for a pipe."""
        return self._file.tell() if self._file.seekable() else None

    @functools.cached_property
    def head(self) -> bytes:
        """Return the first bytes as they are on disk, at most 200; a pipe waits for them."""
        if self.can_rewind:
            self._file.seek(0)
        if hasattr(self._file, "peek"):
            return self._file.peek(_HEAD)[:_HEAD]
        head = self._file.read(_HEAD)  # a stream in memory
        self._file.seek(0)
        return head

    def binary(self) -> BinaryIO:
        """Return the bytes from the start, unpacked; raise InputError if a pipe is read again."""
        if self._was_read and not self.can_rewind:
            raise InputError(f"{self.name}: is a pipe, which can be read only once; write it into a file")
        is_packed = self.head.startswith(_GZIP) or self.path.lower().endswith(".gz")
        self._was_read = True
        if self.can_rewind:
            self._file.seek(0)
        return io.BufferedReader(gzip.GzipFile(fileobj=self._file), _BLOCK) if is_packed else self._file

    def utf8(self) -> BinaryIO:
        """Return the text from the start as UTF-8, with line feeds if its lines end in other signs."""
        file = self.binary()
        if is_docbin(self.path, self.head):
            return io.BytesIO(read_docbin(file.read(), self.name))
        if self.encoding:
            file = as_utf8(file, self.encoding, self.name)
        return file if self.path == STANDARD else with_line_feeds(file, self._log_line_ends)

    def _log_line_ends(self) -> None:
        if not self._has_logged_line_ends:
            LOG.info("%s: its lines end in carriage returns (CR); they are read as lines", self.name)
        self._has_logged_line_ends = True

    @contextlib.contextmanager
    def report_damage(self) -> Iterator[None]:
        """Raise InputError for errors of gzip within a block."""
        try:
            yield
        except EOFError:
            raise InputError(f"{self.name}: is an incomplete gzip file; download or compress it again") from None
        except (gzip.BadGzipFile, zlib.error):
            if not self.head.startswith(_GZIP):
                raise InputError(f"{self.name}: is not a gzip file; remove .gz from its name, or compress it") from None
            raise InputError(f"{self.name}: is a damaged gzip file; download or compress it again") from None

    def lines(self, skip: int = 0, allows_nul: bool = False) -> Iterator[str]:
        """Yield the lines from the start, with their ends, as they come.

        Args:
            skip: number of lines to skip.
            allows_nul: whether NUL is a character as any other.

        Raises:
            InputError: a line is too long, has invalid bytes or NUL, or the gzip file is damaged.
        """
        with self.report_damage():
            yield from self._warn(self._decode(skip, allows_nul), skip + 1)

    def _decode(self, skip: int, allows_nul: bool) -> Iterator[str]:
        data: Iterable[bytes]
        if self._pipe:
            if self.encoding:
                self._pipe.recode(self.encoding, self.name)
            data = self._pipe
        else:
            data = self.utf8()
        if skip:
            data = itertools.islice(bounded_lines(data, self.name), skip, None)
        lines = decode_lines(data, self.name, skip + 1, self._noun)
        return lines if allows_nul else refuse_nul(lines, self.name)

    def _warn(self, lines: Iterator[str], first_line: int) -> Iterator[str]:
        """Yield the lines, and log the first one that was decoded with the wrong encoding."""
        if self.encoding and not self._has_warned:
            for number, line in enumerate(lines, first_line):
                yield line
                if not line.isascii() and (description := describe_misreading(line, self.encoding)):
                    LOG.warning("%s:%d: warning: %s", self.name, number, description)
                    break
            # One warning per source is enough, so later lines and readings are not searched.
            self._has_warned = True
        yield from lines

    def count_lines(self) -> int:
        """Return the number of lines, with a last one without a line end."""
        count, last = 0, b"\n"
        with self.report_damage():
            file = self.utf8()
            while block := file.read(_LARGE_BLOCK):
                count += block.count(b"\n")
                last = block[-1:]
        return count + (last != b"\n")

    @functools.cached_property
    def characters(self) -> str:
        """Return the decoded bytes, with line ends, NUL and byte-order mark; raise InputError."""
        file = self.binary()
        with self.report_damage():
            data = (as_utf8(file, self.encoding, self.name) if self.encoding else file).read()
        return decode(data, self.name, noun=self._noun)

    @functools.cached_property
    def text(self) -> str:
        """Return the text without a byte-order mark; raise InputError as `lines` does."""
        with self.report_damage():
            text = decode(self.utf8().read(), self.name, noun=self._noun)
        if "\0" in text:
            number = text.count("\n", 0, text.index("\0")) + 1
            raise nul_error(self.name, number, self._noun, text.startswith("\0"))
        if self.encoding and not self._has_warned:
            warn_of_misread_text(text, self.name, self.encoding)
            self._has_warned = True
        return text.removeprefix("\ufeff")


def is_docbin(path: str, head: bytes) -> bool:
    """Return whether a file is a DocBin by its name and its first bytes."""
    return path.lower().endswith(".spacy") and head.startswith(_ZLIB)


def read_docbin(data: bytes, name: str) -> bytes:
    """Return a DocBin's documents as JSON lines in UTF-8, each as spaCy's Doc.to_json makes it.

    Args:
        data: the file's bytes.
        name: the file, for messages.

    Raises:
        InputError: spaCy is not installed, or the file is not a DocBin.
    """
    # Import late: the package is optional, and takes seconds.
    try:
        from spacy.tokens import DocBin
        from spacy.vocab import Vocab
    except ImportError:
        raise InputError(
            f"{name}: is a DocBin of spaCy, which its package reads: pip install spacy; or write it as JSON lines there, "
            "each with json.dumps(doc.to_json())"
        ) from None
    try:
        documents = list(DocBin().from_bytes(data).get_docs(Vocab()))
    # The package raises errors of zlib and msgpack, and KeyError and others for a wrong content.
    except Exception as error:
        raise InputError(f"{name}: is not a DocBin of spaCy: {first_line(error)}; write it again") from None
    return "".join(f"{json.dumps(document.to_json(), ensure_ascii=False)}\n" for document in documents).encode()
