"""Detection of the header, columns and sentences in rows with a word and its tag."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import refuse_if
from bert_cli.base.formats import is_number, list_names, quote
from bert_cli.base.log import LOG
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.notation import detect_notation
from bert_cli.reading.column_names import normalize_name
from bert_cli.reading.columns.facts import DataFacts, table_facts
from bert_cli.reading.columns.words import USUAL_NAMES, WordColumns, find_word_columns, has_tag_column
from bert_cli.reading.header import AUTO, YES, HeaderSign, decide_header
from bert_cli.reading.rows import LeftOutRows, Row

# With fewer rows, a tag may occur only once by chance.
_MIN_ROWS = 20
_MAX_SENTENCE_LENGTH = 50  # words; a longer sentence usually means that blank lines are missing
_SENTENCE_ENDS = frozenset(".!?。！？")


class TokenLayout(NamedTuple):
    """Rows, and the columns with words and tags.

    Attributes:
        rows: rows without the header, and blank lines for sentence ends.
        columns: columns with words and tags.
        names: column names, or None without a header.
        header: the header's line, or 0 without a header.
        left_out: rows that repeat the header.
    """

    rows: list[Row]
    columns: WordColumns
    names: list[str] | None
    header: int
    left_out: tuple[LeftOutRows, ...] = ()

    @property
    def words(self) -> list[Row]:
        """Return the rows without blank lines."""
        return [row for row in self.rows if row.cells]

    def has_tags(self, flags: TokenFlags) -> bool:
        """Return whether there is a tag column: by its name, or without a header by the width."""
        return has_tag_column(self.names, flags.rules) if self.names is not None else len(self.words[0].cells) > 1

    def account(self, path: str, left_out: Sequence[LeftOutRows]) -> DataFacts:
        """Return the account of a file with this layout.

        Args:
            path: the file.
            left_out: rows that are not used, besides those that repeat the header.
        """
        width = len(self.names or self.words[0].cells)
        roles = {role: [number % width] for role, number in self.columns._asdict().items() if number is not None}
        return table_facts(path, self.names, width, roles, (*self.left_out, *left_out))


def find_layout(path: str, rows: Sequence[Row], flags: TokenFlags, needed: str, has_names: bool = False) -> TokenLayout:
    """Detect the header and the columns; raise InputError if there are no words or it is unclear.

    Args:
        path: the file, for messages.
        rows: its rows, and blank lines for sentence ends.
        needed: description of a valid file, for the message about a file without words.
        has_names: whether the first row certainly has the column names.
    """
    words = [row for row in rows if row.cells]
    header = words[0] if words and (has_names or is_header(path, words[0], words[1:], flags)) else None
    location = path
    repeated: list[int] = []
    if header:
        repeated = [row.line for row in words[1:] if row.cells == header.cells]
        location = f"{path}:{header.line}" if header.line else path
        if flags.header == "auto" and not has_names:
            flags.log("%s: took the first row for a header; --header=no reads it as a word", location)
        rows = [Row(row.line, ()) if row.cells == header.cells else row for row in rows]
        words = [row for row in words if row.cells != header.cells]
    refuse_if(not words, f"{path}: holds no words; {needed} is needed{flags.check_flag}")
    names = [cell.strip() for cell in header.cells] if header else None
    columns = find_word_columns(location, names, len(words[0].cells), flags.rules)
    refuse_if(columns.word == columns.tag, f"--tag_column: {columns.tag} is the column of the words; give another")
    left_out = LeftOutRows.of_lines("rows that repeat the header, as in joined files", repeated)
    return TokenLayout(list(rows), columns, names, header.line if header else 0, left_out)


def is_header(path: str, first: Row, other_rows: Sequence[Row], flags: TokenFlags) -> bool:
    """Return whether a file's first row has the column names.

    A header has usual names for two columns, or a tag cell that no other row has and that is not
    valid in the tag scheme. Raise InputError if tags have no prefixes, so the tag cell may also be
    an entity type.

    Args:
        path: the file, for messages.
    """
    header = YES if flags.rules.word_name or (flags.rules.tag_name and flags.with_tags) else flags.header
    decision = decide_header(header, _header_signs(first, other_rows, flags) if header == AUTO else ())
    if decision.doubt:
        cells = list_names([quote(cell, 24) for cell in first.cells])
        doubt = f"{path}:{first.line}: may be a header ({cells}), as {decision.doubt}"
        refuse_if(len(other_rows) >= _MIN_ROWS, f"{doubt}; give --header=yes if it is one, else --header=no")
        if flags.logs:
            LOG.warning("%s; it is read as a word; --header=yes skips it", doubt)
    return decision.is_header


def _header_signs(first: Row, other_rows: Sequence[Row], flags: TokenFlags) -> Iterator[HeaderSign]:
    if len(set(first.cells)) < len(first.cells) or any(map(is_number, first.cells)):
        yield HeaderSign(is_header=False)
    names = [normalize_name(cell) for cell in first.cells]
    if len(names) == 1:
        # Exclude plurals: "Words" and "Tokens" may begin a sentence.
        yield HeaderSign(names[0] in ("word", "token"))
    tag = first.cell(flags.rules.tag_number) if flags.with_tags else ""
    counts = Counter(row.cell(flags.rules.tag_number) for row in other_rows) if flags.with_tags else Counter()
    if sum(name in USUAL_NAMES for name in names if name) > 1:
        # Concatenated files repeat their header.
        yield HeaderSign(not tag or counts[tag] == sum(row.cells == first.cells for row in other_rows))
    # A column does not contain its name.
    may_be_names = all(cell not in {row.cell(number) for row in other_rows} for number, cell in enumerate(first.cells))
    if normalize_name(tag) and may_be_names:
        yield from _tag_signs(tag, counts, flags)


def _tag_signs(tag: str, counts: Counter[str], flags: TokenFlags) -> Iterator[HeaderSign]:
    """Yield the sign that the first row's tag is unlike the others, whose rows are counted."""
    notation = detect_notation([[name] * count for name, count in counts.items()], types=flags.types)
    if tag == notation.outside or len(counts) < 2:
        return
    if notation.scheme != "IO":
        types = {notation.normalize([name])[0].partition("-")[2] for name in counts}
        # If other tags are like B-PER, PER and X-PER are typing errors, not column names.
        yield HeaderSign(bool(notation.describe_problem(tag)) and tag not in types and "-" not in tag)
    elif tag not in flags.types and min(counts.values()) > 1:
        yield HeaderSign(is_header=True, doubt=f"no other row has the tag {quote(tag)}")


def split_sentences(rows: Iterable[Row], column: int | None = None) -> list[list[Row]]:
    """Split rows into sentences.

    Args:
        rows: rows, and blank lines for sentence ends.
        column: column with sentence numbers, in every row or in a sentence's first row; or None.
    """
    sentences: list[list[Row]] = [[]]
    if column is None:
        for row in rows:
            if row.cells:
                sentences[-1].append(row)
            elif sentences[-1]:
                sentences.append([])
        return [sentence for sentence in sentences if sentence]
    rows = list(rows)
    numbers = [row.cell(column).strip() for row in rows if row.cells]
    # With empty cells between numbers, each number begins a sentence, even if it is repeated.
    has_gaps = "" in numbers and all(
        not number or number != next_number for number, next_number in itertools.pairwise(numbers)
    )
    last = ""
    for row in rows:
        number = row.cell(column).strip()
        if not row.cells or (number and (has_gaps or number != last)):
            sentences.append([])
        if row.cells:
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
