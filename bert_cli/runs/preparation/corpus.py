"""Tokenization of text files to a corpus on disk, for all commands on plain text."""

import contextlib
import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bert_cli.base.log import LOG
from bert_cli.corpus import text
from bert_cli.corpus.space_words import SpaceWordTokenizer, mark_of
from bert_cli.corpus.store import CorpusSize, check_has_sentences, corpus_files, store_corpus
from bert_cli.corpus.workers import Workers
from bert_cli.outputs.progress import Progress
from bert_cli.runtime.machine import num_processors
from bert_cli.settings.pretraining import MaskedLM
from bert_cli.settings.texts import PLAIN_TEXT, CorpusForm
from bert_cli.text.tokenization import FullTokenizer

# Words that each process caches: half the usual number, which makes it 2 % slower.
CACHE_SIZE = 1 << 16
MAX_LOGGED_FILES = 20
_MEGABYTE = 10**6
# For less text than this, starting processes takes longer than they save.
_MIN_PARALLEL_BYTES = 20_000_000


@dataclasses.dataclass(frozen=True)
class Tokenization:
    """Settings for tokenizing text files.

    Attributes:
        tokenizer: the tokenizer.
        files_end_documents: whether a document ends with its file. In Google's code, it does not.
    """

    tokenizer: FullTokenizer
    files_end_documents: bool

    @property
    def typecode(self) -> text.Typecode:
        """Return the smallest array type for the token ids."""
        has_marks = isinstance(self.tokenizer, SpaceWordTokenizer)
        return text.token_typecode(mark_of(self.tokenizer.ids) * (2 if has_marks else 1))


def _tokenize(tokenization: Any, block: text.Block) -> text.TokenizedBlock:
    return text.tokenize_block(block, tokenization.tokenizer, tokenization.typecode, tokenization.files_end_documents)


def _end_documents_with_lines(block: text.TokenizedBlock) -> text.TokenizedBlock:
    return block._replace(document_ends=list(range(1, len(block.sentence_lengths) + 1)))


def choose_num_workers(paths: Sequence[text.TextSource]) -> int:
    """Return the number of processes: all cores for a large corpus, one for a small one."""
    size = text.total_size(paths)
    return 1 if size is not None and size < _MIN_PARALLEL_BYTES else num_processors()


def read_corpus(
    paths: Sequence[text.TextSource],
    workers: Workers,
    work_folder: str,
    form: CorpusForm = PLAIN_TEXT,
    flag: str = "input_file",
    lines_are_documents: bool = False,
) -> CorpusSize:
    """Tokenize text files and store the corpus in a directory.

    Args:
        paths: text files, or texts in memory.
        workers: processes with a Tokenization as context, or an object with its attributes.
        work_folder: directory for the corpus.
        form: column and encoding for tables.
        flag: flag with the files, for messages.
        lines_are_documents: whether each line is a document.

    Raises:
        InputError: if there is no sentence.
    """
    typecode = workers.context.typecode
    with showing_reading_progress(paths) as show:
        blocks = workers.map(_tokenize, text.read_blocks(paths, form=form))
        if lines_are_documents:
            blocks = map(_end_documents_with_lines, blocks)
        corpus = store_corpus(blocks, work_folder, typecode, show)
    check_has_sentences(corpus.num_documents, flag)
    return corpus


def warn_of_few_predictions(masking: MaskedLM, max_seq_length: int) -> None:
    """Warn if full sequences have more tokens to mask than --max_predictions_per_seq allows."""
    expected_predictions = max_seq_length * masking.masked_lm_prob
    if masking.max_predictions_per_seq < int(expected_predictions):
        LOG.warning(
            "warning: --max_predictions_per_seq=%d masks less than --masked_lm_prob says; %d would do for "
            "--max_seq_length=%d",
            masking.max_predictions_per_seq, math.ceil(expected_predictions), max_seq_length,
        )  # fmt: skip


@contextlib.contextmanager
def showing_reading_progress(paths: Sequence[text.TextSource]) -> Iterator[Callable[[int], None]]:
    """Log the names of input files, and show the progress of reading.

    Yields:
        A function to call with the number of bytes that were read so far.
    """
    LOG.info("*** Reading from input files ***")
    for path in paths[:MAX_LOGGED_FILES]:
        LOG.info("  %s", path)
    if len(paths) > MAX_LOGGED_FILES:
        LOG.info("  … and %d more", len(paths) - MAX_LOGGED_FILES)
    size = text.total_size(paths)
    # Show nothing for a pipe, because its size is unknown.
    if size is None:
        yield lambda position: None
        return
    with Progress("reading", -(-size // _MEGABYTE), unit="MB") as progress:

        def show(position: int) -> None:
            # Skip updates that would not change the displayed number: blocks are small.
            if position // _MEGABYTE > progress.position:
                progress.update(position // _MEGABYTE)

        yield show


def hash_corpus(corpus: CorpusSize) -> str:
    """Return a hash of a corpus: its token ids, sentences and documents."""
    total = hashlib.sha256()
    for path in corpus_files(corpus.folder):
        with open(path, "rb") as file:
            # Hash the files' hashes: the concatenated bytes would not show where a file ends.
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:16]
