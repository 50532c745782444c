"""Reader of text lines, each a text or a pair, and splitter of texts into words."""

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import PAIR_MARK
from bert_cli.examples.tagging import TaggingExample
from bert_cli.reading.arriving import ArrivingLines
from bert_cli.reading.source import Source
from bert_cli.text.tokenization import BasicTokenizer, FullTokenizer

# BasicTokenizer deletes these control characters, but \s treats them as white space.
_CHUNK = re.compile(r"(?:\S|[\x0b\x0c\x1c-\x1f\x85])+")
_BASIC_TOKENIZER = BasicTokenizer(do_lower_case=False, cache_size=0)


@functools.lru_cache(maxsize=1 << 16)
def _stands_alone(character: str) -> bool:
    """Return whether BasicTokenizer always makes a character a separate word.

    These characters are punctuation and ideographs.
    """
    # Put it between letters, so only the character itself can end a word.
    return len(_BASIC_TOKENIZER.split_chunk(f"a{character}a")) == 3


def split_text(text: str, tokenizer: FullTokenizer | None = None) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return a text's words and their offsets: `text[start : start + len(word)] == word`.

    BasicTokenizer's rules separate the words, but no character is changed or deleted: words keep
    accents, capital letters and control characters. Every character that is not white space belongs
    to a word. An added token of the tokenizer is one word, unless it contains white space.

    Args:
        tokenizer: the model's tokenizer, None if there is no model.
    """
    words: list[str] = []
    starts: list[int] = []

    def add(start: int, end: int) -> None:
        if start < end:
            words.append(text[start:end])
            starts.append(start)

    def add_words(start: int, end: int) -> None:
        for chunk in _CHUNK.finditer(text, start, end):
            begin = chunk.start()
            for position, character in enumerate(chunk[0], begin):
                if _stands_alone(character):
                    add(begin, position)
                    add(position, position + 1)
                    begin = position + 1
            add(begin, chunk.end())

    done = 0
    for start, end in tokenizer.splitter.spans(text) if tokenizer and tokenizer.splitter else ():
        if not any(map(str.isspace, text[start:end])):
            add_words(done, start)
            add(start, end)
            done = end
    add_words(done, len(text))
    return tuple(words), tuple(starts)


def make_text_example(text: str, tokenizer: FullTokenizer | None = None) -> TaggingExample:
    """Return a text as an example without tags.

    Args:
        tokenizer: see split_text.

    Raises:
        InputError: the text contains half of a surrogate pair, which cannot be written to a file.
            Python puts these into command-line arguments that are not UTF-8.
    """
    if re.search("[\ud800-\udfff]", text):
        raise InputError("--text: is not UTF-8; give it in a terminal that uses UTF-8, or in a file")
    words, starts = split_text(text, tokenizer)
    return TaggingExample(words, None, 1, text, starts)


class TextLine(NamedTuple):
    """Text or pair from a file's line or a table's row.

    Attributes:
        number: 0-based line or row number.
        text_a: the text, or a pair's first text.
        text_b: a pair's second text, or None.
        start_a: offset of `text_a` in the line, in characters.
        start_b: offset of `text_b` in the line, in characters.
        identifier: table row's id, or None.
    """

    number: int
    text_a: str
    text_b: str | None = None
    start_a: int = 0
    start_b: int = 0
    identifier: str | None = None


def make_line(number: int, text: str, text_b: str | None) -> TextLine:
    """Return a text or a pair in memory as a line, without white space around the texts.

    Args:
        number, text, text_b: see TextLine.
    """
    return TextLine(number, text.strip(), None if text_b is None else text_b.strip())


def make_pair_check(name: str, num_texts: int | None) -> Callable[[Sequence[TextLine]], None]:
    """Return a check of consecutive lines, which logs the first one that is not read as expected.

    It warns of a single text for a model of pairs, and reports ` ||| ` in a single text.

    Args:
        name: file name, for the log.
        num_texts: texts per row in the model's training data, None if unknown.
    """
    numbers = itertools.count(1)
    is_reported = num_texts is None

    def check(lines: Sequence[TextLine]) -> None:
        nonlocal is_reported
        for line, number in zip(lines, numbers, strict=False):
            if is_reported:
                return
            if num_texts == 2 and line.text_a and line.text_b is None:
                is_reported = True
                LOG.warning(
                    "%s:%d: warning: one text, and the model was trained on pairs; put '%s' between the two",
                    name, number, PAIR_MARK,
                )  # fmt: skip
            elif num_texts == 1 and PAIR_MARK in line.text_a:
                is_reported = True
                LOG.info(
                    "%s:%d: '%s' is part of the text, as the model was trained on single texts",
                    name, number, PAIR_MARK,
                )  # fmt: skip

    return check


class LineWord(NamedTuple):
    """A word in a line: `line[start:end] == text`.

    Attributes:
        text: the word.
        start, end: offsets in the line, in characters.
        pieces: word piece ids, may be ().
    """

    text: str
    start: int
    end: int
    pieces: tuple[int, ...]


def split_line(line: str, number: int = 0, takes_pairs: bool = True) -> TextLine:
    """Split a line at the last " ||| " into a pair, or return a single text.

    As in the original's extract_features.py, the line is stripped first. So a line that begins or
    ends with the mark is a single text, which includes the mark. A blank line is an empty text.

    Args:
        number: its 0-based number.
        takes_pairs: False if the model was trained on single texts, so that the mark is text.
    """
    text = line.strip()
    start = len(line) - len(line.lstrip()) if text else 0
    first, separator, second = text.rpartition(PAIR_MARK)
    if not (separator and takes_pairs):
        return TextLine(number, text, None, start)
    return TextLine(number, first, second, start, start + len(first) + len(separator))


def read_text_lines(source: Source, skip: int = 0) -> Iterator[TextLine]:
    """Yield the text or pair in each line.

    Raise InputError with the line number for a line that is too long or has invalid bytes.

    Args:
        source: the lines.
        skip: number of lines to skip.
    """
    for number, text in enumerate(source.lines(skip, allows_nul=True), skip):
        yield split_line(text.removesuffix("\n"), number)


def read_located_texts(
    texts: Sequence[str], input_file: str, encoding: str, pipe: ArrivingLines | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (location for messages, text) for each text, or for each line of the file.

    Args:
        texts: texts from the command line.
        input_file: file to read if there are no texts; blank lines are skipped.
        encoding: the file's encoding.
        pipe: standard input, if the caller tests which lines have arrived.
    """
    if texts:
        yield from ((f"text {number}", text) for number, text in enumerate(texts, start=1))
        return
    source = Source(input_file, encoding, "input_file", pipe)
    for number, line in enumerate(source.lines(allows_nul=True), start=1):
        if text := line.strip():
            yield f"{source.name}:{number}", text


def split_line_words(text: str, start: int, tokenizer: FullTokenizer) -> list[LineWord]:
    """Split a text into words with word pieces that together equal `tokenizer.encode(text)`.

    White space and punctuation separate words. Punctuation does not separate if the pieces would
    differ, for example due to a deleted control character or a final sigma.

    Args:
        start: the text's offset in its line.
    """
    words: list[LineWord] = []
    texts, starts = split_text(text, tokenizer)
    index = 0
    while index < len(texts):
        end = index + 1
        while end < len(texts) and starts[end] == starts[end - 1] + len(texts[end - 1]):
            end += 1
        begin = starts[index]
        stop = starts[end - 1] + len(texts[end - 1])
        # Compare with the whole run's ids: extracted vectors belong to these ids.
        whole = tuple(tokenizer.encode(text[begin:stop]))
        pieces = [tuple(tokenizer.encode(word)) for word in texts[index:end]]
        if tuple(itertools.chain.from_iterable(pieces)) == whole:
            words += [
                LineWord(word, start + offset, start + offset + len(word), ids)
                for word, offset, ids in zip(texts[index:end], starts[index:end], pieces, strict=True)
            ]
        else:
            words.append(LineWord(text[begin:stop], start + begin, start + stop, whole))
        index = end
    return words
