"""Tokenizer in the simplest form: one rule after another over whole texts, without a cache.

It follows a description of the original's rules for basic and WordPiece tokenization. It gives
expected values, and tests compare the fast implementation with it.
"""

import unicodedata

IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
LONGEST_WORD = 200


def is_punctuation(character: str) -> bool:
    is_ascii_symbol = character.isascii() and character.isprintable() and not character.isalnum() and character != " "
    return is_ascii_symbol or unicodedata.category(character).startswith("P")


def words_of(text: str, do_lower_case: bool) -> list[str]:
    """Return a text's words and punctuation characters."""
    cleaned = ""
    for character in text:
        category = unicodedata.category(character)
        if character in "\t\n\r" or category == "Zs":
            cleaned += " "
        elif any(first <= ord(character) <= last for first, last in IDEOGRAPHS):
            cleaned += f" {character} "
        elif category not in ("Cc", "Cf") and character not in "\0\ufffd":
            cleaned += character
    words = []
    for word in cleaned.split():
        if do_lower_case:
            decomposed = unicodedata.normalize("NFD", word.lower())
            word = "".join(character for character in decomposed if unicodedata.category(character) != "Mn")
        words += "".join(f" {character} " if is_punctuation(character) else character for character in word).split()
    return words


def pieces_of(word: str, vocabulary: dict[str, int]) -> list[str]:
    """Return the longest pieces in the vocabulary, from the left; [UNK] if one is missing."""
    if len(word) > LONGEST_WORD:
        return ["[UNK]"]
    pieces, rest = [], word
    while rest:
        prefix = "##" if pieces else ""
        ends = [end for end in range(1, len(rest) + 1) if prefix + rest[:end] in vocabulary]
        if not ends:
            return ["[UNK]"]
        pieces.append(prefix + rest[: max(ends)])
        rest = rest[max(ends) :]
    return pieces


def tokenize(text: str, vocabulary: dict[str, int], do_lower_case: bool) -> list[str]:
    return [piece for word in words_of(text, do_lower_case) for piece in pieces_of(word, vocabulary)]


def index_tokens(tokens: list[str]) -> dict[str, int]:
    """Return {token: id} for a vocabulary's lines."""
    return {token.strip(): number for number, token in enumerate(tokens)}


def read_vocabulary(path) -> dict[str, int]:
    return index_tokens(path.read_bytes().decode("utf-8").removesuffix("\n").split("\n"))
