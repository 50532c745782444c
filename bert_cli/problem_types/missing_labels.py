"""Texts that other programs and annotators write into a label cell if there is no label."""

import re

# Annotators write signs (SNLI a hyphen); pandas, R, SQL and spreadsheets write words.
_SIGNS = re.compile(r"-{1,3}|[–—]|\?{1,3}")
_WORDS = re.compile(r"nan|<na>|<null>|#?n/a|null|unlabell?ed|no[ _-]label", re.IGNORECASE)
# These words are also class names: the stance "none", the answer "NA".
_CLASS_NAMES = re.compile(r"none|na", re.IGNORECASE)
MINUS_ONE = "-1"  # marks a missing class index in Hugging Face data sets
SKIP_ADVICE = "--skip_unlabeled leaves such rows out"


def skip_advice(text: str) -> str:
    """Return the end of an error message if a cell may have no label, "" otherwise."""
    return f"; {SKIP_ADVICE}" if may_be_missing(text) or text == MINUS_ONE else ""


def is_missing_sign(text: str) -> bool:
    """Return whether a text is punctuation that annotators write for no label."""
    return _SIGNS.fullmatch(text) is not None


def is_missing_word(text: str) -> bool:
    """Return whether a text is a word that means no label in every data set."""
    return _WORDS.fullmatch(text) is not None


def is_doubtful_word(text: str) -> bool:
    """Return whether a text means no label in some data sets, and is a class in others."""
    return _CLASS_NAMES.fullmatch(text) is not None


def may_be_missing(text: str) -> bool:
    """Return whether a cell may have no label: it is empty, or a sign or word for a missing label."""
    return not text or is_missing_sign(text) or is_missing_word(text) or is_doubtful_word(text)
