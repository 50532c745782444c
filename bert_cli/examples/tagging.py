r"""Files of words and tags -> TaggingExample records: columns in the CoNLL style, and JSON lines.

Columns: one word per line; a blank line, or one of white space, ends a sentence; a line with a cell
`-DOCSTART-` belongs to no sentence. Where a line has a tab, its columns are separated by tabs (so
that a word may hold spaces); other lines are split at runs of blanks. Lines end at `\n`; a carriage
return before it is no part of the row.

JSON lines: {"words": ["Anna", "left"], "tags": ["B-PER", "O"]}, other keys are kept for the
predictions.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import UTF_8, read_text, split_lines
from bert_cli.base.messages import quoted
from bert_cli.examples.table_files.rows import Row, refuse_rows

# A line between documents in the data of CoNLL-2003, which looks like a word with a tag.
DOCUMENT_START = "-DOCSTART-"
# Formats of files of words and tags; examples.annotations has the formats of texts with spans.
COLUMNS, WORDS = "columns", "words and tags in JSON lines"


@dataclass(frozen=True)
class TaggingExample:
    """One sentence, or one text. `line`: 1-based, of its first word; word i of a file of columns is
    in line `line + i`.

    tags    as many as words; None where the file has none
    text    the plain text that the words are of; None for words that came as such
    starts  offset of each word in `text`, in characters
    name    what the file calls it: an id of Label Studio, a document of brat; "": its line
    path    of its own file, where the data is a directory
    lines   1-based line of each word in `path`
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    line: int
    text: str | None = None
    starts: tuple[int, ...] = ()
    name: str = ""
    path: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class TaggingFile:
    """A file as read.

    lines     all of them, without their `\\n`, and of brat the text of each document; writers put
              the predictions next to them
    format    COLUMNS, WORDS, or one of examples.annotations
    is_utf16  offsets of spans count UTF-16 code units, as JavaScript does, not characters
    """

    path: str
    lines: tuple[str, ...]
    examples: tuple[TaggingExample, ...]
    format: str = COLUMNS
    is_utf16: bool = False

    @property
    def has_spans(self) -> bool:
        """True for texts with spans, whose tags are in BIO already."""
        return self.format not in (COLUMNS, WORDS)

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """The tags of each example that has some; ValueError for a file that was read without."""
        found = [example.tags for example in self.examples if example.tags is not None]
        if self.examples and not found:
            raise ValueError(f"{self.path} was read without tags")
        return found

    def line_of(self, example: TaggingExample, word: int) -> int:
        """1-based line of a word of an example."""
        if example.lines:
            return example.lines[word]
        return example.line + word if self.format == COLUMNS else example.line

    def place(self, example: TaggingExample, word: int) -> str:
        """File and line of a word of an example, for messages."""
        task = f" (task {example.name})" if example.name and not example.path else ""
        return f"{example.path or self.path}:{self.line_of(example, word)}{task}"


def read_tagging_file(
    path: str, word_column: int = 0, tag_column: int | None = -1, encoding: str = UTF_8
) -> TaggingFile:
    """Read `.jsonl` and `.json` files as JSON lines, all others as columns. `tag_column` None:
    leave the tags alone.
    """
    if path.lower().endswith((".jsonl", ".json")):
        return read_json_lines(path, tag_column is not None, encoding)
    return read_columns(path, word_column, tag_column, encoding)


def _lines(path: str, encoding: str) -> list[str]:
    """Lines as they are. InputError for a carriage return inside one: the lines of old files would
    be glued together.
    """
    lines = split_lines(read_text(path, encoding), path)
    glued = [(number, None) for number, line in enumerate(lines, 1) if "\r" in line.rstrip("\r")]
    refuse_rows(path, glued, lambda _: "a carriage return inside the line", "save the file with \\n line ends")
    return lines


def split_columns(line: str) -> list[str]:
    """The cells of a line without its line end."""
    # CoNLL-2003 has single blanks between columns; files with tabs have words that hold blanks.
    return line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))


def read_columns(path: str, word_column: int = 0, tag_column: int | None = -1, encoding: str = UTF_8) -> TaggingFile:
    """The sentences of a file in columns. Columns are 0-based, -1 is the last; `tag_column` None:
    no tags are read.

    InputError for a row without these columns or with an empty word or tag; where a column is
    counted from the end, also for a row that has not as many columns as the first, since that would
    move the column. Also for a file without words.
    """
    if word_column == tag_column:
        raise InputError(f"--tag_column: {tag_column} is the column of the words; give another")
    # All lines are kept: the predictions are written next to the lines as they are.
    lines = _lines(path, encoding)
    sentences: list[list[Row]] = [[]]
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r")
        cells = split_columns(line) if line.strip() else []
        if cells and DOCUMENT_START not in cells:
            sentences[-1].append(Row(number, cells))
        elif sentences[-1]:
            sentences.append([])
    sentences = [rows for rows in sentences if rows]
    rows = [row for sentence in sentences for row in sentence]
    if not rows:
        raise InputError(f"{path}: holds no words; a file with one word and its tag on each line is needed")
    _check_columns(path, rows, word_column, tag_column)
    _check_cells(path, rows, word_column, "word")
    if tag_column is not None:
        _check_cells(path, rows, tag_column, "tag")
    return TaggingFile(
        path,
        tuple(lines),
        tuple(
            TaggingExample(
                words=tuple(row.cells[word_column] for row in sentence),
                tags=None if tag_column is None else tuple(row.cells[tag_column] for row in sentence),
                line=sentence[0].line,
            )
            for sentence in sentences
        ),
    )


def _check_columns(path: str, rows: Sequence[Row], word_column: int, tag_column: int | None) -> None:
    wanted = [column for column in (word_column, tag_column) if column is not None]
    minimum = max(column + 1 if column >= 0 else -column for column in wanted)
    if tag_column is not None and (word_column >= 0) != (tag_column >= 0):
        minimum = max(minimum, 2)
    advice = "separate the columns with a tab, or check --word_column and --tag_column"
    short = [(row.line, len(row.cells)) for row in rows if len(row.cells) < minimum]
    refuse_rows(path, short, lambda count: f"expected at least {minimum} columns, found {count}", advice)
    if min(wanted) >= 0:
        return
    # Counted from the end, a column is another one in a shorter or longer row.
    line = rows[0].line
    width = len(rows[0].cells)
    other = [(row.line, len(row.cells)) for row in rows if len(row.cells) != width]
    refuse_rows(path, other, lambda count: f"expected {width} columns as in line {line}, found {count}", advice)
    if len({column % width for column in wanted}) < len(wanted):
        raise InputError(
            f"{path}:{line}: --word_column={word_column} and --tag_column={tag_column} are the "
            f"same of {width} columns; give another"
        )


def _check_cells(path: str, rows: Sequence[Row], column: int, what: str) -> None:
    empty = [(row.line, column % len(row.cells) + 1) for row in rows if not row.cells[column]]
    refuse_rows(path, empty, lambda number: f"the {what} in column {number} is empty", "every row needs one")


def read_json_lines(path: str, with_tags: bool = True, encoding: str = UTF_8) -> TaggingFile:
    """The sentences of a file of JSON lines; blank lines are skipped, a sentence may be without
    words.

    `with_tags` False: tags are not read. InputError for a line that is not JSON or has not this
    form.
    """
    lines = _lines(path, encoding)
    examples = [_json_example(path, number, line, with_tags) for number, line in enumerate(lines, 1) if line.strip()]
    if not examples:
        raise InputError(f'{path}: is empty; lines such as {{"words": ["Anna"], "tags": ["B-PER"]}} are needed')
    return TaggingFile(path, tuple(lines), tuple(examples), WORDS)


def _json_example(path: str, number: int, line: str, with_tags: bool) -> TaggingExample:
    record = parse_json(line, path, number)
    words = record.get("words") if isinstance(record, dict) else None
    if not _is_list_of_texts(words):
        raise InputError(f'{path}:{number}: expected {{"words": [texts that are not empty]}}, found {quoted(line)}')
    if not with_tags:
        return TaggingExample(tuple(words), None, number)
    tags = record.get("tags")
    if not _is_list_of_texts(tags):
        raise InputError(f'{path}:{number}: expected "tags": [one text for each word]; add them')
    if len(tags) != len(words):
        raise InputError(f"{path}:{number}: {len(words)} words but {len(tags)} tags; give each word one tag")
    return TaggingExample(tuple(words), tuple(tags), number)


def _is_list_of_texts(value: object) -> TypeGuard[list[str]]:
    """True for a list of texts, none of them empty or with half of a surrogate pair, which no file
    can hold.
    """
    return isinstance(value, list) and all(
        isinstance(item, str) and item and not re.search("[\ud800-\udfff]", item) for item in value
    )
