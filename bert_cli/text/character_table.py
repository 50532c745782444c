"""Table of all characters: how BasicTokenizer splits text at each, and how lowercasing changes it."""

import dataclasses
import functools
import sys
import unicodedata
from collections.abc import Sequence

import numpy as np

from bert_cli.text.characters import GOOGLE_CHARACTERS
from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.tokenizer_settings import TokenizerSettings

# Kinds: a character is part of a word, a word by itself, between words, or deleted.
IN_WORD, ALONE, SPACE, DELETED = range(4)
# Cases: how a character affects a sigma near it.
UNCASED, CASED, IGNORED = range(3)
# From here on, only tags, variation selectors and private use are assigned.
_UNUSED_PLANES = 0x40000
PAGE = 256


def classify(tokenizer: BasicTokenizer, characters: Sequence[str]) -> list[int]:
    """Return the kinds of characters, which are all from one page.

    One call splits all of them, each between two letters. A call per character would double the
    time of the table.
    """
    # The separator must be punctuation in another page.
    separator = "\u3001" if "," in characters else ","
    groups: list[list[str]] = [[]]
    for word in tokenizer.tokenize(separator.join(f"a{character}a" for character in characters)):
        if word == separator:
            groups.append([])
        else:
            groups[-1].append(word)
    kinds = {2: SPACE, 3: ALONE}
    return [kinds.get(len(words)) or (DELETED if words == ["aa"] else IN_WORD) for words in groups]


def _character_case(character: str) -> int:
    if f"{character}Σ".lower().endswith("ς"):
        return CASED
    return IGNORED if f"A{character}Σ".lower().endswith("ς") else UNCASED


# Cache the table: it takes a second, and is equal for all vocabularies without unknown characters.
@functools.cache
def make_entries(do_lower_case: bool, rules: TokenizerSettings, unknown_characters: frozenset[str]) -> np.ndarray:
    """Return an entry per code point, int32 [0x110000].

    Bits 0-20 are the code point XOR its lowercase form, so that most pages are equal. Bits 21-22
    and 23-24 are the kind before and after decomposition. Bits 25-26 are the case. Bit 27 is set if
    the character is unknown.

    Args:
        do_lower_case: whether text is lowercased.
        rules: settings that change the kinds.
        unknown_characters: characters in the vocabulary that Python does not know.
    """
    first_settings = dataclasses.replace(rules, strip_accents=False)
    first_tokenizer = BasicTokenizer(False, cache_size=0, settings=first_settings)
    final_tokenizer = BasicTokenizer(do_lower_case, cache_size=0, settings=rules)
    private_use = 0 if rules.character_rules == GOOGLE_CHARACTERS else DELETED << 21 | DELETED << 23
    entries = np.full((sys.maxunicode + 1,), 1 << 27, np.int32)
    for start in range(0, sys.maxunicode + 1, PAGE):
        known, unknown = [], []
        for code in range(start, start + PAGE):
            character = chr(code)
            category = unicodedata.category(character)
            # Do not classify private use: these 137,468 characters are all equal.
            if category == "Co":
                entries[code] = private_use
            elif category == "Cn" and character not in unknown_characters:
                if code < _UNUSED_PLANES:
                    unknown.append(character)
            elif category != "Cs":
                known.append(character)
        if unknown:
            # Keep unassigned code points in Google's blocks of ideographs as words.
            for character, kind in zip(unknown, classify(first_tokenizer, unknown), strict=True):
                if kind == ALONE:
                    entries[ord(character)] = ALONE << 21 | ALONE << 23
        if known:
            kinds = classify(first_tokenizer, known), classify(final_tokenizer, known)
            for character, first_kind, final_kind in zip(known, *kinds, strict=True):
                # Ignore the second character: only U+0130 has one, an accent, which is removed, or
                # else added later.
                lower = character.lower() if do_lower_case else character
                is_changed = final_tokenizer.strips_accents or len(lower) == 1
                change = ord(character) ^ ord(lower[0]) if is_changed else 0
                case = _character_case(character) if do_lower_case else UNCASED
                entries[ord(character)] = change | first_kind << 21 | final_kind << 23 | case << 25
    return entries


def unique_pages(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return different pages in ascending order, int32 [P, 256], and each page's index, [4352]."""
    # Remove equal pages first: np.unique alone takes a quarter of a second to sort all of them.
    first_numbers: dict[bytes, int] = {}
    firsts = [first_numbers.setdefault(page.tobytes(), len(first_numbers)) for page in entries.reshape(-1, PAGE)]
    different = np.frombuffer(b"".join(first_numbers), entries.dtype).reshape(-1, PAGE)
    pages, numbers = np.unique(different, axis=0, return_inverse=True)
    return pages, numbers.reshape(-1)[firsts]
