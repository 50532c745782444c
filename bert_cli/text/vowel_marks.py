"""Marks that stripping accents removes although they are vowels, tones or parts of letters.

Google's lower-casing removes all nonspacing marks. Most accents of Latin, Greek and Cyrillic letters can be restored from
the word. In other scripts, and in Vietnamese, the marks distinguish words.
"""

import functools
import re
import unicodedata

# Accents and variation selectors, except the marks of Vietnamese and Yoruba: hook above, horn and
# dot below.
_ACCENTS = re.compile(
    "[\u0300-\u0308\u030a-\u031a\u031c-\u0322\u0324-\u036f\u0483-\u0487\u180b-\u180d\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\U000e0100-\U000e01ef]"
)


@functools.lru_cache(maxsize=1 << 16)
def _marks(character: str) -> str:
    """Return the nonspacing marks that decomposition separates from a character."""
    return "".join(c for c in unicodedata.normalize("NFD", character) if unicodedata.category(c) == "Mn")


def strip_marks(word: str) -> str:
    """Return the word without nonspacing marks, as Google's lower-casing leaves it."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")


def has_marks(word: str) -> bool:
    """Return whether a word has nonspacing marks, of any kind."""
    return not word.isascii() and any(map(_marks, word))


def has_vowel_marks(word: str) -> bool:
    """Return whether a word has nonspacing marks that are not mere accents."""
    return not word.isascii() and any(_ACCENTS.sub("", _marks(character)) for character in word)
