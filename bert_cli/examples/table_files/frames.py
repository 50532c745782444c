"""Workbooks, Parquet and Feather files into rows, through pandas.

Cells look as they do in a sheet: whole numbers without a decimal point, dates without a time of
midnight, nothing for a missing value.
"""

import datetime
import decimal
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_some, quote
from bert_cli.examples.table_files.formats import PARQUET
from bert_cli.examples.table_files.rows import Row

if TYPE_CHECKING:
    import pandas as pd

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_DIGITS = 15  # significant ones, which a sheet stores and shows


@dataclass(frozen=True)
class Frame:
    """A table in memory.

    Attributes:
        names: names of the columns, or None if the first row may be a header.
        rows: rows of cells; the line of a sheet's row is its number in the sheet.
    """

    names: tuple[str, ...] | None
    rows: Sequence[Row]


def read_workbook(path: str, sheet: str | None) -> Frame:
    """Return the rows of one sheet of a workbook (.xlsx, .xlsm, .xlsb, .xls or .ods).

    Args:
        path: the workbook.
        sheet: name of a sheet, or its number from 0; None: the only visible sheet with rows.

    Raises:
        InputError: for a file that is not a workbook, a missing package, an unknown sheet, and
            several sheets with rows if none is named.
    """
    local_path = files.make_local(path)
    _check_is_workbook(path, local_path)
    pandas = _imported("python_calamine", path, "excel")
    from python_calamine import CalamineError, SheetVisibleEnum

    try:
        with pandas.ExcelFile(local_path, engine="calamine") as book:
            visible = [
                properties.name
                for properties in book.book.sheets_metadata
                if properties.visible == SheetVisibleEnum.Visible
            ]
            wanted = _sheet_names(path, [str(name) for name in book.sheet_names], visible, sheet)
            frames = {
                name: pandas.read_excel(book, sheet_name=name, header=None, dtype=object, na_filter=False)
                for name in wanted
            }
    except CalamineError as error:
        raise InputError(f"{path}: cannot be read as a workbook: {error}; is it protected by a password?") from None
    filled = [name for name, frame in frames.items() if frame.size]
    refuse_if(
        len(filled) > 1,
        f"{path}: holds {len(filled)} sheets with rows, {list_some([quote(name) for name in filled])}; "
        f"give one, as in --sheet={filled[-1] if filled else ''}",
    )
    if not filled:
        return Frame(None, [])
    if len(visible) > 1:
        LOG.info("%s: took the sheet %s", path, quote(filled[0]))
    return Frame(None, _sheet_rows(frames[filled[0]]))


def _check_is_workbook(path: str, local_path: str) -> None:
    """Raise InputError for a file that is not a workbook by its first bytes."""
    with open(local_path, "rb") as file:
        head = file.read(200)
    if head.startswith((_ZIP, _OLE)):
        return
    refuse_if(not head, f"{path}: is empty; a workbook is needed")
    # Many programs write HTML or text with tabs under the name of a workbook.
    advice = "if it is a table in text, let its name end in .csv or .tsv"
    if b"<" in head[:50]:
        advice = "it looks like HTML or XML; open it in a spreadsheet program and save it as .xlsx"
    raise InputError(f"{path}: is not a workbook by its content; {advice}")


def _sheet_names(path: str, names: Sequence[str], visible: Sequence[str], sheet: str | None) -> Sequence[str]:
    """Return the sheets that may be meant: the named one, or all visible ones."""
    if sheet is None:
        return visible or names
    if sheet in names:
        return [sheet]
    if sheet.isdecimal() and int(sheet) < len(names):
        return [names[int(sheet)]]
    raise InputError(f"--sheet={sheet}: {path} has the sheets {list_some([quote(name) for name in names])}")


def _sheet_rows(frame: "pd.DataFrame") -> list[Row]:
    """Return the rows that hold a cell, without the columns that hold none."""
    cells = [[_sheet_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    used = [column for column in range(frame.shape[1]) if any(row[column].strip() for row in cells)]
    rows = [Row(number, [row[column] for column in used]) for number, row in enumerate(cells, start=1)]
    return [row for row in rows if any(map(str.strip, row.cells))]


def _sheet_cell(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    cell = scalar_cell(value)
    return str(value) if cell is None else cell


def read_columnar(path: str, table_format: str) -> Frame:
    """Return the rows of a Parquet or Feather file, whose lines are numbers of rows from 1.

    Columns of bytes, such as images, are left out and logged. Raise InputError for a file that is
    damaged, and for a missing package.
    """
    pandas = _imported("pyarrow", path, "parquet")
    read = pandas.read_parquet if table_format == PARQUET else pandas.read_feather
    from pyarrow import ArrowException

    try:
        frame = read(files.make_local(path))
    except (ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: cannot be read as {table_format.capitalize()}: {reason:.200}") from None
    # A named index, such as an id, was a column of the table before.
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
    return [Row(number, [_columnar_cell(value) for value in row]) for number, row in enumerate(rows, start=1)]


def _columnar_cell(value: Any) -> Any:
    """Return a text, or a tuple of names for a list of them."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        parts = [scalar_cell(part) for part in value]
        if all(part is not None for part in parts):
            return tuple(parts)
    cell = scalar_cell(value)
    return json.dumps(value, ensure_ascii=False, default=str) if cell is None else cell


def scalar_cell(value: Any) -> str | None:
    """Return the text of a single value, "" for a missing one, or None for any other object."""
    if isinstance(value, str):
        return value
    # The repr of NumPy's numbers names their type, and its bool is not an int.
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, float):
        return "" if math.isnan(value) else _number(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(value, bool | int | datetime.date | datetime.time | datetime.timedelta | decimal.Decimal):
        return str(value)
    return None


def _number(value: float) -> str:
    """Return a number as a sheet shows it: 3 for 3.0, and 0.3 for 0.30000000000000004."""
    if value.is_integer() and abs(value) < 10**_DIGITS:
        return str(int(value))
    return f"{value:.{_DIGITS}g}"


def _imported(package: str, path: str, extra: str) -> Any:
    """Return pandas, or raise InputError if the package is missing with which it reads a file."""
    # Import late: pandas takes half a second, which files of text do without.
    try:
        __import__(package)
        import pandas
    except ImportError as error:
        raise InputError(
            f'{path}: needs the package {error.name or package}; pip install "bert_cli[{extra}]"'
        ) from None
    return pandas
