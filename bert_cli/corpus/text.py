r"""Reader of pre-training text: one sentence per line, and an empty line between documents.

Tables, JSON records and WikiExtractor's extracts become such text, see `documents`.

    files -> read_blocks -> tokenize_block (in any process) -> store.store_corpus

A line ends only at `\n`. A line with only white space ends a document. A line that has no tokens (a
zero-width space) is skipped, and does not end a document. Both rules are the original's.
"""

import dataclasses
import functools
import itertools
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, Literal, NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.lines import LONGEST_LINE, TEXT, decode, line_too_long_error
from bert_cli.base.misread_text import warn_of_misread_text
from bert_cli.base.names import STANDARD
from bert_cli.corpus.space_words import SpaceWordTokenizer
from bert_cli.examples.documents import (
    TextLines,
    check_plain_text,
    holds_extracts,
    is_filled_table,
    read_json_documents,
    read_table_documents,
    strip_extracts,
)
from bert_cli.reading.records import holds_records
from bert_cli.reading.source import Source
from bert_cli.settings.texts import PLAIN_TEXT, CorpusForm
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import UNK

BLOCK_SIZE = 1 << 19  # bytes of text per block for a worker
_HEAD = 1 << 16  # bytes that decide what a file holds


@dataclasses.dataclass(frozen=True, eq=False)
class MemoryText:
    """Documents that a program has in memory, instead of a file.

    Attributes:
        name: the name in messages.
        documents: texts with one sentence per line.
    """

    name: str
    documents: Sequence[str]

    def __str__(self) -> str:
        return self.name

    @functools.cached_property
    def position(self) -> int:
        """Size in bytes, which is also the position in the text after reading."""
        return sum(len(document.encode(errors="replace")) + 2 for document in self.documents)

    def lines(self) -> Iterator[TextLines]:
        """Yield the documents, each with an empty line at its end."""
        return (TextLines(number, f"{document}\n\n") for number, document in enumerate(self.documents))


TextSource = str | MemoryText  # a path or a text in memory


class Block(NamedTuple):
    """Complete lines from one file.

    `position` is the number of bytes read so far from all files, as they are on disk (compressed or
    not).
    """

    path: str
    first_line: int
    data: bytes
    is_end_of_file: bool
    position: int


def read_blocks(
    paths: Sequence[TextSource], block_size: int = BLOCK_SIZE, form: CorpusForm = PLAIN_TEXT
) -> Iterator[Block]:
    """Yield the files in order, as blocks.

    Any file may be compressed with gzip, whether or not its name ends in .gz. Tables, JSON records
    and WikiExtractor's extracts become plain text, see `documents`.

    Args:
        paths: files to read, or texts in memory.
        block_size: approximate bytes per block; a block is larger if a line is longer.
        form: column and encoding of the files.

    Raises:
        InputError: a file cannot be read or decompressed, a table has no column of texts, or plain
            text has no columns.
    """
    done = 0
    for path in paths:
        position = 0
        for block in _blocks_of_input(path, form, block_size):
            position = block.position
            yield block._replace(position=done + position)
        done += position


def total_size(paths: Sequence[TextSource]) -> int | None:
    """Return the size of all files on disk in bytes, None if a size is unknown, as for a pipe."""
    # os.path.getsize returns 0 for a pipe.
    names = [path for path in paths if isinstance(path, str)]
    if any(path == STANDARD or not os.path.isfile(path) for path in names):
        return None
    return sum(path.position for path in paths if isinstance(path, MemoryText)) + sum(map(os.path.getsize, names))


def _blocks_of_input(path: TextSource, form: CorpusForm, block_size: int) -> Iterator[Block]:
    if isinstance(path, MemoryText):
        return _pack(path, path.lines(), block_size)
    return _blocks_of_file(path, form, block_size)


def _blocks_of_file(path: str, form: CorpusForm, block_size: int) -> Iterator[Block]:
    encoding = form.table.encoding
    source = Source(path, encoding)
    name = source.name
    try:
        with source.report_damage():
            if is_filled_table(path):
                yield from _pack(source, read_table_documents(source, form), block_size)
                return
            recoded = source.utf8()
            head = recoded.read(_HEAD)
            beginning = head.decode(errors="replace")
            if holds_records(beginning):
                yield from _pack(source, read_json_documents(source, form), block_size)
                return
            check_plain_text(name, beginning, form)
            blocks = _plain_blocks(source, encoding, _read_pieces(head, recoded, block_size))
            if holds_extracts(beginning):
                extracts = strip_extracts(name, ((block.first_line, block.data) for block in blocks))
                yield from _pack(source, extracts, block_size)
            else:
                yield from blocks
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None


def _read_pieces(head: bytes, file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the bytes that were read already, and then the rest of the file."""
    yield from (head[start : start + size] for start in range(0, len(head), size))
    yield from iter(lambda: file.read(size), b"")


def _plain_blocks(source: Source, encoding: str, pieces: Iterable[bytes]) -> Iterator[Block]:
    name = source.name
    first_line = 1
    pending = []
    position = 0
    is_ascii = True
    for data in pieces:
        position = position + len(data) if source.position is None else source.position
        head, newline, tail = data.rpartition(b"\n")
        if not newline:
            pending.append(data)
            # A file without a newline, such as a binary file, must not fill the memory.
            if sum(map(len, pending)) > LONGEST_LINE:
                raise line_too_long_error(name, first_line)
            continue
        lines = b"".join([*pending, head, newline])
        pending = [tail]
        # Check one block per file: a search of all blocks of a large corpus takes seconds.
        if is_ascii and not lines.isascii():
            is_ascii = False
            warn_of_misread_text(decode(lines, name, first_line, TEXT), name, encoding, first_line)
        yield Block(name, first_line, lines, False, position)
        first_line += lines.count(b"\n")
    # Yield it even if it is empty: a file's end may end a document.
    yield Block(name, first_line, b"".join(pending), True, position)


def _pack(source: Source | MemoryText, documents: Iterable[TextLines], block_size: int) -> Iterator[Block]:
    """Yield documents as blocks; raise InputError for a character that no text has."""
    name = source.name
    pending: list[bytes] = []
    first_line = size = 0
    for line, text in documents:
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{name}:{line}: the text has half of a surrogate pair, which is no character; remove it"
            ) from None
        first_line = first_line or line
        pending.append(data)
        size += len(data)
        if size >= block_size:
            yield Block(name, first_line, b"".join(pending), False, source.position or 0)
            pending, first_line, size = [], 0, 0
    yield Block(name, first_line, b"".join(pending), True, source.position or 0)


Typecode = Literal["H", "I"]  # type of stored token ids


class TokenizedBlock(NamedTuple):
    """Sentences as token ids.

    Attributes:
        token_ids: array [tokens].
        sentence_lengths: array [sentences], tokens per sentence, at least 1.
        document_ends: number of this block's sentences before each document end; may repeat.
        num_unknown: number of [UNK] tokens.
        position: as in Block.
    """

    token_ids: array
    sentence_lengths: array
    document_ends: list[int]
    num_unknown: int
    position: int


def token_typecode(vocab_size: int) -> Typecode:
    """Return the type of stored token ids: two bytes if the vocabulary allows it, else four."""
    return "H" if vocab_size <= 1 << 16 else "I"


def tokenize_block(block: Block, tokenizer: FullTokenizer, typecode: str, files_end_documents: bool) -> TokenizedBlock:
    """Tokenize the lines in a block.

    Args:
        block: the lines.
        typecode: type used for stored token ids.
        files_end_documents: whether a document ends with its file. In the original it continues in
            the next file.

    Raises:
        InputError: the text is not UTF-8; the message has file:line.
    """
    unknown = tokenizer.unknown_ids if isinstance(tokenizer, SpaceWordTokenizer) else [tokenizer.ids[UNK]]
    sentences, document_ends = [], []
    for line in decode_block(block).split("\n"):
        if line and not line.isspace():
            sentence = tokenizer.encode(line)
            if sentence:
                sentences.append(sentence)
        else:
            document_ends.append(len(sentences))
    # An empty block, or a block that ends with a newline, has nothing after its last line.
    if document_ends and (not block.data or block.data.endswith(b"\n")):
        document_ends.pop()  # the empty rest after the last newline is not a line
    if files_end_documents and block.is_end_of_file:
        document_ends.append(len(sentences))
    token_ids = array(typecode, list(itertools.chain.from_iterable(sentences)))
    numbers = np.frombuffer(token_ids, typecode)
    num_unknown = sum(int(np.count_nonzero(numbers == index)) for index in unknown)
    return TokenizedBlock(token_ids, array("I", map(len, sentences)), document_ends, num_unknown, block.position)


def decode_block(block: Block) -> str:
    return decode(block.data, block.path, block.first_line, TEXT)
