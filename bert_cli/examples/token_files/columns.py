r"""Reader for CoNLL-style column files, which become TaggingExample records.

A line has one word with its tag. Lines end with `\n` or `\r\n`. A blank line or a line with a cell
`-DOCSTART-` ends a sentence. Tabs separate the columns in a line with tabs, so words may contain
spaces. In other lines, spaces separate the columns.

The header and comments are skipped. In CoNLL-U files, rows for multiword tokens (1-2) and empty
nodes (1.1) are skipped, too.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.lines import split_lines
from bert_cli.base.log import LOG
from bert_cli.examples.tagging import COLUMNS, TaggingExample, TaggingFile
from bert_cli.examples.token_files.conllu import skip_conllu_rows
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.examples.token_files.layout import TokenLayout, find_layout, split_sentences, warn_about_one_sentence
from bert_cli.reading.columns.words import WordColumns
from bert_cli.reading.rows import LeftOutRows, Row, refuse_rows
from bert_cli.reading.source import Source

# CoNLL-2003 writes this line between documents; it looks like a word with a tag.
DOCUMENT_START = "-DOCSTART-"
_KEY = re.compile(r"#\s*[\w.:-]+\s*=|#(begin|end) document")
_COMMENT = re.compile(rf"#+($|\s)|{_KEY.pattern}")
_PREFIXED = re.compile(r"[A-Z]-.")
# A sentence's number before a word's number, as in 7-1 and 7.1.
_SENTENCE_NUMBER = re.compile(r"^[0-9]+[-.:_]")
UNLABELED = "sentences with a word without a tag"
SKIP_ADVICE = "--skip_unlabeled leaves sentences with a word without a tag out"


def split_columns(line: str) -> list[str]:
    """Split a line without line end into cells."""
    # CoNLL-2003 has single spaces between columns, but files with tabs have words with spaces.
    return line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))


def is_comment(line: str) -> bool:
    """Return whether a line that does not have a word is a comment."""
    return _looks_like_comment(split_columns(line))


def _looks_like_comment(cells: Sequence[str]) -> bool:
    return cells[0].startswith("#") and _COMMENT.match(" ".join(cells)) is not None


def read_lines(source: Source) -> list[str]:
    r"""Return a file's lines unchanged, without `\n`.

    Raise InputError for a carriage return inside a line: in old files, it would join lines.
    """
    lines = split_lines(source.text, source.name)
    joined = [(number, None) for number, line in enumerate(lines, 1) if "\r" in line.rstrip("\r")]
    refuse_rows(source.name, joined, lambda _: "a carriage return inside the line", "save the file with \\n line ends")
    return lines


def read_column_file(source: Source, flags: TokenFlags = DEFAULTS) -> TaggingFile:
    """Read a column file's sentences.

    Raise InputError if the file has no words, or if a row lacks a column or has an empty word or
    tag. If columns are counted from the end, all rows must have the same number of columns.
    """
    path = source.name
    lines = read_lines(source)
    rows = list(_split_rows(lines))
    left_out: list[LeftOutRows] = []

    def find(trial: TokenFlags, omitted: list[LeftOutRows]) -> TokenLayout:
        words = _skip_comments(rows, trial, omitted)
        return find_layout(path, words, trial, "a file with one word and its tag on each line")

    flags = flags.decide_tags(lambda trial: find(trial, []).has_tags(trial))
    layout = find(flags, left_out)
    words = skip_conllu_rows(layout, left_out)
    sentences = split_sentences(words, layout.columns.sentence)
    examples = make_sentence_examples(path, sentences, layout.columns, flags, left_out)
    account = layout.account(path, left_out)
    return TaggingFile(path, tuple(lines), examples, COLUMNS, header=layout.header, account=account)


def _split_rows(lines: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each line, without cells if the line ends a sentence."""
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r")
        cells = split_columns(line) if line.strip() else []
        yield Row(number, () if DOCUMENT_START in cells else cells)


def _skip_comments(rows: list[Row], flags: TokenFlags, left_out: list[LeftOutRows]) -> list[Row]:
    """Return the rows without comments, which are added to `left_out`.

    A comment begins with "#" and a space, or with a key and its value (# text = …). In addition, it
    has a different number of columns than other rows, or no valid tag.
    """
    candidates = [row for row in rows if row.cells and _looks_like_comment(row.cells)]
    lines = {row.line for row in candidates}
    other_rows = [row for row in rows if row.cells and row.line not in lines]
    if not candidates or not other_rows:
        return rows
    width = Counter(len(row.cells) for row in other_rows).most_common(1)[0][0]
    tags = {row.cell(flags.rules.tag_number) for row in other_rows}

    def is_word(row: Row) -> bool:
        tag = row.cell(flags.rules.tag_number)
        if len(row.cells) == width:
            # The word "#" may have a tag that no other word has.
            return tag in tags or not (_KEY.match(" ".join(row.cells)) or "://" in tag)
        is_counted_from_end = min(flags.rules.word_number, flags.rules.tag_number) < 0
        return flags.with_tags and not is_counted_from_end and (tag in tags or _PREFIXED.match(tag) is not None)

    comments = {row.line for row in candidates if not is_word(row)}
    left_out.extend(LeftOutRows.of_lines("comments that begin with #", sorted(comments), is_requested=True))
    return [row for row in rows if row.line not in comments]


def make_sentence_examples(
    path: str, sentences: Sequence[Sequence[Row]], columns: WordColumns, flags: TokenFlags, left_out: list[LeftOutRows]
) -> tuple[TaggingExample, ...]:
    """Convert sentences to examples.

    Args:
        path: the file, for messages.
        columns: columns with words and tags.
        left_out: list that gets sentences without tags, which are not used.

    Raises:
        InputError: see `read_column_file`.
    """
    word, tag = columns.word, columns.tag
    if flags.skip_unlabeled and tag is not None:
        sentences = _drop_unlabeled(path, sentences, tag, left_out)
    rows = [row for sentence in sentences for row in sentence]
    _check_columns(path, rows, columns)
    _check_cells(path, rows, word, "word", "every row needs one")
    if tag is not None:
        _check_cells(path, rows, tag, "tag", f"every row needs one; {SKIP_ADVICE}")
    find_name = _make_name_finder(path, rows, columns, flags)
    examples = []
    for sentence in sentences:
        lines = tuple(row.line for row in sentence)
        is_contiguous = lines[-1] - lines[0] == len(lines) - 1
        examples.append(
            TaggingExample(
                words=tuple(row.cells[word] for row in sentence),
                tags=None
                if tag is None
                else tuple(find_name(f"{path}:{row.line}", row.cells[tag]) for row in sentence),
                line=lines[0],
                lines=() if is_contiguous else lines,
            )
        )
    if flags.word_column is None:
        _refuse_numbers(path, examples)
    if flags.logs:
        warn_about_one_sentence(path, [example.words for example in examples])
    return tuple(examples)


def _make_name_finder(
    path: str, rows: Sequence[Row], columns: WordColumns, flags: TokenFlags
) -> Callable[[str, str], str]:
    """Return a function (location, tag) -> tag name, which uses --labels if all tags are numbers."""
    tags = set() if columns.tag is None else {row.cells[columns.tag] for row in rows}
    if not all(tag.isdecimal() for tag in tags) or len(tags) < 2 or flags.are_types:
        return lambda location, tag: tag
    if not flags.labels:
        LOG.warning(
            "%s: warning: all tags are numbers, which are read as types; if they are indices of names such as O and "
            "B-PER, give the names, as in --labels=O,B-PER,I-PER",
            path,
        )  # fmt: skip
        return lambda location, tag: tag
    return lambda location, tag: find_tag_name(location, int(tag), flags.labels)


def find_tag_name(location: str, number: int, names: Sequence[str]) -> str:
    """Return the name for a tag number; raise InputError if there is no name.

    Args:
        location: file and line, for the message.
        number: the tag.
        names: names in the order of numbers.
    """
    if not 0 <= number < len(names):
        problem = f"the tag {number} has no name, as there are {len(names)}, 0 to {len(names) - 1}"
        raise InputError(f"{location}: {problem}; check --labels")
    return names[number]


def _drop_unlabeled(
    path: str, sentences: Sequence[Sequence[Row]], tag: int, left_out: list[LeftOutRows]
) -> list[Sequence[Row]]:
    """Return the sentences with a tag for every word; the other sentences go to `left_out`."""
    widths = Counter(len(row.cells) for sentence in sentences for row in sentence)
    usual_width = widths.most_common(1)[0][0]

    def has_tag(row: Row) -> bool:
        # If columns are counted from the end, a shorter row's last cell is not a tag.
        return bool(row.cell(tag)) and (tag >= 0 or len(row.cells) >= usual_width)

    unlabeled = [
        next(row.line for row in rows if not has_tag(row)) for rows in sentences if not all(map(has_tag, rows))
    ]
    labeled = [rows for rows in sentences if all(map(has_tag, rows))]
    if not labeled:
        raise InputError(f"{path}:{unlabeled[0]}: no sentence has a tag for every word; check --tag_column")
    left_out.extend(LeftOutRows.of_lines(UNLABELED, unlabeled, is_requested=True))
    return labeled


def _refuse_numbers(path: str, examples: Sequence[TaggingExample]) -> None:
    """Raise InputError if the words in each sentence are numbers, such as 1, 2, … or 7-1, 7-2, …."""
    is_numbering = all(
        [_SENTENCE_NUMBER.sub("", word) for word in example.words] == [str(i) for i in range(1, len(example.words) + 1)]
        for example in examples
    )
    if is_numbering and any(len(example.words) > 1 for example in examples):
        first, second = next(example.words[:2] for example in examples if len(example.words) > 1)
        raise InputError(
            f"{path}:{examples[0].line}: the words in the first column are the numbers {first}, {second}, …; give "
            "--word_column and --tag_column, such as --word_column=1 --tag_column=2"
        )


def _check_columns(path: str, rows: Sequence[Row], columns: WordColumns) -> None:
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
    # Columns counted from the end differ if rows have different numbers of cells.
    line = rows[0].line
    width = len(rows[0].cells)
    uneven = [(row.line, len(row.cells)) for row in rows if len(row.cells) != width]
    refuse_rows(path, uneven, lambda count: f"expected {width} columns as in line {line}, found {count}", advice)
    if len({column % width for column in numbers}) < len(numbers):
        raise InputError(
            f"{path}:{line}: --word_column={columns.word} and --tag_column={columns.tag} are the "
            f"same of {width} columns; give another"
        )


def _check_cells(path: str, rows: Sequence[Row], column: int, role: str, advice: str) -> None:
    empty = [(row.line, column % len(row.cells) + 1) for row in rows if not row.cells[column]]
    refuse_rows(path, empty, lambda number: f"the {role} in column {number} is empty", advice)
