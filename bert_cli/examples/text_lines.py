"""Lines of a text file or of a stream -> one text or a pair of texts each, one at a time, in constant memory."""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bert_cli.base.lines import bounded_lines, decode_lines
from bert_cli.base.names import PAIR_MARK
from bert_cli.examples.tagging_text import split_text
from bert_cli.text.tokenization import FullTokenizer


class TextLine(NamedTuple):
    """Line `number` (from 0) with its texts; `start_a` and `start_b` are their places in the line, in characters."""

    number: int
    text_a: str
    text_b: str | None = None
    start_a: int = 0
    start_b: int = 0


class LineWord(NamedTuple):
    """A word of a line: `line[start:end] == text`. `pieces` are the ids of its word pieces; there may be none."""

    text: str
    start: int
    end: int
    pieces: tuple[int, ...]


def split_line(line: str, number: int = 0) -> TextLine:
    """The texts of a line as extract_features.py of the original reads it.

    The line is stripped, then split at the last " ||| "; what has no text on one side of it is a single text, sign and
    all. A blank line is an empty text.
    """
    text = line.strip()
    start = len(line) - len(line.lstrip()) if text else 0
    first, separator, second = text.rpartition(PAIR_MARK)
    if not separator:
        return TextLine(number, text, None, start)
    return TextLine(number, first, second, start, start + len(first) + len(separator))


def read_text_lines(lines: Iterable[bytes], name: str, skip: int = 0) -> Iterator[TextLine]:
    """The lines of a binary file that ends lines in `\\n`, from line `skip` on; `name` is for messages.

    A byte-order mark is dropped. InputError with the line number where a line is not UTF-8, or is too long.
    """
    lines = bounded_lines(lines, name)
    for number, text in enumerate(decode_lines(itertools.islice(lines, skip, None), name, skip + 1), skip):
        yield split_line(text.removesuffix("\n"), number)


def line_words(text: str, start: int, tokenizer: FullTokenizer) -> list[LineWord]:
    """Words of a text that stands at `start` of its line, whose pieces together are tokenizer.encode(text).

    White space and punctuation end a word. Where the pieces of a run between white space depend on the whole of it (a
    deleted control, a final sigma), the run is one word.
    """
    words: list[LineWord] = []
    parts, starts = split_text(text)
    index = 0
    while index < len(parts):
        end = index + 1
        while end < len(parts) and starts[end] == starts[end - 1] + len(parts[end - 1]):
            end += 1
        begin, stop = starts[index], starts[end - 1] + len(parts[end - 1])
        whole = tuple(tokenizer.encode(text[begin:stop]))
        pieces = [tuple(tokenizer.encode(part)) for part in parts[index:end]]
        if tuple(itertools.chain.from_iterable(pieces)) == whole:
            words += [
                LineWord(part, start + at, start + at + len(part), ids)
                for part, at, ids in zip(parts[index:end], starts[index:end], pieces, strict=True)
            ]
        else:
            words.append(LineWord(text[begin:stop], start + begin, start + stop, whole))
        index = end
    return words
