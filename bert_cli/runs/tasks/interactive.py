"""Predictions for new texts, in chunks of lines, so that memory does not grow with the input."""

import contextlib
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.base.writing import atomic_write
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.row_batches import CHUNK, iterate_chunks
from bert_cli.opening.checks import check_first_unknown
from bert_cli.reading.arriving import ArrivingLines
from bert_cli.reading.columns.facts import DataFacts, log_facts
from bert_cli.reading.source import Source
from bert_cli.runtime.streams import StandardOutput
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.vocabulary import Vocabulary

# Lines that come within this time are computed
# together. A program that writes many lines needs less.
_GATHER_SECONDS = 0.02
Item = TypeVar("Item")


def check_files(source: str | None, target: str | None) -> None:
    """Raise InputError unless the source can be read and the target can be written."""
    if source:
        files.check_output_files([target], [source])
        if source != STANDARD:
            files.check_readable(source, "input_file")


def is_terminal(source: str) -> bool:
    """Return whether a person types the lines and waits for each prediction."""
    return source == STANDARD and sys.stdin.isatty()


class ChunkReader:
    """Groups items, such as lines, into chunks that are computed together.

    A chunk of a pipe ends when no further line has arrived, so that no line waits for others.

    Attributes:
        size: items per chunk.
        pipe: standard input if it is a pipe, else None.
        is_partial: whether the current chunk ended early; items are then predicted as they arrive.
    """

    def __init__(self, source: str, is_line_buffered: bool, size: int | None = None, skips_blank: bool = False):
        """Open standard input if it is the source and a pipe.

        Args:
            source: path to read, or - for standard input.
            is_line_buffered: value of --line_buffered; each item is then a chunk.
            size: items per chunk; None for CHUNK.
            skips_blank: whether blank lines are not items.
        """
        self.is_partial = is_line_buffered or is_terminal(source)
        self.size = 1 if self.is_partial else size or CHUNK
        uses_pipe = source == STANDARD and not self.is_partial
        self.pipe = ArrivingLines.of_standard_input() if uses_pipe else None
        self._skips_blank = skips_blank

    def iterate(self, items: Iterator[Item]) -> Iterator[list[Item]]:
        """Yield chunks of the items.

        Args:
            items: items, each made from one of the pipe's lines.
        """
        if self.pipe is None:
            yield from iterate_chunks(items, self.size)
            return
        for first_item in items:
            chunk = [first_item]
            deadline = time.monotonic() + _GATHER_SECONDS
            self.is_partial = False
            while len(chunk) < self.size:
                if not self.pipe.has_line(max(0.0, deadline - time.monotonic()), self._skips_blank):
                    self.is_partial = True
                    break
                next_items = list(itertools.islice(items, 1))
                if not next_items:
                    break
                chunk += next_items
            yield chunk


def make_unknown_check(
    source: str | None, vocabulary: Vocabulary, flags: ModelFiles, reader: ChunkReader | None = None
) -> Callable[[RaggedFeatures], None]:
    """Return a function that checks the first chunk for unknown words, and ignores later ones.

    Args:
        source: path or - for a pipe; None turns the check off.
        flags: flags with --strict, see checks.check_first_unknown.
        reader: reader of the source; None for a table.
    """
    unchecked = [source] if source else []

    def check(sequences: RaggedFeatures) -> None:
        # A few words are no basis for a warning. A person who types sees the predictions.
        if unchecked and not (reader and reader.is_partial):
            check_first_unknown(unchecked[0], sequences, vocabulary, flags)
        unchecked.clear()

    return check


def write_records(
    items: Iterator[Item],
    target: str,
    predict: Callable[[list[Item]], Iterable[Mapping[str, object]]],
    reader: ChunkReader | None = None,
    empty: str | None = None,
) -> int:
    """Write a JSON line with the prediction for each item; return the number of items.

    Args:
        items: items to predict.
        target: path to write, or - for standard output.
        predict: function that returns the records for a chunk of items.
        reader: makes the chunks; None for chunks of CHUNK items.
        empty: message of the InputError if there is no item, None to allow that.
    """
    count = 0
    with contextlib.nullcontext(StandardOutput()) if target == STANDARD else atomic_write(target) as out:
        for chunk in reader.iterate(items) if reader else iterate_chunks(items):
            for record in predict(chunk):
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
            # Flush, so that a reader of the pipe gets each chunk immediately.
            out.flush()
            count += len(chunk)
        # Raise inside the block, so that no empty file is left.
        if not count and empty:
            raise InputError(empty)
    return count


def predict_lines(
    source: str,
    target: str,
    predict: Callable[[list[str]], Iterable[Mapping[str, object]]],
    encoding: str,
    reader: ChunkReader,
    may_be_empty: bool = False,
) -> None:
    """Write a JSON line with `index` (from 0) and prediction per line; blank lines count.

    At a terminal and from a slow pipe, each line is predicted immediately.

    Args:
        source: path to read, or - for standard input.
        target: path to write, or - for standard output.
        predict: function that returns the records for a chunk of lines without line ends.
        encoding: the source's encoding.
        reader: makes the chunks.
        may_be_empty: whether a source without lines is allowed; otherwise it is an InputError.
    """
    opened = Source(source, encoding, "input_file", reader.pipe)
    texts = (line.rstrip("\r\n") for line in opened.lines())
    empty = None if may_be_empty else f"{opened.name}: is empty; one text per line is needed"
    count = predict_items(texts, target, predict, reader, empty)
    if not is_terminal(source):
        log_facts(DataFacts(opened.name, count, "lines", form="a list of texts"))


def predict_items(
    items: Iterator[Item],
    target: str,
    predict: Callable[[list[Item]], Iterable[Mapping[str, object]]],
    reader: ChunkReader | None = None,
    empty: str | None = None,
) -> int:
    """Write a JSON line with `index` (from 0) and the prediction for each item.

    Log the number of items if `target` is a file. See `write_records` for arguments and result.
    """
    indices = itertools.count()

    def records(chunk: list[Item]) -> Iterator[Mapping[str, object]]:
        return ({"index": next(indices), **record} for record in predict(chunk))

    count = write_records(items, target, records, reader, empty)
    if target != STANDARD:
        LOG.info("wrote %s: %d texts", target, count)
    return count
