"""Columns of pairs of texts, with negatives or scores, by flags and by usual names."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, list_some, quote
from bert_cli.reading.column_names import PAIRS, normalize_name
from bert_cli.reading.columns.finder import ColumnFinder
from bert_cli.reading.columns.roles import ColumnRules, find_column
from bert_cli.reading.header import AUTO, YES, HeaderSign, decide_header
from bert_cli.reading.rows import Row
from bert_cli.settings.data import NO_COLUMN, Columns, PairColumns

# A pair's usual names, as column_names.normalize_name returns them.
_PAIRS = (
    ("anchor", "positive"), ("query", "positive"), ("query", "document"), ("query", "passage"),
    ("query", "answer"), ("question", "answer"), ("question", "passage"), ("question", "context"),
    ("text", "positive"), *PAIRS,
)  # fmt: skip
_SCORE_NAMES = frozenset((
    "score", "similarity", "similarity_score", "label", "labels", "gold_score", "gold_label",
    "relatedness", "relatedness_score", "rating", "target",
))  # fmt: skip
_NEGATIVE = re.compile(r"(hard_)?neg(ative)?s?(_?\d+)?")


class PairRules(NamedTuple):
    """Rules with which the columns of pairs are found.

    Attributes:
        texts: values of --text_column and --text_b_column.
        others: values of --negative_columns and --score_column.
        header: whether the first row is a header: yes, no or auto.
    """

    texts: Columns = Columns()
    others: PairColumns = PairColumns()
    header: str = AUTO

    @property
    def flag_columns(self) -> list[str]:
        """Return the column names or numbers from all flags."""
        texts, others = self.texts, self.others
        names = (texts.text_column, texts.text_b_column, others.score_column)
        negatives = others.negative_columns or ()
        return [name for name in (*names, *negatives) if name is not None and name != NO_COLUMN]


class ColumnsOfPairs(NamedTuple):
    """Columns of pairs as 0-based numbers.

    Attributes:
        width: number of columns.
        names: all column names, or None without a header.
        text_a: column of the first text.
        text_b: column of the text that belongs to it.
        negatives: columns of texts that do not belong to it.
        score: column with the pair's similarity, or None.
    """

    width: int
    names: tuple[str, ...] | None
    text_a: int
    text_b: int
    negatives: tuple[int, ...]
    score: int | None

    @property
    def roles(self) -> dict[str, tuple[int, ...]]:
        """Return the used columns by role, see facts.ROLES."""
        score = () if self.score is None else (self.score,)
        return {"text": (self.text_a,), "text_b": (self.text_b,), "negatives": self.negatives, "score": score}

    def column_name(self, column: int) -> str:
        """Return a column's name, or its number if it has no name."""
        return (self.names[column] if self.names else "") or str(column)


def find_pair_columns(path: str, sample: Sequence[Row], has_names: bool, rules: PairRules) -> ColumnsOfPairs:
    """Return the columns that flags name, or else the columns with usual names.

    Args:
        path: the file, for messages.
        sample: its first rows.
        has_names: whether the format always has column names.

    Raises:
        InputError: a column is missing or ambiguous, or has two uses.
    """
    cells = tuple(str(cell).strip() for cell in sample[0].cells)
    header = YES if has_names else rules.header
    names = cells if decide_header(header, _header_signs(cells, rules)).is_header else None
    finder = ColumnFinder(path, sample, names, ColumnRules(rules.texts))
    text_a, text_b = _find_texts(finder, rules.texts)
    negatives = _find_negatives(finder, rules.others.negative_columns, (text_a, text_b))
    score = _find_score(finder, rules.others.score_column, (text_a, text_b, *negatives))
    used = [column for column in (text_a, text_b, *negatives, score) if column is not None]
    if len(set(used)) < len(used):
        flags = "--text_column, --text_b_column, --negative_columns and --score_column"
        raise InputError(f"{path}: one column is named twice by {flags}")
    if negatives and score is not None:
        shown, shown_score = _list_columns(finder, negatives), _list_columns(finder, [score])
        raise InputError(
            f"{_place(finder)}: has negatives ({shown}) and a score ({shown_score}), and takes one of them; "
            f"give --score_column={NO_COLUMN} or --negative_columns={NO_COLUMN}"
        )
    return ColumnsOfPairs(len(cells), names, text_a, text_b, negatives, score)


def _header_signs(cells: Sequence[str], rules: PairRules) -> Iterator[HeaderSign]:
    usual = [normalize_name(cell) for cell in cells]
    has_pair = any(first in usual and second in usual for first, second in _PAIRS)
    has_name = any(find_column(name, (), len(cells)) is None for name in rules.flag_columns)
    if has_name or (has_pair and not any(map(is_number, cells))):
        yield HeaderSign(is_header=True)


def _find_texts(finder: ColumnFinder, columns: Columns) -> tuple[int, int]:
    first, second = columns.text_column, columns.text_b_column
    if first is not None and second is not None:
        return finder.require(first, "text_column"), finder.require(second, "text_b_column")
    usual = [normalize_name(name) for name in finder.names or ()]
    pairs = [pair for pair in _PAIRS if all(usual.count(name) == 1 for name in pair)]
    if len(pairs) == 1 and first is None and second is None:
        return usual.index(pairs[0][0]), usual.index(pairs[0][1])
    problem = "no two columns that are a pair of texts without doubt"
    if finder.names is None:
        problem = "no header with the names of a pair, such as anchor and positive"
    raise InputError(
        f"{_place(finder)}: {problem}; give --text_column and --text_b_column, by name or number: "
        f"{_list_columns(finder, range(len(finder.sample[0].cells)))}"
    )


def _find_negatives(finder: ColumnFinder, flag: Sequence[str] | None, used: Sequence[int]) -> tuple[int, ...]:
    if flag is not None and not (list(flag) == [NO_COLUMN] and finder.find(NO_COLUMN) is None):
        return tuple(finder.require(name, "negative_columns") for name in flag)
    if flag is not None:
        return ()
    usual = enumerate(map(normalize_name, finder.names or ()))
    return tuple(number for number, name in usual if _NEGATIVE.fullmatch(name) and number not in used)


def _find_score(finder: ColumnFinder, flag: str | None, used: Sequence[int]) -> int | None:
    if flag is not None:
        is_none = flag == NO_COLUMN and finder.find(flag) is None
        return None if is_none else finder.require(flag, "score_column")
    columns = finder.find_usual(_SCORE_NAMES, used)
    if len(columns) > 1:
        shown = _list_columns(finder, columns)
        raise InputError(
            f"{_place(finder)}: several columns may be the score: {shown}; give --score_column, or "
            f"--score_column={NO_COLUMN} for no scores"
        )
    return columns[0] if columns else None


def _place(finder: ColumnFinder) -> str:
    """Return the file with its header line; names of JSON and of tables in memory are on no line."""
    return f"{finder.path}:1" if finder.sample[0].line else finder.path


def _list_columns(finder: ColumnFinder, columns: Sequence[int]) -> str:
    cells = finder.names or [str(cell) for cell in finder.sample[0].cells]
    return list_some([f"{column} {quote(cells[column], 24)}" for column in columns], 12)
