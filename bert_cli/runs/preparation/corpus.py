"""From text files to a tokenized corpus on disk, with progress: the first half of every command on
plain text.
"""

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from bert_cli.base.log import LOG
from bert_cli.base.recoding import UTF_8
from bert_cli.corpus import text
from bert_cli.corpus.space_words import SpaceWordTokenizer, mark_of
from bert_cli.corpus.store import CorpusSize, check_has_sentences, corpus_files, store_corpus
from bert_cli.corpus.workers import Workers
from bert_cli.outputs.progress import Progress
from bert_cli.text.tokenization import FullTokenizer

# Words that each process remembers: half of the usual number, which costs 2 % of the time.
CACHE_SIZE = 1 << 16
LOGGED = 20  # names of files in the log
_MEGABYTE = 10**6
# Bytes of text below which starting processes takes longer than they save.
_WORTH_PROCESSES = 20_000_000


@dataclasses.dataclass(frozen=True)
class Reading:
    """How text becomes token ids. files_end_documents: False for the original's rule, by which a
    document goes on from one file into the next.
    """

    tokenizer: FullTokenizer
    files_end_documents: bool

    @property
    def typecode(self) -> text.Typecode:
        has_marks = isinstance(self.tokenizer, SpaceWordTokenizer)
        return text.token_typecode(mark_of(self.tokenizer.ids) * (2 if has_marks else 1))


def _tokenize(reading: Any, block: text.Block) -> text.TokenizedBlock:
    return text.tokenize_block(block, reading.tokenizer, reading.typecode, reading.files_end_documents)


def choose_num_workers(paths: list[str]) -> int:
    """Processes for tokenizing: all cores for a large corpus, one for a small one."""
    size = text.total_size(paths)
    return 1 if size is not None and size < _WORTH_PROCESSES else os.cpu_count() or 1


def read_corpus(
    paths: list[str], workers: Workers, folder: str, encoding: str = UTF_8, flag: str = "input_file"
) -> CorpusSize:
    """Tokenize all files into `folder`.

    The context of the workers is a Reading, or has its three attributes. Raises InputError, naming
    `flag`, if there is no sentence.
    """
    typecode = workers.context.typecode
    with reading(paths) as show:
        corpus = store_corpus(
            workers.map(_tokenize, text.read_blocks(paths, encoding=encoding)), folder, typecode, show
        )
    check_has_sentences(corpus.num_documents, flag)
    return corpus


@contextlib.contextmanager
def reading(paths: list[str]) -> Iterator[Callable[[int], None]]:
    """Log the names of input files, and show how far they are read; yields a function of the bytes
    read so far.
    """
    LOG.info("*** Reading from input files ***")
    for path in paths[:LOGGED]:
        LOG.info("  %s", path)
    if len(paths) > LOGGED:
        LOG.info("  … and %d more", len(paths) - LOGGED)
    size = text.total_size(paths)
    if size is None:  # of a pipe nobody knows how much is left
        yield lambda position: None
        return
    with Progress("reading", -(-size // _MEGABYTE), unit="MB") as progress:

        def show(position: int) -> None:
            # Blocks are smaller than what is shown; an update for each would draw the same line
            # again.
            if position // _MEGABYTE > progress.position:
                progress.update(position // _MEGABYTE)

        yield show


def corpus_digest(corpus: CorpusSize) -> str:
    """A fingerprint of all token ids, sentences and documents."""
    total = hashlib.sha256()
    for path in corpus_files(corpus.folder):
        with open(path, "rb") as file:
            # A digest of digests: the bytes of all files in a row would not say where one file
            # ends.
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:16]
