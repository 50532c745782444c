"""Detection of open quotes in CSV: a quoted cell with line ends that contains table rows.

A quote that belongs to a text may open a cell, and a quote in a later row closes it. The rows
between are then one cell. A legal cell may contain line ends too, so the contents decide: lines of
a text rarely have as many delimiters as the table, and known labels or consecutive ids in the same
columns.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, quote
from bert_cli.base.log import LOG
from bert_cli.reading.rows import Row

_DIGITS = re.compile(r"\d+")
_MAX_SHAPES = 3  # shapes of values in a column of ids, dates or numbers
_MAX_VALUES = 1000  # distinct values to count in a column of categories
_MIN_LINES = 4  # this many lines with the table's number of cells are a reason for a warning
_MIN_SHARE = 0.8  # lines that must fit the table
_CERTAIN, _POSSIBLE, _CONTRADICTION = "certain", "possible", "contradiction"


class _Suspect(NamedTuple):
    """A row with lines that all have the same number of cells, if quotes are read literally.

    Attributes:
        line: its first line.
        last_line: its last line.
        rows: literal cells of its lines without blank lines.
    """

    line: int
    last_line: int
    rows: list[list[str]]

    def values(self, column: int) -> list[str]:
        """Return a column's cells without quotes around them."""
        return [row[column].strip('"') for row in self.rows]

    @property
    def may_be_decimal(self) -> bool:
        """Return whether it has two lines, and a delimiter in one of them is between digits."""
        pairs = [pair for row in self.rows for pair in itertools.pairwise(row)]
        return len(self.rows) == 2 and any(left[-1:].isdigit() and right[:1].isdigit() for left, right in pairs)


class MultiLineRowCheck:
    """Rows with quoted cells that contain line ends, and their check.

    Attributes:
        count: number of such rows.
    """

    def __init__(self) -> None:
        self.count = 0
        self._longest = (0, 0)  # number of lines, and the first line
        self._suspects: list[_Suspect] = []

    def add(self, line: int, lines: Sequence[str], delimiter: str) -> None:
        """Add a row.

        Args:
            line: number of its first line.
            lines: its lines, at least two.
            delimiter: the character between cells.
        """
        self.count += 1
        self._longest = max(self._longest, (len(lines), -line))
        filled = [text for text in lines if text.strip()]
        num_delimiters = {text.count(delimiter) for text in filled}
        if len(num_delimiters) == 1 and len(filled) > 1 and num_delimiters != {0}:
            rows = [text.rstrip("\r\n").split(delimiter) for text in filled]
            self._suspects.append(_Suspect(line, line + len(lines) - 1, rows))

    def check(self, path: str, rows: Iterable[Row], advice: str = "") -> None:
        """Raise InputError for a cell that certainly contains rows, and warn about a possible one.

        Args:
            path: the file, for messages.
            rows: the file's rows and blank lines; read only if a row is suspect.
            advice: how to read quotes literally, "" if the format does not allow it.
        """
        if self._suspects:
            table = _Table(self._suspects)
            for row in rows:
                if row.cells:
                    table.add(row)
            for suspect in self._suspects:
                verdict, reason = table.judge(suspect)
                if verdict in (_CERTAIN, _POSSIBLE):
                    message = _describe(path, suspect, verdict, reason) + advice
                    if verdict == _CERTAIN:
                        raise InputError(message)
                    LOG.warning("%s", message)
        if self.count:
            num_lines, line = self._longest
            LOG.info(
                "%s: %d row%s quoted cells with line ends; the longest has %d lines and begins in line %d",
                path, self.count, " has" if self.count == 1 else "s have", num_lines, -line,
            )  # fmt: skip


def _describe(path: str, suspect: _Suspect, verdict: str, reason: str) -> str:
    # The open cell has an odd number of quotes.
    opening = next(cell for cell in suspect.rows[0] if cell.count('"') % 2)
    example = '""""' if opening == '"' else f'"""{opening[1:20].rstrip()}…"'
    certain = verdict == _CERTAIN
    return (
        f"{path}:{suspect.line}: {'' if certain else 'warning: '}a quote opens here and closes in line "
        f"{suspect.last_line}, so these lines are one row; but each of them {'is' if certain else 'may be'} "
        f"a row of the table: {reason}; if the quote belongs to the text, write {example}, or remove it"
    )


class _Column:
    """A column's values in rows that are not suspects."""

    def __init__(self, suspect_values: Iterable[str]) -> None:
        self._suspect_counts = Counter(suspect_values)
        self.counts = dict.fromkeys(self._suspect_counts, 0)  # rows per value that a suspect has
        self.num_rows = 0
        self.has_empty = False
        self.has_space = False
        self.is_ascending = True
        self._values: set[str] = set()
        self._shapes: set[str] = set()
        self._last_number = -1
        self._greatest_number = -1

    def add(self, value: str, is_first: bool) -> None:
        """Add a row's value; the first row may be a header."""
        if value in self.counts:
            self.counts[value] += 1
        if is_first:
            return
        self.num_rows += 1
        self.has_empty |= not value.strip()
        self.has_space |= value[:1].isspace()
        if len(self._values) < _MAX_VALUES:
            self._values.add(value)
        if len(self._shapes) <= _MAX_SHAPES:
            self._shapes.add(_shape(value))
        number = _find_number(value)
        self._greatest_number = max(self._greatest_number, number)
        self.is_ascending &= number > self._last_number
        self._last_number = number

    @property
    def has_categories(self) -> bool:
        """Return whether the values are few and repeated, such as labels."""
        return self.num_rows > 5 and len(self._values) < _MAX_VALUES and 3 * len(self._values) <= self.num_rows

    def fits(self, values: Sequence[str]) -> bool:
        """Return whether values have the shape of the column's ids, dates or numbers."""
        shapes = self._shapes or {_shape(values[0])}
        return len(shapes) <= _MAX_SHAPES and all("0" in shape for shape in shapes) and shapes.issuperset(
            map(_shape, values)
        )  # fmt: skip

    @property
    def has_shape(self) -> bool:
        """Return whether all values have a shape that lines of a text do not have by chance."""
        return self.num_rows > 2 and len(self._shapes) <= _MAX_SHAPES and all("0" in shape for shape in self._shapes)

    def judge(self, suspect: _Suspect, values: Sequence[str], next_value: str) -> tuple[str, str]:
        """Return the verdict about a suspect, and its reason.

        Args:
            values: the column's value in each line of the suspect.
            next_value: the value in the row after the suspect, "" for the last row.
        """
        repeated = Counter(values)
        num_lines = len(values)
        num_known = sum(bool(value) and self.counts[value] > 0 for value in values)
        num_elsewhere = sum(bool(value) and self.counts[value] + self._suspect_counts[value] > 1 for value in values)
        are_numbers = all(map(is_number, values))
        examples = ", ".join(map(quote, list(dict.fromkeys(values))[:3]))
        if num_known == num_lines or (num_lines > _MIN_LINES and num_known >= _MIN_SHARE * num_lines):
            if are_numbers and suspect.may_be_decimal:
                return "", ""
            certain = not are_numbers or num_lines > 2
            return _CERTAIN if certain else _POSSIBLE, f"{examples} are values of other rows"
        is_repeated = num_lines >= _MIN_LINES and 2 * len(repeated) <= num_lines
        if num_elsewhere == num_lines and (is_repeated or 2 * num_known > num_lines):
            return _POSSIBLE if are_numbers else _CERTAIN, f"{examples} are repeated like labels"
        if len(repeated) == num_lines and not num_known and self.fits(values):
            if _follow(values, next_value):
                return _CERTAIN, f"{examples} continue the numbers"
            is_too_large = len(str(max(map(_find_number, values)))) > len(str(self._greatest_number))
            if self.num_rows > 1 and (self.is_ascending or is_too_large):
                return _CONTRADICTION, ""
            is_specific = len(_DIGITS.findall(values[0])) > 1 and not are_numbers
            is_certain = is_specific or num_lines > _MIN_LINES
            return _CERTAIN if is_certain else _POSSIBLE, f"{examples} look like the other rows"
        if (self.has_categories and 2 * num_known < num_lines) or self.has_shape:
            return _CONTRADICTION, ""
        return "", ""


class _Table:
    """A table's columns, to compare suspects with."""

    def __init__(self, suspects: Sequence[_Suspect]) -> None:
        self._lines = {suspect.line: suspect for suspect in suspects}
        self._columns: dict[int, list[_Column]] = {}  # by number of cells
        for width in {len(suspect.rows[0]) for suspect in suspects}:
            same_width = [suspect for suspect in suspects if len(suspect.rows[0]) == width]
            self._columns[width] = [
                _Column(value for suspect in same_width for value in suspect.values(column)) for column in range(width)
            ]
        self._next_cells: dict[int, Sequence[str]] = {}  # cells of the row after a suspect, by its line
        self._last_line = 0
        self._width = 0

    def add(self, row: Row) -> None:
        """Add a row."""
        line, cells = row
        is_first = not self._width
        self._width = self._width or len(cells)
        if self._last_line in self._lines:
            self._next_cells[self._last_line] = cells
        self._last_line = line
        if line not in self._lines and len(cells) == self._width:
            for column, value in zip(self._columns.get(len(cells), ()), cells, strict=False):
                column.add(value, is_first)

    def judge(self, suspect: _Suspect) -> tuple[str, str]:
        """Return the verdict about a suspect, "" if it is a legal cell, and its reason."""
        width = len(suspect.rows[0])
        columns = self._columns[width]
        # Compare only rows that have the table's width, if quotes are read literally.
        if width != self._width or not self._is_plausible(suspect, columns):
            return "", ""
        next_cells = self._next_cells.get(suspect.line, ())
        verdicts = [
            column.judge(suspect, suspect.values(number), next_cells[number] if number < len(next_cells) else "")
            for number, column in enumerate(columns)
        ]
        for verdict in (_CERTAIN, _CONTRADICTION, _POSSIBLE):
            for number, (column_verdict, reason) in enumerate(verdicts):
                if column_verdict == verdict:
                    return verdict, f"in column {number + 1}, {reason}"
        is_long = len(suspect.rows) >= _MIN_LINES
        return (_POSSIBLE, f"it has {width} cells, as other rows have") if is_long else ("", "")

    def _is_plausible(self, suspect: _Suspect, columns: Sequence[_Column]) -> bool:
        """Return whether most lines have spaces and empty cells only if other rows have them."""
        # A writer that quotes other cells, too, doubles quotes inside a text.
        if any(map(_is_quoted, (*suspect.rows[0], *suspect.rows[-1]))):
            return False
        # In a text, a space follows a comma, and a line may end in a comma.
        plausible = [
            all(
                (column.has_empty or cell.strip()) and (not number or column.has_space or not cell[:1].isspace())
                for number, (column, cell) in enumerate(zip(columns, row, strict=True))
            )
            for row in suspect.rows
        ]
        return sum(plausible) >= _MIN_SHARE * len(plausible)


def _is_quoted(cell: str) -> bool:
    return len(cell) > 1 and cell.startswith('"') and cell.endswith('"')


def _shape(value: str) -> str:
    return _DIGITS.sub("0", value)


def _find_number(value: str) -> int:
    """Return the only number in a value, or -1."""
    numbers = _DIGITS.findall(value[:100])
    return int(numbers[0]) if len(numbers) == 1 else -1


def _follow(values: Sequence[str], next_value: str) -> bool:
    """Return whether numbers in values increase, and stay below the next row's number.

    Before the last row's end, they must be consecutive.
    """
    numbers = list(map(_find_number, values))
    next_number = _find_number(next_value)
    are_increasing = numbers[0] >= 0 and all(first < second for first, second in itertools.pairwise(numbers))
    if next_number < 0:
        return are_increasing and numbers[-1] - numbers[0] == len(numbers) - 1
    return are_increasing and numbers[-1] < next_number
