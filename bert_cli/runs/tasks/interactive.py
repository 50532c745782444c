"""New texts that are answered line by line, in their order and in bounded memory."""

import contextlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import input_name, open_lines, refuse_nul
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.base.writing import atomic_write
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.runs.loading.checks import check_first_unknown
from bert_cli.runtime.streams import StandardOutput
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.vocabulary import Vocabulary

_OF_TEXTS = ("text", "input_file", "explain")
CHUNK = 512  # lines that are read and computed at a time
Item = TypeVar("Item")


def check_interactive_flags(values: dict, given: frozenset[str], phases: tuple[str, ...]) -> bool:
    """True for a run that answers --text, --input_file or --explain. InputError unless the flags
    say one thing to do.
    """
    asked = [name for name in (*phases, *_OF_TEXTS) if values.get(name)]
    if not asked:
        raise InputError(
            f"nothing to do: give --{', --'.join(phases[:-1])} or --{phases[-1]}, or --text, or --input_file"
        )
    is_for_text = bool(set(_OF_TEXTS) & set(asked))
    if is_for_text and len(asked) > 1:
        raise InputError(f"--{asked[-1]} goes with no --{asked[0]}: give one command for each")
    if "output_file" in given and not values["input_file"]:
        raise InputError("--output_file is for --input_file; --output_dir takes the results of --do_predict")
    return is_for_text


def check_files(source: str | None, target: str | None) -> None:
    """InputError unless the lines can be read and the answers be written."""
    if source:
        files.check_output_files([target], [source])
        if source != STANDARD:
            files.check_readable(source, "input_file")


def is_terminal(source: str) -> bool:
    """Whether somebody types the lines, and waits for the answer to each."""
    return source == STANDARD and sys.stdin.isatty()


def unknown_check(source: str | None, vocabulary: Vocabulary, flags: ModelFiles) -> Callable[[RaggedFeatures], None]:
    """A function that is called with each part of the lines of a file or a pipe, and checks the
    first part with check_first_unknown; what is typed is not checked.
    """
    # Somebody who types sees what comes of it.
    unchecked = [source] if source and not is_terminal(source) else []

    def check(sequences: RaggedFeatures) -> None:
        if unchecked:
            check_first_unknown(unchecked.pop(), sequences, vocabulary, flags)

    return check


def chunks_of(items: Iterator[Item], size: int = CHUNK) -> Iterator[list[Item]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def write_answers(
    items: Iterator[Item],
    target: str,
    answer: Callable[[list[Item]], Iterable[dict]],
    size: int = CHUNK,
    empty: str | None = None,
) -> int:
    """Write what `answer` says of each item as a line of JSON, in chunks of `chunk` items; returns
    the number of items.

    target: a path, or - for standard output. InputError with the text `empty` where there is none.
    """
    count = 0
    with contextlib.nullcontext(StandardOutput()) if target == STANDARD else atomic_write(target) as out:
        for chunk in chunks_of(items, size):
            for record in answer(chunk):
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
            # Whoever reads a pipe gets each chunk when it is computed.
            out.flush()
            count += len(chunk)
        # Within the block, so that no empty file appears.
        if not count and empty:
            raise InputError(empty)
    return count


def answer_lines(
    source: str,
    target: str,
    answer: Callable[[list[str]], Iterable[dict]],
    encoding: str,
    may_be_empty: bool = False,
) -> None:
    """Write what `answer` says of each line as JSON, with its `index`, from 0.

    source, target: paths, or - for standard input and output. Lines are without their ends; blank
    ones are answered too. At a terminal each line is answered at once. InputError for a source
    without a line, unless it may be empty.
    """
    name = input_name(source)
    with open_lines(source, encoding) as lines:
        texts = (line.rstrip("\r\n") for line in refuse_nul(lines, name))
        empty = None if may_be_empty else f"{name}: is empty; one text per line is needed"
        answer_items(texts, target, answer, 1 if is_terminal(source) else CHUNK, empty)


def answer_items(
    items: Iterator[Item],
    target: str,
    answer: Callable[[list[Item]], Iterable[dict]],
    size: int = CHUNK,
    empty: str | None = None,
) -> None:
    """As write_answers, with the `index` of each item, from 0; the log has how many there were."""
    indices = itertools.count()

    def records(chunk: list[Item]) -> Iterator[dict]:
        return ({"index": next(indices)} | record for record in answer(chunk))

    count = write_answers(items, target, records, size, empty)
    if target != STANDARD:
        LOG.info("wrote %s: %d texts", target, count)
