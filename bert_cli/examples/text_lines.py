"""Lines of a text file or of a stream -> a text or a pair each, one at a time; and the words of a
text.
"""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.lines import bounded_lines, decode_lines, input_name, open_lines, warn_of_controls
from bert_cli.base.names import PAIR_MARK
from bert_cli.examples.tagging import TaggingExample
from bert_cli.text.tokenization import BasicTokenizer, FullTokenizer

# Runs between what BasicTokenizer takes for white space; it deletes these controls, which \s counts
# as such.
_CHUNK = re.compile(r"(?:\S|[\x0b\x0c\x1c-\x1f\x85])+")
_BASIC_TOKENIZER = BasicTokenizer(do_lower_case=False, cache_size=0)


@functools.lru_cache(maxsize=1 << 16)
def _stands_alone(character: str) -> bool:
    """True for punctuation and ideographs: BasicTokenizer makes a word of each, whatever its
    neighbours.
    """
    # Between two letters, so that nothing but the character itself can end a word.
    return len(_BASIC_TOKENIZER.split_chunk(f"a{character}a")) == 3


def split_text(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Words of a text and their offsets in characters: `text[start : start + len(word)] == word`.

    Words are split as BasicTokenizer splits, but nothing is changed or deleted: accents, capital
    letters and controls inside a word stay, and each character that is not white space is in one
    word.
    """
    words: list[str] = []
    starts: list[int] = []

    def add(start: int, end: int) -> None:
        if start < end:
            words.append(text[start:end])
            starts.append(start)

    for chunk in _CHUNK.finditer(text):
        begin = chunk.start()
        for position, character in enumerate(chunk[0], begin):
            if _stands_alone(character):
                add(begin, position)
                add(position, position + 1)
                begin = position + 1
        add(begin, chunk.end())
    return tuple(words), tuple(starts)


def text_example(text: str, line: int = 1) -> TaggingExample:
    """A text as one example without tags. InputError for half of a surrogate pair, which no file
    can hold.

    Python makes these of arguments that are not UTF-8.
    """
    if re.search("[\ud800-\udfff]", text):
        raise InputError("--text: is not UTF-8; give it in a terminal that uses UTF-8, or in a file")
    words, starts = split_text(text)
    return TaggingExample(words, None, line, text, starts)


class TextLine(NamedTuple):
    """The texts of a line of a file, or of a row of a table.

    Attributes:
        number: 0-based number of the line.
        text_a: its text.
        text_b: the second text of a pair, or None.
        start_a: index of the first character of `text_a` in the line.
        start_b: index of the first character of `text_b` in the line.
        identifier: id of a row of a table, or None.
    """

    number: int
    text_a: str
    text_b: str | None = None
    start_a: int = 0
    start_b: int = 0
    identifier: str | None = None


class LineWord(NamedTuple):
    """A word of a line: `line[start:end] == text`. `pieces` are the ids of its word pieces; there
    may be none.
    """

    text: str
    start: int
    end: int
    pieces: tuple[int, ...]


def split_line(line: str, number: int = 0) -> TextLine:
    """The texts of a line as extract_features.py of the original reads it.

    The line is stripped, then split at the last " ||| "; what has no text on one side of it is a
    single text, sign and all. A blank line is an empty text.
    """
    text = line.strip()
    start = len(line) - len(line.lstrip()) if text else 0
    first, separator, second = text.rpartition(PAIR_MARK)
    if not separator:
        return TextLine(number, text, None, start)
    return TextLine(number, first, second, start, start + len(first) + len(separator))


def read_text_lines(lines: Iterable[bytes], name: str, skip: int = 0) -> Iterator[TextLine]:
    """Yield the texts of the lines of a binary file, from line `skip` on.

    Lines end in `\\n`. A byte-order mark is dropped. Raise InputError, with the line, for a line that
    is not UTF-8 or too long.

    Args:
        lines: the file.
        name: its name, for messages.
        skip: number of lines to leave out.
    """
    lines = bounded_lines(lines, name)
    texts = decode_lines(itertools.islice(lines, skip, None), name, skip + 1)
    for number, text in enumerate(warn_of_controls(texts, name, skip + 1), skip):
        yield split_line(text.removesuffix("\n"), number)


def given_texts(texts: Sequence[str], input_file: str, encoding: str) -> Iterator[tuple[str, str]]:
    """(place for error messages, text) of each text, else of each line of the file; its blank lines
    are passed over.
    """
    if texts:
        yield from ((f"text {number}", text) for number, text in enumerate(texts, start=1))
        return
    name = input_name(input_file)
    with open_lines(input_file, encoding) as lines:
        for number, line in enumerate(lines, start=1):
            if text := line.strip():
                yield f"{name}:{number}", text


def line_words(text: str, start: int, tokenizer: FullTokenizer) -> list[LineWord]:
    """Words of a text that begins at `start` of its line, whose pieces together are
    tokenizer.encode(text).

    White space and punctuation end a word. Where the pieces of a run between white space depend on
    the whole of it (a deleted control, a final sigma), the run is one word.
    """
    words: list[LineWord] = []
    parts, starts = split_text(text)
    index = 0
    while index < len(parts):
        end = index + 1
        while end < len(parts) and starts[end] == starts[end - 1] + len(parts[end - 1]):
            end += 1
        begin = starts[index]
        stop = starts[end - 1] + len(parts[end - 1])
        # Both ways are tried, as the ids must equal the ids of the whole text: extracted vectors
        # belong to them.
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
