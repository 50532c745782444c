"""Signs that a program decoded a text with the wrong encoding.

Two programs can be wrong. The reader here obeys --encoding, so the flag may be wrong. Or the program that wrote the file
read its own input with the wrong encoding, and no value of --encoding corrects that.
"""

import codecs
import collections
import re
from collections.abc import Iterable, Iterator

from bert_cli.base.log import LOG

# Encoding -> Windows encoding with letters and marks for the control characters U+0080 to U+009F.
# All other characters are the same.
_WINDOWS = {"iso8859-1": "cp1252", "iso8859-9": "cp1254"}
_CONTROLS = re.compile("[\x80-\x84\x86-\x9f]")  # C1 without U+0085, which is a line end in old texts
_HIGH_BYTES = range(0x80, 0x100)


def _characters(byte: int) -> str:
    """Return the characters for a byte in latin-1 and, if it has one, in cp1252."""
    return bytes([byte]).decode("latin-1") + bytes([byte]).decode("cp1252", "ignore")


_BYTES = {character: byte for byte in _HIGH_BYTES for character in _characters(byte)}


def _character_class(first: int, last: int) -> str:
    return "[" + "".join(map(_characters, range(first, last + 1))) + "]"


_FOLLOWING = _character_class(0x80, 0xBF)
# One sequence is enough if its first character is one of these, as in "Ã©", "Â£" and "â€™". After
# other characters, these marks are usual: "groß“" and "désolé…»" are correct.
_SURE = f"[ÂÃ]{_FOLLOWING}|â[\x80€\x82‚\x84„]{_FOLLOWING}"
_SEQUENCE = (
    f"(?:{_character_class(0xC2, 0xDF)}{_FOLLOWING}|{_character_class(0xE0, 0xEF)}{_FOLLOWING}{{2}}"
    f"|{_character_class(0xF0, 0xF4)}{_FOLLOWING}{{3}})"
)
_MISREAD_UTF_8 = re.compile(f"{_SEQUENCE}{{2,}}|{_SURE}")

_CORRECT_IT = "correct it where the file was made, --encoding cannot"

_UTF_8_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_ONLY_IN_CP1252 = re.compile(rb"[\x80-\x9f]")  # printable there, controls in latin-1
# Western European words have at most a few letters in a row that are not ASCII.
_NOT_WESTERN = re.compile(rb"[\x80-\xff]{4}")
# A short text in another encoding may be UTF-8 by chance, such as "groß“" in cp1252.
_MIN_LETTERS = 2


def is_damaged_utf_8(data: bytes, follows_utf_8: bool) -> bool:
    """Return whether wrong bytes are exceptions in a text that is UTF-8 otherwise.

    Args:
        data: bytes that are not UTF-8.
        follows_utf_8: whether the file has letters in UTF-8 before `data`.
    """
    sequences = _UTF_8_SEQUENCE.findall(data)
    rest = _UTF_8_SEQUENCE.sub(b"", data)
    return follows_utf_8 or len(sequences) > sum(byte in _HIGH_BYTES for byte in rest)


def propose_encoding(data: bytes) -> str | None:
    """Return cp1252 or latin-1 for a text that is not UTF-8; None for a script like Cyrillic."""
    if _NOT_WESTERN.search(data):
        return None
    return "cp1252" if _ONLY_IN_CP1252.search(data) else "latin-1"


def is_utf_8(data: bytes, encoding: str) -> bool:
    """Return whether bytes with another declared encoding are UTF-8 with several letters.

    Args:
        data: the first bytes of a file, which may end within a character.
        encoding: the declared encoding.
    """
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    num_letters = sum(not character.isascii() for character in text)
    return num_letters >= (_MIN_LETTERS if _is_single_byte(encoding) else 2 * _MIN_LETTERS)


def _is_single_byte(encoding: str) -> bool:
    return len(bytes(_HIGH_BYTES).decode(encoding, "replace")) == len(_HIGH_BYTES)


def warn_of_misreading(lines: Iterable[str], name: str, encoding: str, first_line: int = 1) -> Iterator[str]:
    """Yield a text's lines, and log the first one that was decoded with the wrong encoding.

    Args:
        lines: the text.
        name: file name for the log.
        encoding: encoding with which the file was read.
        first_line: line number at which `lines` begins.
    """
    lines = iter(lines)
    for number, line in enumerate(lines, start=first_line):
        yield line
        if not line.isascii() and (description := describe_misreading(line, encoding)):
            LOG.warning("%s:%d: warning: %s", name, number, description)
            break
    # One warning per file is enough, so the other lines are not searched.
    yield from lines


def warn_of_misread_text(text: str, name: str, encoding: str, first_line: int = 1) -> None:
    """Log the first misread line of a whole text; see `warn_of_misreading`."""
    if not text.isascii():
        collections.deque(warn_of_misreading(text.split("\n"), name, encoding, first_line), maxlen=0)


def describe_misreading(line: str, encoding: str) -> str | None:
    """Return a description of the first sign that a line was misread; None without a sign.

    Args:
        line: decoded text.
        encoding: encoding with which the file was read.
    """
    is_unicode = _codec(encoding).startswith("utf")
    control = _CONTROLS.search(line)
    sequence = next(filter(_is_misread, _MISREAD_UTF_8.finditer(line)), None)
    if not is_unicode and _was_utf_8(line, encoding, sequence is not None):
        return f"is UTF-8, not {encoding}; leave out --encoding"
    if sequence and not (control and control.start() < sequence.start()):
        return _describe_sequence(sequence[0], None if is_unicode else encoding)
    return _describe_control(control[0], encoding, is_unicode) if control else None


def _was_utf_8(line: str, encoding: str, has_sequence: bool) -> bool:
    """Return whether the bytes of a line were UTF-8."""
    try:
        data = line.encode(encoding)
        return is_utf_8(data, encoding) or (has_sequence and bool(data.decode("utf-8")))
    except UnicodeError:
        return False


def _is_misread(match: re.Match[str]) -> bool:
    # A capital word may end in Â, Ã or another of these letters, before a mark or a no-break space.
    is_word_end = match.start() > 0 and match.string[match.start() - 1].isupper()
    return not is_word_end and _decode_again(match[0]) is not None


def _decode_again(characters: str) -> str | None:
    """Return misread UTF-8 as text, or None if the characters are no misread UTF-8."""
    try:
        return bytes(map(_BYTES.__getitem__, characters)).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _describe_sequence(characters: str, declared_encoding: str | None) -> str:
    """Return a description of UTF-8 that was read as another encoding.

    Args:
        characters: the misread characters.
        declared_encoding: encoding with which the file was read, which may be wrong; None for Unicode.
    """
    text = _decode_again(characters)
    if declared_encoding:
        return f"holds {characters!r}, which is {text!r} in UTF-8; is {declared_encoding} its encoding?"
    misread_as = "latin-1" if _CONTROLS.search(characters) else "cp1252"
    return (
        f"holds {characters!r} instead of {text!r}: another program read UTF-8 as {misread_as} and encoded it again; "
        f"{_CORRECT_IT}"
    )


def _describe_control(control: str, encoding: str, is_unicode: bool) -> str:
    sign = f"holds the control character U+{ord(control):04X}"
    windows = _WINDOWS.get(_codec(encoding))
    letter = control.encode("latin-1").decode(windows or "cp1252", "ignore")
    if windows and letter:
        return f"{sign}, as text in {windows} does that is read as {encoding}; if it is such text, give --encoding={windows}"
    if is_unicode and letter:
        return f"{sign} instead of {letter!r}: another program read cp1252 as latin-1; {_CORRECT_IT}"
    return f"{sign}, which text hardly has; is {encoding} its encoding?"


def _codec(encoding: str) -> str:
    return codecs.lookup(encoding).name
