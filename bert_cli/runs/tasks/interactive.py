"""Predictions for new texts, in chunks of lines, so that memory does not grow with the input."""

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

_TEXT_FLAGS = ("text", "input_file", "explain")
CHUNK = 512  # lines that are read and computed at a time
Item = TypeVar("Item")


def check_interactive_flags(values: dict, given_flags: frozenset[str], phases: tuple[str, ...]) -> bool:
    """Return whether the run predicts new texts: --text, --input_file or --explain.

    Args:
        values: flag values by name.
        given_flags: flag names on the command line.
        phases: flags that turn on the command's phases, such as do_train.

    Raises:
        InputError: the flags ask for nothing, or for two things that need separate commands.
    """
    chosen_flags = [name for name in (*phases, *_TEXT_FLAGS) if values.get(name)]
    if not chosen_flags:
        raise InputError(
            f"nothing to do: give --{', --'.join(phases[:-1])} or --{phases[-1]}, or --text, or --input_file"
        )
    is_for_text = bool(set(_TEXT_FLAGS) & set(chosen_flags))
    if is_for_text and len(chosen_flags) > 1:
        raise InputError(f"--{chosen_flags[-1]} goes with no --{chosen_flags[0]}: give one command for each")
    if "output_file" in given_flags and not values["input_file"]:
        raise InputError("--output_file is for --input_file; --output_dir takes the results of --do_predict")
    return is_for_text


def check_files(source: str | None, target: str | None) -> None:
    """Raise InputError unless the source can be read and the target can be written."""
    if source:
        files.check_output_files([target], [source])
        if source != STANDARD:
            files.check_readable(source, "input_file")


def is_terminal(source: str) -> bool:
    """Return whether a person types the lines and waits for each prediction."""
    return source == STANDARD and sys.stdin.isatty()


def make_unknown_check(
    source: str | None, vocabulary: Vocabulary, flags: ModelFiles
) -> Callable[[RaggedFeatures], None]:
    """Return a function that checks the first chunk for unknown words, and ignores later ones.

    Args:
        source: path or - for a pipe; None or a terminal turns the check off.
        vocabulary: the model's vocabulary.
        flags: flags with --strict, see checks.check_first_unknown.
    """
    # A person who types sees the predictions, and needs no warning.
    unchecked = [source] if source and not is_terminal(source) else []

    def check(sequences: RaggedFeatures) -> None:
        if unchecked:
            check_first_unknown(unchecked.pop(), sequences, vocabulary, flags)

    return check


def iterate_chunks(items: Iterator[Item], size: int = CHUNK) -> Iterator[list[Item]]:
    """Yield lists of `size` items; the last list may be shorter."""
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def write_records(
    items: Iterator[Item],
    target: str,
    predict: Callable[[list[Item]], Iterable[dict]],
    size: int = CHUNK,
    empty: str | None = None,
) -> int:
    """Write a JSON line with the prediction for each item; return the number of items.

    Args:
        items: items to predict.
        target: path to write, or - for standard output.
        predict: function that returns the records for a chunk of items.
        size: items per chunk.
        empty: message of the InputError if there is no item, None to allow that.
    """
    count = 0
    with contextlib.nullcontext(StandardOutput()) if target == STANDARD else atomic_write(target) as out:
        for chunk in iterate_chunks(items, size):
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
    predict: Callable[[list[str]], Iterable[dict]],
    encoding: str,
    may_be_empty: bool = False,
) -> None:
    """Write a JSON line with `index` (from 0) and prediction per line; blank lines count.

    At a terminal, each line is predicted immediately.

    Args:
        source: path to read, or - for standard input.
        target: path to write, or - for standard output.
        predict: function that returns the records for a chunk of lines without line ends.
        encoding: the source's encoding.
        may_be_empty: whether a source without lines is allowed; otherwise it is an InputError.
    """
    name = input_name(source)
    with open_lines(source, encoding) as lines:
        texts = (line.rstrip("\r\n") for line in refuse_nul(lines, name))
        empty = None if may_be_empty else f"{name}: is empty; one text per line is needed"
        predict_items(texts, target, predict, 1 if is_terminal(source) else CHUNK, empty)


def predict_items(
    items: Iterator[Item],
    target: str,
    predict: Callable[[list[Item]], Iterable[dict]],
    size: int = CHUNK,
    empty: str | None = None,
) -> None:
    """Write a JSON line with `index` (from 0) and the prediction for each item.

    Log the number of items if `target` is a file. See `write_records` for the arguments.
    """
    indices = itertools.count()

    def records(chunk: list[Item]) -> Iterator[dict]:
        return ({"index": next(indices)} | record for record in predict(chunk))

    count = write_records(items, target, records, size, empty)
    if target != STANDARD:
        LOG.info("wrote %s: %d texts", target, count)
