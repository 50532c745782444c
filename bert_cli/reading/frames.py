"""Reader for workbooks, Parquet and Feather files, using pandas.

Cells are formatted like in a sheet: integers without decimal point, dates without midnight, and
missing values as empty cells.
"""

import datetime
import decimal
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_some, quote
from bert_cli.base.log import LOG
from bert_cli.reading.exports.cells import JsonCell, make_list_cell
from bert_cli.reading.formats import FORMATS, PARQUET, WORKBOOK
from bert_cli.reading.merged_cells import MergedRange, fill_merged_cells
from bert_cli.reading.rows import Row
from bert_cli.reading.source import Source
from bert_cli.runtime.installing import how_to_install

_DIGITS = 15  # a sheet's significant digits


@dataclass(frozen=True)
class Frame:
    """A table in memory.

    Attributes:
        names: column names, or None if the first row may be a header.
        rows: the rows, with row numbers as line numbers.
    """

    names: tuple[str, ...] | None
    rows: Sequence[Row]
    delimiter: ClassVar[str] = ""


def read_workbook(source: Source, sheet: str | None) -> Frame:
    """Read one sheet from a workbook (.xlsx, .xlsm, .xlsb, .xls or .ods).

    Args:
        source: the workbook.
        sheet: sheet name or 0-based number; None for the only visible sheet with rows.

    Raises:
        InputError: the file is not a workbook, a package is missing, the sheet does not exist, or
            several sheets have rows and no sheet is given.
    """
    path = source.name
    _check_is_workbook(path, source.head)
    pandas = _import_pandas("python_calamine", path, "excel")
    from python_calamine import CalamineError, SheetVisibleEnum

    try:
        with pandas.ExcelFile(source.binary(), engine="calamine") as book:
            visible = [
                properties.name
                for properties in book.book.sheets_metadata
                if properties.visible == SheetVisibleEnum.Visible
            ]
            selected = _select_sheets(path, [str(name) for name in book.sheet_names], visible, sheet)
            frames = {
                name: pandas.read_excel(book, sheet_name=name, header=None, dtype=object, na_filter=False)
                for name in selected
            }
            filled = [name for name, frame in frames.items() if frame.size]
            ranges = book.book.get_sheet_by_name(filled[0]).merged_cell_ranges if len(filled) == 1 else []
    except CalamineError as error:
        raise InputError(f"{path}: cannot be read as a workbook: {error}; is it protected by a password?") from None
    refuse_if(
        len(filled) > 1,
        f"{path}: holds {len(filled)} sheets with rows, {list_some([quote(name) for name in filled])}; "
        f"give one, as in --sheet={filled[-1] if filled else ''}",
    )
    if not filled:
        return Frame(None, [])
    if len(visible) > 1:
        LOG.info("%s: took the sheet %s", path, quote(filled[0]))
    cells = [
        [_format_sheet_cell(value) for value in row] for row in frames[filled[0]].itertuples(index=False, name=None)
    ]
    fill_merged_cells(path, cells, None if ranges is None else [MergedRange(*first, *last) for first, last in ranges])
    return Frame(None, _sheet_rows(cells))


def _check_is_workbook(path: str, head: bytes) -> None:
    """Raise InputError if a file does not begin like a workbook."""
    if head.startswith(tuple(row.mark for row in FORMATS if row.name == WORKBOOK)):
        return
    refuse_if(not head, f"{path}: is empty; a workbook is needed")
    # Many programs export HTML or tab-separated text with a workbook's suffix.
    advice = "if it is a table in text, let its name end in .csv or .tsv"
    if b"<" in head[:50]:
        advice = "it looks like HTML or XML; open it in a spreadsheet program and save it as .xlsx"
    raise InputError(f"{path}: is not a workbook by its content; {advice}")


def _select_sheets(
    path: str,
    names: Sequence[str],
    visible: Sequence[str],
    sheet: str | None,
) -> Sequence[str]:
    """Return the sheet that the flag names, or all visible sheets without flag."""
    if sheet is None:
        return visible or names
    if sheet in names:
        return [sheet]
    if sheet.isdecimal() and int(sheet) < len(names):
        return [names[int(sheet)]]
    raise InputError(f"--sheet={sheet}: {path} has the sheets {list_some([quote(name) for name in names])}")


def _sheet_rows(cells: Sequence[Sequence[str]]) -> list[Row]:
    """Return a sheet's rows without empty rows and columns."""
    used = [column for column in range(len(cells[0])) if any(row[column].strip() for row in cells)]
    rows = [Row(number, [row[column] for column in used]) for number, row in enumerate(cells, start=1)]
    return [row for row in rows if any(map(str.strip, row.cells))]


def _format_sheet_cell(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    cell = format_scalar(value)
    return str(value) if cell is None else cell


def read_columnar(source: Source, table_format: str) -> Frame:
    """Read a Parquet or Feather file, with 1-based row numbers as line numbers.

    Columns with bytes, such as images, are skipped and logged. Raise InputError if the file is
    damaged or a package is missing.
    """
    path = source.name
    pandas = _import_pandas("pyarrow", path, "parquet")
    read = pandas.read_parquet if table_format == PARQUET else pandas.read_feather
    from pyarrow import ArrowException

    try:
        frame = read(source.binary())
    except (ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: cannot be read as {table_format.capitalize()}: {reason:.200}") from None
    # A named index, such as an id, becomes a column.
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    binary = [name for name in frame.columns if any(isinstance(value, bytes) for value in frame[name].head(10))]
    if binary:
        LOG.info(
            "%s: left out the columns %s, which hold bytes", path, list_some([quote(str(name)) for name in binary])
        )
        frame = frame.drop(columns=binary)
    names = tuple(map(str, frame.columns))
    return Frame(names, _frame_rows(frame.itertuples(index=False, name=None)))


def _frame_rows(rows: Iterable[Sequence[Any]]) -> list[Row]:
    return [Row(number, [_format_columnar_cell(value) for value in row]) for number, row in enumerate(rows, start=1)]


def _format_columnar_cell(value: Any) -> Any:
    """Return a cell's text, or a tuple of texts for a list."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        items = [format_scalar(item) for item in value]
        if all(item is not None for item in items):
            return make_list_cell(value, map(str, items))
    cell = format_scalar(value)
    return JsonCell(json.dumps(value, ensure_ascii=False, default=_plain)) if cell is None else cell


def _plain(value: Any) -> Any:
    """Return a value inside an object or a list for JSON."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def format_scalar(value: Any) -> str | None:
    """Return a value as text, "" for a missing value, or None for a list or other object."""
    if isinstance(value, str):
        return value
    # Convert NumPy scalars: their repr includes the type, and np.bool is not an int.
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, float):
        return "" if math.isnan(value) else _format_number(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(value, bool | int | datetime.date | datetime.time | datetime.timedelta | decimal.Decimal):
        return str(value)
    return None


def _format_number(value: float) -> str:
    """Format a number like a sheet: 3 for 3.0, and 0.3 for 0.30000000000000004."""
    if value.is_integer() and abs(value) < 10**_DIGITS:
        return str(int(value))
    return f"{value:.{_DIGITS}g}"


def _import_pandas(package: str, path: str, extra: str) -> Any:
    """Return pandas; raise InputError if pandas or the package that it uses is missing."""
    # Import late: pandas takes half a second, and text files do not need it.
    try:
        __import__(package)
        import pandas
    except ImportError as error:
        raise InputError(f"{path}: needs the package {error.name or package}: {how_to_install(extra)}") from None
    return pandas
