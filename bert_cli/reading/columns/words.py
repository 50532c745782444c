"""Columns with words, tags and sentence numbers, by flags and by usual names."""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, quote
from bert_cli.reading.column_names import normalize_name

_NUMBER = re.compile(r"-?[0-9]+")
# Usual names of columns, as column_names.normalize_name returns them.
WORD_NAMES = frozenset(("word", "words", "token", "tokens", "form", "forms", "surface", "surface_form"))
TAG_NAMES = frozenset((
    "tag", "tags", "label", "labels", "ner", "ner_tag", "ner_tags", "ner_label", "ner_labels", "bio", "bio_tag",
    "bio_tags", "iob", "iob_tag", "iob_tags", "iob2", "bioes", "bilou", "ne", "ne_tag", "ne_tags", "named_entity",
    "entity", "entities", "entity_tag", "entity_type", "entity_label", "gold", "gold_tag", "gold_label",
))  # fmt: skip
# Other tasks' tags, which are only used if a flag names them.
_POS_NAMES = frozenset((
    "pos", "pos_tag", "pos_tags", "postag", "upos", "xpos", "part_of_speech", "chunk", "chunk_tag", "chunk_tags",
))  # fmt: skip
SENTENCE_NAMES = frozenset((
    "sentence", "sentences", "sentence_id", "sentence_no", "sentence_nr", "sentence_num", "sentence_number",
    "sentence_idx", "sentence_index", "sentenceid", "sent", "sent_id", "sent_no", "sent_num", "sent_idx", "sentid",
))  # fmt: skip
_OTHER_NAMES = frozenset(("id", "idx", "index", "lemma", "lemmas", "feats", "head", "deprel", "misc", "", "unnamed_0"))
USUAL_NAMES = WORD_NAMES | TAG_NAMES | _POS_NAMES | SENTENCE_NAMES | _OTHER_NAMES


class WordRules(NamedTuple):
    """Rules with which the columns of words and tags are found.

    Attributes:
        word_column: word column's name in the header or in JSON, or its 0-based number, -1 for the
            last column. None for a column with a usual name, or else the first column.
        tag_column: the same for the tag column. None for a usual name, or else the last column.
        with_tags: whether tags are read.
    """

    word_column: str | None = None
    tag_column: str | None = None
    with_tags: bool = True

    @property
    def word_number(self) -> int:
        """Return the word column's number, used without a header."""
        return int(self.word_column) if self.word_column and _NUMBER.fullmatch(self.word_column) else 0

    @property
    def tag_number(self) -> int:
        """Return the tag column's number, used without a header."""
        return int(self.tag_column) if self.tag_column and _NUMBER.fullmatch(self.tag_column) else -1

    @property
    def word_name(self) -> str:
        """Return the word column's name, or "" if it is a number or not given."""
        return self.word_column if self.word_column and not _NUMBER.fullmatch(self.word_column) else ""

    @property
    def tag_name(self) -> str:
        """Return the tag column's name, or "" if it is a number or not given."""
        return self.tag_column if self.tag_column and not _NUMBER.fullmatch(self.tag_column) else ""


class WordColumns(NamedTuple):
    """0-based columns of words and tags, -1 for the last column.

    Attributes:
        word: word column.
        tag: tag column, or None if tags are not read.
        sentence: column with sentence numbers, or None.
    """

    word: int
    tag: int | None
    sentence: int | None = None


def find_word_columns(path: str, names: Sequence[str] | None, width: int, rules: WordRules) -> WordColumns:
    """Return the columns that flags name, or else the columns with usual names.

    Without names, the first column has words and the last column has tags. Raise InputError if a
    column is missing, or if no column or several columns have usual names.

    Args:
        path: the file with its header line, for messages.
        names: header cells, or None without a header.
        width: number of columns.
    """
    word = _find_flag_column(path, names, "word_column", rules.word_column)
    tag = _find_flag_column(path, names, "tag_column", rules.tag_column) if rules.with_tags else None
    if names is None:
        return WordColumns(0 if word is None else word, -1 if tag is None and rules.with_tags else tag)
    normalized = [normalize_name(name) for name in names]
    used = [column % width for column in (word, tag) if column is not None]
    if word is None:
        word = find_usual_column(path, names, WORD_NAMES, used, "word")
        used.append(word)
    if tag is None and rules.with_tags:
        tag = find_usual_column(path, names, TAG_NAMES, used, "tag")
    sentences = [
        number for number, name in enumerate(normalized) if name in SENTENCE_NAMES and number not in (word, tag)
    ]
    return WordColumns(word, tag, sentences[0] if len(sentences) == 1 else None)


def has_tag_column(names: Sequence[str], rules: WordRules) -> bool:
    """Return whether a header has a tag column, with the flag's name or a usual name."""
    if rules.tag_column is not None:
        return rules.tag_column in names or not rules.tag_name
    normalized = [normalize_name(name) for name in names]
    is_unknown = len(names) == 2 and any(name not in USUAL_NAMES for name in normalized)
    return is_unknown or any(name in TAG_NAMES for name in normalized)


def _find_flag_column(
    path: str,
    names: Sequence[str] | None,
    flag: str,
    value: str | None,
) -> int | None:
    """Return the column that a flag names, or None if the flag has no value."""
    if value is None:
        return None
    if names is not None and names.count(value) == 1:
        return names.index(value)
    if _NUMBER.fullmatch(value):
        return int(value)
    columns = f"columns {list_names([quote(name) for name in names])}" if names else "no header"
    raise InputError(f"{path}: --{flag}={value}: there is no such column; the file has {columns}")


def find_usual_column(
    path: str, names: Sequence[str], usual_names: frozenset[str], used: Sequence[int], role: str
) -> int:
    """Return the only free column with a usual name; raise InputError if it is ambiguous.

    If there are two columns and no usual name, return the free column with an unknown name.

    Args:
        path: the file with its header line, for messages.
        names: column names.
        usual_names: usual names, in the form that normalize_name returns.
        used: columns that are not free.
        role: "word" or "tag".
    """
    free = [number for number in range(len(names)) if number not in used]
    usual = [number for number in free if normalize_name(names[number]) in usual_names]
    if len(usual) == 1:
        return usual[0]
    unknown = [number for number in free if normalize_name(names[number]) not in USUAL_NAMES]
    if not usual and len(names) == 2 and unknown:
        return unknown[0]
    columns = ", ".join(f"{number} {quote(names[number], 24)}" for number in range(min(len(names), 12)))
    # Propose a sentence column, too: Kaggle has tables with a sentence per row.
    possible = [
        number for number in free if normalize_name(names[number]) in (_POS_NAMES if role == "tag" else SENTENCE_NAMES)
    ]
    example = names[next(iter(usual or unknown or possible or free), 0)]
    raise InputError(
        f"{path}: no column is the {role} without doubt; give --{role}_column by name or number, such as "
        f"--{role}_column={shlex.quote(example)}: {columns}"
    )
