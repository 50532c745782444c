r"""Columns in the CoNLL style -> TaggingExample records.

One word per line; a blank line, or one of white space, ends a sentence; a line with a cell
`-DOCSTART-` belongs to no sentence. If a line has a tab, its columns are separated by tabs (so that
a word may hold spaces); other lines are split at runs of spaces. Lines end at `\n`; a carriage
return before it is no part of the row.

A header and comments are skipped, and in CoNLL-U the rows of several words (1-2) and of words that
are not in the text (1.1).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.lines import read_text, split_lines
from bert_cli.base.log import LOG
from bert_cli.examples.table_files.rows import Row, refuse_rows
from bert_cli.examples.tagging import COLUMNS, TaggingExample, TaggingFile
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.examples.token_files.layout import Columns, Layout, find_layout, sentences_of, warn_of_one_sentence

# A line between documents in the data of CoNLL-2003, which looks like a word with a tag.
DOCUMENT_START = "-DOCSTART-"
_KEY = re.compile(r"#\s*[\w.:-]+\s*=|#(begin|end) document")
_COMMENT = re.compile(rf"#+($|\s)|{_KEY.pattern}")
_PREFIXED = re.compile(r"[A-Z]-.")
SKIP_ADVICE = "--skip_unlabeled leaves sentences with a word without a tag out"
# Numbers of CoNLL-U: 1-2 is a token of two words, 1.1 a word that is not in the text.
_NO_WORD = re.compile(r"[0-9]+(-|\.)[0-9]+")


def split_columns(line: str) -> list[str]:
    """Return the cells of a line without its line end."""
    # CoNLL-2003 has single spaces between columns; files with tabs have words that hold spaces.
    return line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))


def is_comment(line: str) -> bool:
    """Return whether a line that is not a word is a comment."""
    return _is_marked(split_columns(line))


def _is_marked(cells: Sequence[str]) -> bool:
    return cells[0].startswith("#") and _COMMENT.match(" ".join(cells)) is not None


def read_lines(path: str, encoding: str) -> list[str]:
    """Return the lines of a file as they are.

    Raise InputError for a carriage return inside a line: the lines of old files would be glued
    together.
    """
    lines = split_lines(read_text(path, encoding), path)
    glued = [(number, None) for number, line in enumerate(lines, 1) if "\r" in line.rstrip("\r")]
    refuse_rows(path, glued, lambda _: "a carriage return inside the line", "save the file with \\n line ends")
    return lines


def read_columns(path: str, flags: TokenFlags = DEFAULTS) -> TaggingFile:
    """Return the sentences of a file in columns.

    Raise InputError for a row without the columns or with an empty word or tag. If a column is
    counted from the end, a row with another number of columns than the first one is refused, too,
    since that would move the column. A file without words is refused.
    """
    lines = read_lines(path, flags.encoding)
    rows = _without_comments(path, list(_rows(lines)), flags)
    layout = find_layout(path, rows, flags, "a file with one word and its tag on each line")
    rows = _without_ranges(path, layout, flags)
    examples = examples_of(path, sentences_of(rows, layout.columns.sentence), layout.columns, flags)
    return TaggingFile(path, tuple(lines), examples, COLUMNS, header=layout.header)


def _rows(lines: Sequence[str]) -> Iterator[Row | int]:
    """Yield the row of each line, and the number of a line that ends a sentence."""
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r")
        cells = split_columns(line) if line.strip() else []
        yield Row(number, cells) if cells and DOCUMENT_START not in cells else number


def _without_comments(path: str, rows: list[Row | int], flags: TokenFlags) -> list[Row | int]:
    """Return the rows without comments, which are counted in the log.

    A comment begins with a number sign and a space, or with a key and its value (# text = …), and
    has not the columns of the other rows, or no tag: a part of a text or an address.
    """
    marked = [row for row in rows if isinstance(row, Row) and _is_marked(row.cells)]
    lines = {row.line for row in marked}
    usual = [row for row in rows if isinstance(row, Row) and row.line not in lines]
    if not marked or not usual:
        return rows
    width = Counter(len(row.cells) for row in usual).most_common(1)[0][0]
    tags = {row.cell(flags.tag_number) for row in usual}

    def is_word(row: Row) -> bool:
        tag = row.cell(flags.tag_number)
        if len(row.cells) == width:
            # The word # may have a tag of its own.
            return tag in tags or not (_KEY.match(" ".join(row.cells)) or "://" in tag)
        is_counted_from_end = min(flags.word_number, flags.tag_number) < 0
        return flags.with_tags and not is_counted_from_end and (tag in tags or _PREFIXED.match(tag) is not None)

    comments = {row.line for row in marked if not is_word(row)}
    if comments:
        flags.log(
            "%s: comments that begin with #, skipped: %d, the first in line %d", path, len(comments), min(comments)
        )
    return [row for row in rows if not (isinstance(row, Row) and row.line in comments)]


def _without_ranges(path: str, layout: Layout, flags: TokenFlags) -> list[Row | int]:
    """Return the rows without the tokens and words of CoNLL-U that are not in the text as they
    are.
    """
    words = layout.words
    ranges = {row.line for row in words if _NO_WORD.fullmatch(row.cells[0])}
    are_numbered = all(row.line in ranges or row.cells[0].isdecimal() for row in words)
    if not ranges or layout.columns.word == 0 or not are_numbered:
        return layout.rows
    message = "%s: rows of CoNLL-U with a number such as %s, which are no words, skipped: %d, the first in line %d"
    number = next(row.cells[0] for row in words if row.line in ranges)
    flags.log(message, path, number, len(ranges), min(ranges))
    return [row for row in layout.rows if not (isinstance(row, Row) and row.line in ranges)]


def examples_of(
    path: str, sentences: Sequence[Sequence[Row]], columns: Columns, flags: TokenFlags
) -> tuple[TaggingExample, ...]:
    """Return the examples of sentences. Raise InputError as read_columns does."""
    word, tag = columns.word, columns.tag
    if flags.skip_unlabeled and tag is not None:
        sentences = _labeled(path, sentences, tag)
    rows = [row for sentence in sentences for row in sentence]
    _check_columns(path, rows, columns)
    _check_cells(path, rows, word, "word", "every row needs one")
    if tag is not None:
        _check_cells(path, rows, tag, "tag", f"every row needs one; {SKIP_ADVICE}")
    name_of = _naming(path, rows, columns, flags)
    examples = []
    for sentence in sentences:
        lines = tuple(row.line for row in sentence)
        is_contiguous = lines[-1] - lines[0] == len(lines) - 1
        examples.append(
            TaggingExample(
                words=tuple(row.cells[word] for row in sentence),
                tags=None if tag is None else tuple(name_of(f"{path}:{row.line}", row.cells[tag]) for row in sentence),
                line=lines[0],
                lines=() if is_contiguous else lines,
            )
        )
    if flags.word_column is None:
        _refuse_numbers(path, examples)
    if flags.logs:
        warn_of_one_sentence(path, [example.words for example in examples])
    return tuple(examples)


def _naming(path: str, rows: Sequence[Row], columns: Columns, flags: TokenFlags) -> Callable[[str, str], str]:
    """Return a function from the place of a tag and the tag to its name: --labels names numbers."""
    tags = set() if columns.tag is None else {row.cells[columns.tag] for row in rows}
    if not all(tag.isdecimal() for tag in tags) or len(tags) < 2 or flags.are_types:
        return lambda place, tag: tag
    if not flags.labels:
        LOG.warning(
            "%s: warning: all tags are numbers, which are read as types; if they are indices of names such as O and "
            "B-PER, give the names, as in --labels=O,B-PER,I-PER",
            path,
        )  # fmt: skip
        return lambda place, tag: tag
    return lambda place, tag: name_of_number(place, int(tag), flags.labels)


def name_of_number(place: str, number: int, names: Sequence[str]) -> str:
    """Return the name of a tag that is a number. Raise InputError for a number without a name."""
    if not 0 <= number < len(names):
        problem = f"the tag {number} has no name, as there are {len(names)}, 0 to {len(names) - 1}"
        raise InputError(f"{place}: {problem}; check --labels")
    return names[number]


def _labeled(path: str, sentences: Sequence[Sequence[Row]], tag: int) -> list[Sequence[Row]]:
    """Return the sentences with a tag for every word; the others are counted in the log."""
    widths = Counter(len(row.cells) for sentence in sentences for row in sentence)
    usual = widths.most_common(1)[0][0]

    def has_tag(row: Row) -> bool:
        # Counted from the end, the last cell of a shorter row is no tag.
        return bool(row.cell(tag)) and (tag >= 0 or len(row.cells) >= usual)

    unlabeled = [
        next(row.line for row in rows if not has_tag(row)) for rows in sentences if not all(map(has_tag, rows))
    ]
    labeled = [rows for rows in sentences if all(map(has_tag, rows))]
    if not labeled:
        raise InputError(f"{path}:{unlabeled[0]}: no sentence has a tag for every word; check --tag_column")
    if unlabeled:
        log_unlabeled(path, len(unlabeled), len(sentences), unlabeled[0])
    return labeled


def log_unlabeled(path: str, count: int, total: int, line: int) -> None:
    """Log how many sentences of all are left out, and the line of the first one's word without a
    tag.
    """
    message = "%s: left out %d of %d sentences, in which a word has no tag, the first in line %d (--skip_unlabeled)"
    LOG.info(message, path, count, total, line)


def _refuse_numbers(path: str, examples: Sequence[TaggingExample]) -> None:
    """Raise InputError if the words of each sentence are 1, 2, 3…, the first column of CoNLL-U."""
    is_numbering = all(list(each.words) == [str(i) for i in range(1, len(each.words) + 1)] for each in examples)
    if is_numbering and any(len(example.words) > 1 for example in examples):
        raise InputError(
            f"{path}:{examples[0].line}: the words in the first column are the numbers 1, 2, …; give --word_column "
            "and --tag_column, such as --word_column=1 --tag_column=2"
        )


def _check_columns(path: str, rows: Sequence[Row], columns: Columns) -> None:
    numbers = [column for column in (columns.word, columns.tag) if column is not None]
    minimum = max(column + 1 if column >= 0 else -column for column in numbers)
    if columns.tag is not None and (columns.word >= 0) != (columns.tag >= 0):
        minimum = max(minimum, 2)
    advice = "separate the columns with a tab, or check --word_column and --tag_column"
    short = [(row.line, len(row.cells)) for row in rows if len(row.cells) < minimum]
    if columns.tag is not None and len(short) < len(rows):
        advice += f"; {SKIP_ADVICE}"
    refuse_rows(path, short, lambda count: f"expected at least {minimum} columns, found {count}", advice)
    if min(numbers) >= 0:
        return
    # Counted from the end, a column is another one in a shorter or longer row.
    line = rows[0].line
    width = len(rows[0].cells)
    uneven = [(row.line, len(row.cells)) for row in rows if len(row.cells) != width]
    refuse_rows(path, uneven, lambda count: f"expected {width} columns as in line {line}, found {count}", advice)
    if len({column % width for column in numbers}) < len(numbers):
        raise InputError(
            f"{path}:{line}: --word_column={columns.word} and --tag_column={columns.tag} are the "
            f"same of {width} columns; give another"
        )


def _check_cells(path: str, rows: Sequence[Row], column: int, what: str, advice: str) -> None:
    empty = [(row.line, column % len(row.cells) + 1) for row in rows if not row.cells[column]]
    refuse_rows(path, empty, lambda number: f"the {what} in column {number} is empty", advice)
