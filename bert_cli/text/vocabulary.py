"""Vocabulary files, with one token per line; a token's id is its line number, from 0."""

import dataclasses
from collections.abc import Mapping

from bert_cli.base.errors import InputError
from bert_cli.base.files import read_bytes
from bert_cli.base.lines import decode, split_lines
from bert_cli.text.vowel_marks import has_vowel_marks

PAD = "[PAD]"
UNK = "[UNK]"
CLS = "[CLS]"
SEP = "[SEP]"
MASK = "[MASK]"

# Google's code pads with 0, whichever token has this id. So [PAD] may be missing.
PAD_ID = 0
LOOKED_UP = (UNK, CLS, SEP, MASK)
SPECIAL = (PAD, *LOOKED_UP)  # in the order used in a new vocabulary

# Share of entries, see `looks_cased`. It is 29 % and 16 % in Google's cased vocabularies. In the
# uncased and the Chinese ones it is below 0.01 % (`<S>` and `<T>`).
CASED_SHARE = 0.01


def padding_id(ids: Mapping[str, int]) -> int:
    """Return the id of [PAD], or 0 without such a token."""
    return ids.get(PAD, PAD_ID)


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """A vocabulary file that was read and checked.

    Attributes:
        ids: id by token. A repeated token has the id of its last line.
        tokens: token by id, for every line. Earlier lines of a repeated token keep its text.
        size: number of lines, which is the highest id + 1. The model's `vocab_size`
            must not be below it.
        path: file name for messages.
    """

    ids: dict[str, int]
    tokens: list[str]
    size: int
    path: str


def read_vocabulary(path: str) -> Vocabulary:
    """Return a vocabulary with ids as in Google's code, and check its special tokens.

    Ids count all lines; a repeated token has the id of its last line.

    Raises:
        InputError: the file cannot be read, is not UTF-8, is empty, or lacks [UNK],
            [CLS], [SEP] or [MASK].
    """
    vocabulary = vocabulary_of(read_tokens(path), path)
    check_special_tokens(vocabulary)
    return vocabulary


def check_special_tokens(vocabulary: Vocabulary) -> None:
    """Raise InputError if a token that is looked up by name is missing."""
    missing = [token for token in LOOKED_UP if token not in vocabulary.ids]
    if missing:
        path = vocabulary.path
        if path.endswith(".json"):
            raise InputError(f"{path}: has no token {' and no token '.join(missing)}; give the tokenizer of a BERT")
        raise InputError(
            f"{path}: has no line {' and no line '.join(missing)}; give a BERT vocabulary, one "
            f"token a line, or add what is missing: bert-build-vocab --extend={path} "
            "--add_special_tokens"
        )


def vocabulary_of(tokens: list[str], path: str) -> Vocabulary:
    """Return the vocabulary of these tokens without a check; `path` is for messages."""
    return Vocabulary(
        ids={token: index for index, token in enumerate(tokens)}, tokens=tokens, size=len(tokens), path=path
    )


def without_blank_end(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """Return the vocabulary without final blank lines that make it larger than `size`.

    Google's scripts accept such a file, since no text leads to a blank line. Blank lines that have
    rows in the model stay.
    """
    tokens = list(vocabulary.tokens)
    while len(tokens) > size and not tokens[-1]:
        tokens.pop()
    return vocabulary if len(tokens) == vocabulary.size else vocabulary_of(tokens, vocabulary.path)


def read_tokens(path: str) -> list[str]:
    """Return a vocabulary file's lines, stripped of Unicode white space.

    Blank lines are the token "". A byte-order mark stays part of the first token. Raise InputError
    if the file cannot be read, is not UTF-8, or is empty.
    """
    if path.endswith(".json"):
        raise InputError(f"{path}: is a tokenizer.json, a vocab.txt is needed; bert-convert writes one for a model")
    # Only \n ends a line: U+2028, U+0085 and a lone CR are ordinary characters of a token.
    lines = split_lines(decode(read_bytes(path), path, noun="vocabulary"), path)
    tokens = [line.strip() for line in (lines if lines[-1] else lines[:-1])]
    if not tokens:
        raise InputError(f"{path}: is empty; give a BERT vocabulary, one token a line")
    return tokens


def looks_cased(vocabulary: Vocabulary) -> bool:
    """Return whether at least 1 % of the entries (CASED_SHARE) cannot result from lower-cased text.

    These entries contain an upper-case letter. Entries in square brackets do not count: every
    vocabulary has [CLS].
    """
    num_cased = sum(
        token != token.lower() and not (token.startswith("[") and token.endswith("]")) for token in vocabulary.ids
    )
    return num_cased >= CASED_SHARE * len(vocabulary.ids)


def has_marked_words(vocabulary: Vocabulary) -> bool:
    """Return whether at least 1 % of the entries have vowel marks (see `vowel_marks`).

    Vocabularies of models that strip accents have no such entry.
    """
    return sum(map(has_vowel_marks, vocabulary.ids)) >= CASED_SHARE * len(vocabulary.ids)
