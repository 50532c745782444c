"""Vocabulary files: one token a line, the line number (from 0) is the token's id. The special
tokens are named here.
"""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.base.files import read_bytes
from bert_cli.base.lines import decode, split_lines

PAD = "[PAD]"
UNK = "[UNK]"
CLS = "[CLS]"
SEP = "[SEP]"
MASK = "[MASK]"

# The original pads with 0 wherever [PAD] is in the file, so [PAD] is never looked up and may even
# be missing.
PAD_ID = 0
LOOKED_UP = (UNK, CLS, SEP, MASK)
SPECIAL = (PAD, *LOOKED_UP)  # in the order of a new vocabulary

# Share of entries, see looks_cased. Google's cased vocabularies have 29 % and 16 %, the uncased and
# the Chinese one below 0.01 % (`<S>` and `<T>`).
CASED_SHARE = 0.01


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """A vocabulary file that was read and checked.

    Attributes: ids: token -> id. A token on several lines has the id of the last of them. tokens:
      id -> token, for every line of the file; earlier lines of a repeated token keep its text.
      size: number of lines, which is the highest id + 1 and what `vocab_size` of the model must not
      be below. path: where it was read, for messages.
    """

    ids: dict[str, int]
    tokens: list[str]
    size: int
    path: str


def read_vocabulary(path: str) -> Vocabulary:
    """Read a vocabulary, numbered as the original does it, and check that it has every token that
    is looked up by name.

    Of repeated lines the last one counts and ids go on counting lines.

    Raises:
      InputError: the file cannot be read, is not UTF-8, is empty, or lacks [UNK], [CLS], [SEP] or
        [MASK].
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
    """The vocabulary of these tokens, unchecked. path: for messages."""
    return Vocabulary(
        ids={token: index for index, token in enumerate(tokens)}, tokens=tokens, size=len(tokens), path=path
    )


def without_blank_end(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """Return the vocabulary without the blank lines at its end that make it larger than `size`.

    Google's scripts run with such a file: no text leads to a blank line. Blank lines that the model
    has rows for stay.
    """
    tokens = list(vocabulary.tokens)
    while len(tokens) > size and not tokens[-1]:
        tokens.pop()
    return vocabulary if len(tokens) == vocabulary.size else vocabulary_of(tokens, vocabulary.path)


def read_tokens(path: str) -> list[str]:
    """The lines of a vocabulary file, stripped of Unicode white space; all blank lines are the
    token "".

    A byte-order mark stays part of the first token. InputError for a file that cannot be read, is
    not UTF-8, or is empty.
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
    """True where at least 1 % of the entries (CASED_SHARE) could never come out of lower-cased
    text.

    Such an entry holds an upper-case letter. Entries in square brackets do not count: [CLS] is in
    every vocabulary.
    """
    cased = sum(
        token != token.lower() and not (token.startswith("[") and token.endswith("]")) for token in vocabulary.ids
    )
    return cased >= CASED_SHARE * len(vocabulary.ids)
