"""Merged cells in workbooks: a value that is stored in the first cell counts for all rows below."""

from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.log import LOG

_MIN_HEADERLESS_ROWS = 3  # rows of a merged cell in the first row of a sheet without a header


class MergedRange(NamedTuple):
    """A merged cell, as 0-based numbers of its first and last row and column."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int

    @property
    def name(self) -> str:
        """Return the range as a spreadsheet shows it, for example A2:A9."""
        corners = ((self.first_row, self.first_column), (self.last_row, self.last_column))
        return ":".join(f"{_column_letters(column)}{row + 1}" for row, column in corners)


def _column_letters(column: int) -> str:
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def fill_merged_cells(path: str, cells: list[list[str]], ranges: Sequence[MergedRange] | None) -> None:
    """Copy merged cells to its rows below, in place, and log the number of cells.

    Rows that are empty otherwise stay empty. A cell that is merged over columns has its value in
    the first column only, because a header or a title names columns once.

    Args:
        path: the workbook, for the log.
        cells: cells of a sheet; all rows have the same length.
        ranges: merged cells, None if the format does not report them.
    """
    if ranges is None:
        _log_gaps(path, cells)
        return
    filled_rows = [any(map(str.strip, row)) for row in cells]
    if not any(filled_rows):
        return
    header = filled_rows.index(True)
    is_headerless = _has_single_cell(cells[header], header, ranges)
    used: list[MergedRange] = []
    num_filled = 0
    for merged in sorted(ranges):
        num_rows = merged.last_row - merged.first_row + 1
        if merged.first_row >= len(cells) or merged.first_column >= len(cells[0]):
            continue
        value = cells[merged.first_row][merged.first_column]
        # A header of two rows has merged cells, too.
        is_header = merged.first_row <= header and not (is_headerless and num_rows >= _MIN_HEADERLESS_ROWS)
        if not value.strip() or num_rows == 1 or is_header:
            continue
        rows = [row for row in range(merged.first_row + 1, min(merged.last_row + 1, len(cells))) if filled_rows[row]]
        for row in rows:
            cells[row][merged.first_column] = value
        num_filled += len(rows)
        used.append(merged)
    if num_filled:
        LOG.info("%s: %d merged cells, such as %s, count for all of their rows", path, len(used), used[0].name)


def _has_single_cell(first_cells: Sequence[str], row: int, ranges: Sequence[MergedRange]) -> bool:
    """Return whether the first row has a cell with a value that is not merged."""
    merged_columns = {
        column
        for merged in ranges
        if merged.first_row <= row <= merged.last_row
        for column in range(merged.first_column, merged.last_column + 1)
    }
    return any(value.strip() and column not in merged_columns for column, value in enumerate(first_cells))


def _log_gaps(path: str, cells: Sequence[Sequence[str]]) -> None:
    """Log columns that look like merged cells: a value in the first row, and few values below."""
    rows = [row for row in cells if any(map(str.strip, row))][1:]
    for column in range(len(rows[0]) if rows else 0):
        num_values = sum(bool(row[column].strip()) for row in rows)
        if rows[0][column].strip() and num_values > 1 and 2 * num_values <= len(rows):
            LOG.info(
                "%s: %d of %d rows have an empty cell in column %s; if cells are merged, save the workbook as .xlsx, "
                "which also has the rows of merged cells", path, len(rows) - num_values, len(rows),
                _column_letters(column),
            )  # fmt: skip
