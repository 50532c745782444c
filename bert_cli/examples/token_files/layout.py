"""Detection of the header, columns and sentences in rows with a word and its tag."""

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import is_number, list_names, quote
from bert_cli.base.log import LOG
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.notation import detect_notation
from bert_cli.reading.column_names import normalize_name
from bert_cli.reading.header import AUTO, YES, Sign, decide_header
from bert_cli.reading.rows import Row

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
_USUAL = WORD_NAMES | TAG_NAMES | _POS_NAMES | SENTENCE_NAMES | _OTHER_NAMES
# With fewer rows, a tag may occur only once by chance.
_MIN_ROWS = 20
_NUMBER = re.compile(r"-?[0-9]+")
_MAX_SENTENCE_LENGTH = 50  # words; a longer sentence usually means that blank lines are missing
_SENTENCE_ENDS = frozenset(".!?。！？")


class Columns(NamedTuple):
    """0-based columns, -1 for the last column.

    Attributes:
        word: word column.
        tag: tag column, or None if tags are not read.
        sentence: column with sentence numbers, or None.
    """

    word: int
    tag: int | None
    sentence: int | None = None


class Layout(NamedTuple):
    """Rows, and the columns with words and tags.

    Attributes:
        rows: rows without the header, and line numbers for sentence ends.
        columns: columns with words and tags.
        names: column names, or None without a header.
        header: the header's line, or 0 without a header.
    """

    rows: list[Row | int]
    columns: Columns
    names: list[str] | None
    header: int

    @property
    def words(self) -> list[Row]:
        """Return the rows without line numbers."""
        return [row for row in self.rows if isinstance(row, Row)]


def find_layout(
    path: str, rows: Sequence[Row | int], flags: TokenFlags, needed: str, has_names: bool = False
) -> Layout:
    """Detect the header and the columns; raise InputError if there are no words or it is unclear.

    Args:
        path: the file, for messages.
        rows: its rows, and line numbers for sentence ends.
        flags: flag values.
        needed: description of a valid file, for the message about a file without words.
        has_names: whether the first row certainly has the column names.
    """
    words = [row for row in rows if isinstance(row, Row)]
    header = words[0] if words and (has_names or is_header(path, words[0], words[1:], flags)) else None
    location = path
    if header:
        repeated = [row.line for row in words[1:] if row.cells == header.cells]
        location = f"{path}:{header.line}" if header.line else path
        if flags.header == "auto" and not has_names:
            flags.log("%s: took the first row for a header; --header=no reads it as a word", location)
        if repeated:
            flags.log("%s: the header comes again, skipped: %d, the first in line %d", path, len(repeated), repeated[0])
        rows = [row.line if isinstance(row, Row) and row.cells == header.cells else row for row in rows]
        words = [row for row in words if row.cells != header.cells]
    refuse_if(not words, f"{path}: holds no words; {needed} is needed{flags.check_flag}")
    names = [cell.strip() for cell in header.cells] if header else None
    columns = find_columns(location, names, len(words[0].cells), flags)
    refuse_if(columns.word == columns.tag, f"--tag_column: {columns.tag} is the column of the words; give another")
    return Layout(list(rows), columns, names, header.line if header else 0)


def is_header(path: str, first: Row, other_rows: Sequence[Row], flags: TokenFlags) -> bool:
    """Return whether a file's first row has the column names.

    A header has usual names for two columns, or a tag cell that no other row has and that is not
    valid in the tag scheme. Raise InputError if tags have no prefixes, so the tag cell may also be
    an entity type.

    Args:
        path: the file, for messages.
        first: the first row.
        other_rows: all other rows.
        flags: flag values.
    """
    header = YES if flags.word_name or (flags.tag_name and flags.with_tags) else flags.header
    decision = decide_header(header, _header_signs(first, other_rows, flags) if header == AUTO else ())
    if decision.doubt:
        cells = list_names([quote(cell, 24) for cell in first.cells])
        doubt = f"{path}:{first.line}: may be a header ({cells}), as {decision.doubt}"
        refuse_if(len(other_rows) >= _MIN_ROWS, f"{doubt}; give --header=yes if it is one, else --header=no")
        if flags.logs:
            LOG.warning("%s; it is read as a word; --header=yes skips it", doubt)
    return decision.is_header


def _header_signs(first: Row, other_rows: Sequence[Row], flags: TokenFlags) -> Iterator[Sign]:
    if len(set(first.cells)) < len(first.cells) or any(map(is_number, first.cells)):
        yield Sign(is_header=False)
    names = [normalize_name(cell) for cell in first.cells]
    if len(names) == 1:
        # Exclude plurals: "Words" and "Tokens" may begin a sentence.
        yield Sign(names[0] in ("word", "token"))
    tag = first.cell(flags.tag_number) if flags.with_tags else ""
    counts = Counter(row.cell(flags.tag_number) for row in other_rows) if flags.with_tags else Counter()
    if sum(name in _USUAL for name in names if name) > 1:
        # Concatenated files repeat their header.
        yield Sign(not tag or counts[tag] == sum(row.cells == first.cells for row in other_rows))
    # A column does not contain its name.
    may_be_names = all(cell not in {row.cell(number) for row in other_rows} for number, cell in enumerate(first.cells))
    if normalize_name(tag) and may_be_names:
        yield from _tag_signs(tag, counts, flags)


def _tag_signs(tag: str, counts: Counter[str], flags: TokenFlags) -> Iterator[Sign]:
    """Yield the sign that the first row's tag is unlike the others, whose rows are counted."""
    notation = detect_notation([[name] * count for name, count in counts.items()], types=flags.types)
    if tag == notation.outside or len(counts) < 2:
        return
    if notation.scheme != "IO":
        types = {notation.normalize([name])[0].partition("-")[2] for name in counts}
        # If other tags are like B-PER, PER and X-PER are typing errors, not column names.
        yield Sign(bool(notation.describe_problem(tag)) and tag not in types and "-" not in tag)
    elif tag not in flags.types and min(counts.values()) > 1:
        yield Sign(is_header=True, doubt=f"no other row has the tag {quote(tag)}")


def find_columns(path: str, names: Sequence[str] | None, width: int, flags: TokenFlags) -> Columns:
    """Return the columns that flags name, or else the columns with usual names.

    Without names, the first column has words and the last column has tags. Raise InputError if a
    column is missing, or if no column or several columns have usual names.

    Args:
        path: the file with its header line, for messages.
        names: header cells, or None without a header.
        width: number of columns.
        flags: flag values.
    """
    word = _find_flag_column(path, names, "word_column", flags.word_column)
    tag = _find_flag_column(path, names, "tag_column", flags.tag_column) if flags.with_tags else None
    if names is None:
        return Columns(0 if word is None else word, -1 if tag is None and flags.with_tags else tag)
    normalized = [normalize_name(name) for name in names]
    used = [column % width for column in (word, tag) if column is not None]
    if word is None:
        word = find_usual_column(path, names, WORD_NAMES, used, "word")
        used.append(word)
    if tag is None and flags.with_tags:
        tag = find_usual_column(path, names, TAG_NAMES, used, "tag")
    sentences = [
        number for number, name in enumerate(normalized) if name in SENTENCE_NAMES and number not in (word, tag)
    ]
    tags = "" if tag is None else f" and {quote(names[tag])} for the tags"
    flags.log("%s: took %s for the words%s, as the header names them", path, quote(names[word]), tags)
    return Columns(word, tag, sentences[0] if len(sentences) == 1 else None)


def has_tag_column(names: Sequence[str], flags: TokenFlags) -> bool:
    """Return whether a header has a tag column, with the flag's name or a usual name."""
    if flags.tag_column is not None:
        return flags.tag_column in names or not flags.tag_name
    normalized = [normalize_name(name) for name in names]
    is_unknown = len(names) == 2 and any(name not in _USUAL for name in normalized)
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
    unknown = [number for number in free if normalize_name(names[number]) not in _USUAL]
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


def split_sentences(rows: Iterable[Row | int], column: int | None = None) -> list[list[Row]]:
    """Split rows into sentences.

    Args:
        rows: rows, and line numbers for sentence ends.
        column: column with sentence numbers, in every row or in a sentence's first row; or None.
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
    # With empty cells between numbers, each number begins a sentence, even if it is repeated.
    has_gaps = "" in numbers and all(
        not number or number != next_number for number, next_number in itertools.pairwise(numbers)
    )
    last = ""
    for row in rows:
        number = row.cell(column).strip() if isinstance(row, Row) else ""
        if not isinstance(row, Row) or (number and (has_gaps or number != last)):
            sentences.append([])
        if isinstance(row, Row):
            sentences[-1].append(row)
            last = number or last
    return [sentence for sentence in sentences if sentence]


def warn_about_one_sentence(path: str, sentences: Sequence[Sequence[str]]) -> None:
    """Log a warning if a file's words are a single sentence but look like several sentences."""
    if len(sentences) != 1:
        return
    words = sentences[0]
    if len(words) > _MAX_SENTENCE_LENGTH or sum(word in _SENTENCE_ENDS for word in words) > 1:
        LOG.warning(
            "%s: warning: there is no blank line, so all %d words are one sentence; put a blank line after each sentence",
            path, len(words),
        )  # fmt: skip
