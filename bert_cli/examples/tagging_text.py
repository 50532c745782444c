"""Plain text -> TaggingExample records, whose words are pieces of the text with known places."""

import functools
import re

from bert_cli.base.errors import InputError
from bert_cli.examples.tagging import TaggingExample
from bert_cli.text.tokenization import BasicTokenizer

# Runs between what BasicTokenizer takes for white space; it deletes these controls, which \s counts as such.
_CHUNK = re.compile(r"(?:\S|[\x0b\x0c\x1c-\x1f\x85])+")
_BASIC_TOKENIZER = BasicTokenizer(do_lower_case=False, cache_size=0)


@functools.lru_cache(maxsize=1 << 16)
def _stands_alone(character: str) -> bool:
    """True for punctuation and ideographs: BasicTokenizer makes a word of each, whatever its neighbours."""
    return len(_BASIC_TOKENIZER.split_chunk(f"a{character}a")) == 3


def split_text(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Words of a text and their offsets in characters: `text[start : start + len(word)] == word`.

    Words are split as BasicTokenizer splits, but nothing is changed or deleted: accents, capital letters and controls
    inside a word stay, and each character that is not white space is in one word.
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
    """A text as one example without tags. InputError for half of a surrogate pair, which no file can hold.

    Python makes these of arguments that are not UTF-8.
    """
    if re.search("[\ud800-\udfff]", text):
        raise InputError("--text: is not UTF-8; give it in a terminal that uses UTF-8, or in a file")
    words, starts = split_text(text)
    return TaggingExample(words, None, line, text, starts)
