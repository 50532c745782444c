"""Header, columns and sentences of rows that hold a word and its tag each."""

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import is_number
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_names, quote
from bert_cli.examples.table_files.column_names import normalize_name
from bert_cli.examples.table_files.rows import Row
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.notation import detect_notation

# Usual names of columns, as column_names.normalize_name returns them.
WORD_NAMES = frozenset(("word", "words", "token", "tokens", "form", "forms", "surface", "surface_form"))
TAG_NAMES = frozenset((
    "tag", "tags", "label", "labels", "ner", "ner_tag", "ner_tags", "ner_label", "ner_labels", "bio", "bio_tag",
    "bio_tags", "iob", "iob_tag", "iob_tags", "iob2", "bioes", "bilou", "ne", "ne_tag", "ne_tags", "named_entity",
    "entity", "entities", "entity_tag", "entity_type", "entity_label", "gold", "gold_tag", "gold_label",
))  # fmt: skip
# Tags of other tasks, which are learned only if a flag names them, and columns without tags.
_POS_NAMES = frozenset((
    "pos", "pos_tag", "pos_tags", "postag", "upos", "xpos", "part_of_speech", "chunk", "chunk_tag", "chunk_tags",
))  # fmt: skip
SENTENCE_NAMES = frozenset((
    "sentence", "sentences", "sentence_id", "sentence_no", "sentence_nr", "sentence_num", "sentence_number",
    "sentence_idx", "sentence_index", "sentenceid", "sent", "sent_id", "sent_no", "sent_num", "sent_idx", "sentid",
))  # fmt: skip
_OTHER_NAMES = frozenset(("id", "idx", "index", "lemma", "lemmas", "feats", "head", "deprel", "misc", "", "unnamed_0"))
_USUAL = WORD_NAMES | TAG_NAMES | _POS_NAMES | SENTENCE_NAMES | _OTHER_NAMES
# In a file of fewer rows, a tag may well occur once only.
_MOST_UNCERTAIN = 20
_NUMBER = re.compile(r"-?[0-9]+")
_LONGEST_SENTENCE = 50  # words; one sentence of more words is mostly a file without blank lines
_SENTENCE_ENDS = frozenset(".!?。！？")


class Columns(NamedTuple):
    """0-based columns, -1 for the last.

    Attributes:
        word: column of the words.
        tag: column of the tags; None if no tags are read.
        sentence: column that numbers the sentences; None if there is none.
    """

    word: int
    tag: int | None
    sentence: int | None = None


class Layout(NamedTuple):
    """Rows of words and where each has its word and tag.

    Attributes:
        rows: rows without the header, and numbers of lines that end a sentence.
        columns: columns of the words and tags.
        names: names of the columns; None without a header.
        header: line of the header; 0 without one.
    """

    rows: list[Row | int]
    columns: Columns
    names: list[str] | None
    header: int

    @property
    def words(self) -> list[Row]:
        """The rows without numbers of lines."""
        return [row for row in self.rows if isinstance(row, Row)]


def find_layout(
    path: str, rows: Sequence[Row | int], flags: TokenFlags, needed: str, has_names: bool = False
) -> Layout:
    """Return the layout of a file. Raise InputError for one without words, or with columns in
    doubt.

    Args:
        path: the file, for messages.
        rows: its rows, and numbers of lines that end a sentence.
        flags: values of the flags.
        needed: description of the file that is needed.
        has_names: whether the first row surely holds the names of the columns.
    """
    words = [row for row in rows if isinstance(row, Row)]
    header = words[0] if words and (has_names or is_header(path, words[0], words[1:], flags)) else None
    place = path
    if header:
        repeated = [row.line for row in words[1:] if row.cells == header.cells]
        place = f"{path}:{header.line}" if header.line else path
        if flags.header == "auto" and not has_names:
            flags.log("%s: took the first row for a header; --header=no reads it as a word", place)
        if repeated:
            flags.log("%s: the header comes again, skipped: %d, the first in line %d", path, len(repeated), repeated[0])
        rows = [row.line if isinstance(row, Row) and row.cells == header.cells else row for row in rows]
        words = [row for row in words if row.cells != header.cells]
    refuse_if(not words, f"{path}: holds no words; {needed} is needed{flags.check_flag}")
    names = [cell.strip() for cell in header.cells] if header else None
    columns = find_columns(place, names, len(words[0].cells), flags)
    refuse_if(columns.word == columns.tag, f"--tag_column: {columns.tag} is the column of the words; give another")
    return Layout(list(rows), columns, names, header.line if header else 0)


def is_header(path: str, first: Row, others: Sequence[Row], flags: TokenFlags) -> bool:
    """Return whether the first row of a file holds the names of its columns.

    A header has usual names for two columns, or a tag that no other row has
    and that is none of their scheme. Raise InputError if types have no prefixes, so that such a tag
    may be a type.
    """
    if flags.word_name or (flags.tag_name and flags.with_tags):
        return True
    if flags.header != "auto":
        return flags.header == "yes"
    if len(set(first.cells)) < len(first.cells) or any(map(is_number, first.cells)):
        return False
    names = [normalize_name(cell) for cell in first.cells]
    if len(names) == 1:
        # Words and Tokens may begin a sentence.
        return names[0] in ("word", "token")
    tag = first.cell(flags.tag_number) if flags.with_tags else ""
    counts = Counter(row.cell(flags.tag_number) for row in others) if flags.with_tags else Counter()
    if sum(name in _USUAL for name in names if name) > 1:
        # Files that were joined have their header several times.
        return counts[tag] == sum(row.cells == first.cells for row in others) if tag else True
    # The names of columns occur in none of them.
    may_be_names = all(cell not in {row.cell(number) for row in others} for number, cell in enumerate(first.cells))
    return (
        bool(normalize_name(tag))
        and may_be_names
        and _has_foreign_tag(f"{path}:{first.line}", first, tag, counts, flags)
    )


def _has_foreign_tag(place: str, first: Row, tag: str, counts: Counter[str], flags: TokenFlags) -> bool:
    notation = detect_notation([[name] * count for name, count in counts.items()], types=flags.types)
    if tag == notation.outside or len(counts) < 2:
        return False
    if notation.scheme != "IO":
        types = {notation.canonical([name])[0].partition("-")[2] for name in counts}
        # PER next to B-PER is a mistake in a tag, and X-PER is, too.
        return bool(notation.problem(tag)) and tag not in types and "-" not in tag
    if tag not in flags.types and min(counts.values()) > 1:
        cells = list_names([quote(cell, 24) for cell in first.cells])
        doubt = f"{place}: may be a header ({cells}), as no other row has the tag {quote(tag)}"
        refuse_if(counts.total() >= _MOST_UNCERTAIN, f"{doubt}; give --header=yes if it is one, else --header=no")
        if flags.logs:
            LOG.warning("%s; it is read as a word; --header=yes skips it", doubt)
    return False


def find_columns(path: str, names: Sequence[str] | None, width: int, flags: TokenFlags) -> Columns:
    """Return the columns that flags name by a name or a number, else the columns with usual names.

    Without names, the first column is the word and the last one the tag. Raise InputError for a
    name that is not there, and if names leave a doubt.

    Args:
        path: the file with its header line, for messages.
        names: cells of the header; None without one.
        width: number of columns of the rows.
        flags: values of the flags.
    """
    word = _named(path, names, "word_column", flags.word_column)
    tag = _named(path, names, "tag_column", flags.tag_column) if flags.with_tags else None
    if names is None:
        return Columns(0 if word is None else word, (-1 if tag is None else tag) if flags.with_tags else None)
    written = [normalize_name(name) for name in names]
    taken = [column % width for column in (word, tag) if column is not None]
    if word is None:
        word = usual_column(path, names, WORD_NAMES, taken, "word")
        taken.append(word)
    if tag is None and flags.with_tags:
        tag = usual_column(path, names, TAG_NAMES, taken, "tag")
    sentences = [number for number, name in enumerate(written) if name in SENTENCE_NAMES and number not in (word, tag)]
    tags = "" if tag is None else f" and {quote(names[tag])} for the tags"
    flags.log("%s: took %s for the words%s, as the header names them", path, quote(names[word]), tags)
    return Columns(word, tag, sentences[0] if len(sentences) == 1 else None)


def names_tag(names: Sequence[str], flags: TokenFlags) -> bool:
    """Return whether a header has a column of tags: the named one, or one with a usual name."""
    if flags.tag_column is not None:
        return flags.tag_column in names or not flags.tag_name
    written = [normalize_name(name) for name in names]
    is_unknown = len(names) == 2 and any(name not in _USUAL for name in written)
    return is_unknown or any(name in TAG_NAMES for name in written)


def _named(path: str, names: Sequence[str] | None, flag: str, value: str | None) -> int | None:
    """Return the column that a flag names; None without a value."""
    if value is None:
        return None
    if names is not None and names.count(value) == 1:
        return names.index(value)
    if _NUMBER.fullmatch(value):
        return int(value)
    columns = f"columns {list_names([quote(name) for name in names])}" if names else "no header"
    raise InputError(f"{path}: --{flag}={value}: there is no such column; the file has {columns}")


def usual_column(path: str, names: Sequence[str], usual: frozenset[str], taken: Sequence[int], what: str) -> int:
    """Return the only free column with a usual name, or of two columns the free one without any
    usual name.
    """
    free = [number for number in range(len(names)) if number not in taken]
    named = [number for number in free if normalize_name(names[number]) in usual]
    if len(named) == 1:
        return named[0]
    unknown = [number for number in free if normalize_name(names[number]) not in _USUAL]
    if not named and len(names) == 2 and unknown:
        return unknown[0]
    columns = ", ".join(f"{number} {quote(names[number], 24)}" for number in range(min(len(names), 12)))
    # Kaggle has tables with a sentence, not a word, in each row.
    possible = [
        number for number in free if normalize_name(names[number]) in (_POS_NAMES if what == "tag" else SENTENCE_NAMES)
    ]
    example = names[next(iter(named or unknown or possible or free), 0)]
    raise InputError(
        f"{path}: no column is the {what} without doubt; give --{what}_column by name or number, such as "
        f"--{what}_column={shlex.quote(example)}: {columns}"
    )


def sentences_of(rows: Iterable[Row | int], column: int | None = None) -> list[list[Row]]:
    """Return the rows of each sentence; a number of a blank line ends one.

    Args:
        rows: rows, and numbers of blank lines.
        column: column that numbers the sentences, in every row or in the first row of each.
    """
    sentences: list[list[Row]] = [[]]
    if column is None:
        for row in rows:
            if isinstance(row, Row):
                sentences[-1].append(row)
            elif sentences[-1]:
                sentences.append([])
        return [sentence for sentence in sentences if sentence]
    rows = list(rows)
    numbers = [row.cell(column).strip() for row in rows if isinstance(row, Row)]
    # Sentence 1, empty, empty, Sentence 2: each number begins a sentence, even if it comes again.
    has_gaps = "" in numbers and all(not a or a != b for a, b in itertools.pairwise(numbers))
    last = ""
    for row in rows:
        number = row.cell(column).strip() if isinstance(row, Row) else ""
        if not isinstance(row, Row) or (number and (has_gaps or number != last)):
            sentences.append([])
        if isinstance(row, Row):
            sentences[-1].append(row)
            last = number or last
    return [sentence for sentence in sentences if sentence]


def warn_of_one_sentence(path: str, sentences: Sequence[Sequence[str]]) -> None:
    """Log a warning if all words of a file are one sentence though they look like several."""
    if len(sentences) != 1:
        return
    words = sentences[0]
    if len(words) > _LONGEST_SENTENCE or sum(word in _SENTENCE_ENDS for word in words) > 1:
        LOG.warning(
            "%s: warning: there is no blank line, so all %d words are one sentence; put a blank line after each sentence",
            path, len(words),
        )  # fmt: skip
