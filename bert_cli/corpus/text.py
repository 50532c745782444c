r"""Text for pre-training: one sentence per line, an empty line between documents; from files to
blocks of token ids.

    files -> read_blocks -> tokenize_block (in any process) -> store.store_corpus

A line ends at `\n` only. A line with nothing but white space ends a document; a line that tokenizes
to nothing (a zero-width space) is left out and ends none. Both as in the original.
"""

import contextlib
import gzip
import itertools
import os
import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Literal, NamedTuple, cast

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import LONGEST_LINE, TEXT, decode, input_name, too_long
from bert_cli.base.names import STANDARD
from bert_cli.base.recoding import UTF_8, as_utf8, with_line_feeds
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import UNK

BLOCK_SIZE = 1 << 19  # bytes of text handed to a worker at once


def find_inputs(patterns: str, flag: str = "input_file") -> list[str]:
    """Paths for a value of a flag: names and glob patterns with commas between, `-` for standard
    input.

    The files of a pattern are sorted; a file that two patterns match is read twice, as in the
    original. InputError for a pattern that matches nothing, and for a path that is not a readable
    file.
    """
    found: list[str] = []
    for pattern in patterns.split(","):
        if pattern == STANDARD:
            if STANDARD in found:
                raise InputError(f"--{flag}={patterns}: standard input can be read only once")
            found.append(STANDARD)
            continue
        paths = [pattern] if pattern and files.exists(pattern) else files.match(pattern)
        if not paths:
            raise InputError(f"{pattern!r}: no file matches; check --{flag}")
        for path in paths:
            files.check_readable(path, flag)
        found += paths
    return found


class Block(NamedTuple):
    """Whole lines of one file. `position`: bytes read so far of all files, as they are on disk
    (packed or not).
    """

    path: str
    first_line: int
    data: bytes
    is_end_of_file: bool
    position: int


def read_blocks(paths: Sequence[str], block_size: int = BLOCK_SIZE, encoding: str = UTF_8) -> Iterator[Block]:
    """The files in order, in blocks of about `block_size` bytes of text (more where a line is
    longer).

    A file may be packed with gzip, whatever its name. InputError where it cannot be read or
    unpacked.
    """
    done = 0
    for path in paths:
        position = 0
        for block in _blocks_of_file(path, encoding, block_size):
            position = block.position
            yield block._replace(position=done + position)
        done += position


def total_size(paths: Sequence[str]) -> int | None:
    """Bytes of all files on disk; None where one has no known size, such as standard input or a
    pipe.
    """
    # A pipe has a size of 0 for os.path.getsize.
    if any(path == STANDARD or not os.path.isfile(path) for path in paths):
        return None
    return sum(os.path.getsize(path) for path in paths)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, BinaryIO | gzip.GzipFile]]:
    """The file as it is, and unpacked (the same object, where it is not packed)."""
    with contextlib.ExitStack() as stack:
        raw = sys.stdin.buffer if path == STANDARD else stack.enter_context(files.open_binary(path))
        if hasattr(raw, "peek"):
            start = raw.peek(2)[:2]
        else:  # of a stream in memory
            start = raw.read(2)
            raw.seek(0)
        # No UTF-8 text begins with gzip's mark: its second byte cannot follow the first.
        is_packed = start == b"\x1f\x8b"
        yield raw, stack.enter_context(gzip.GzipFile(fileobj=raw)) if is_packed else raw


def _blocks_of_file(path: str, encoding: str, block_size: int) -> Iterator[Block]:
    name = input_name(path)
    first_line = 1
    pending = []
    position = 0
    try:
        with _opened(path) as (raw, file):
            recoded = as_utf8(cast(BinaryIO, file), encoding, name)
            if path != STANDARD:
                recoded = with_line_feeds(recoded, name)
            while data := recoded.read(block_size):
                position = raw.tell() if raw.seekable() else position + len(data)
                head, newline, tail = data.rpartition(b"\n")
                if not newline:
                    pending.append(data)
                    # A file without a newline, such as a binary one, must not fill the memory.
                    if sum(map(len, pending)) > LONGEST_LINE:
                        raise too_long(name, first_line)
                    continue
                lines = b"".join([*pending, head, newline])
                pending = [tail]
                yield Block(name, first_line, lines, False, position)
                first_line += lines.count(b"\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{name}: is a damaged gzip file ({error}); pack it again") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    # Also where it is empty: the end of a file may end a document.
    yield Block(name, first_line, b"".join(pending), True, position)


Typecode = Literal["H", "I"]  # of token ids that are stored


class TokenizedBlock(NamedTuple):
    """Sentences as token ids.

    token_ids         array [tokens]
    sentence_lengths  array [sentences], tokens of each, at least 1
    document_ends     list: how many sentences of this block come before the end of a document; may repeat
    num_unknown       tokens that are [UNK]
    position          as in Block
    """

    token_ids: array
    sentence_lengths: array
    document_ends: list[int]
    num_unknown: int
    position: int


def token_typecode(vocab_size: int) -> Typecode:
    """Type of the stored token ids: two bytes where the vocabulary allows, else four."""
    return "H" if vocab_size <= 1 << 16 else "I"


def tokenize_block(block: Block, tokenizer: FullTokenizer, typecode: str, files_end_documents: bool) -> TokenizedBlock:
    """Tokenize the lines of a block. In the original a document goes on from one file into the
    next: files_end_documents is False there. InputError, with file:line, for text that is not
    UTF-8.
    """
    unknown = tokenizer.ids[UNK]
    sentences, document_ends = [], []
    for line in decode_block(block).split("\n"):
        if line and not line.isspace():
            sentence = tokenizer.encode(line)
            if sentence:
                sentences.append(sentence)
        else:
            document_ends.append(len(sentences))
    # An empty block, or one with a newline at its end, has nothing after its last line.
    if document_ends and (not block.data or block.data.endswith(b"\n")):
        document_ends.pop()  # the rest after the last newline is no line
    if files_end_documents and block.is_end_of_file:
        document_ends.append(len(sentences))
    token_ids = array(typecode, list(itertools.chain.from_iterable(sentences)))
    num_unknown = int(np.count_nonzero(np.frombuffer(token_ids, typecode) == unknown))
    return TokenizedBlock(token_ids, array("I", map(len, sentences)), document_ends, num_unknown, block.position)


def decode_block(block: Block) -> str:
    return decode(block.data, block.path, block.first_line, TEXT)
