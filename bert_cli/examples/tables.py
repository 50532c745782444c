"""Reader of tab-separated files, and tests of whether a first row is a header or data.

The character `"` has no special meaning unless --quoting=csv is given.
"""

from collections.abc import Sequence

from bert_cli.base.errors import InputError
from bert_cli.reading.delimited import find_separator_name, read_tab_rows
from bert_cli.reading.open_quotes import MultiLineRowCheck
from bert_cli.reading.quoting import ADVICE, TAB, advise_literal, do_csv_quotes_fit
from bert_cli.reading.rows import LeftOutRows, Row, refuse_rows, skip_blank_lines
from bert_cli.reading.source import Source
from bert_cli.settings.data import LITERAL


def read_rows(source: Source, quoting: str = LITERAL, left_out: list[LeftOutRows] | None = None) -> list[Row]:
    r"""Return a tab-separated file's rows without blank lines.

    Only `\n` ends a line, so U+2028, U+0085, `\x0b` and `\x0c` are ordinary characters. Carriage
    returns are removed at line ends, and are errors elsewhere: the original rejects them, too,
    because they usually mean that two rows were joined.

    Args:
        source: the file.
        left_out: list that gets the blank lines.

    Raises:
        InputError: the file has no rows, or a carriage return inside a line.
    """
    multi_line = MultiLineRowCheck()
    tab_rows = read_tab_rows(source.name, source.lines(), quoting, multi_line=multi_line)
    rows = list(skip_blank_lines(tab_rows, left_out))
    if not rows:
        raise InputError(f"{source.name}: is empty; a file of tab-separated rows is needed")
    multi_line.check(source.name, rows, advise_literal(TAB))
    return rows


def check_columns(
    source: Source,
    rows: Sequence[Row],
    minimum: int,
    columns: str,
) -> None:
    """Raise InputError for the first row with fewer than `minimum` cells.

    Args:
        source: file with the rows.
        rows: rows to check.
        minimum: smallest valid number of cells.
        columns: description used in the message, for example "id, text".
    """
    short = [(row.line, len(row.cells)) for row in rows if len(row.cells) < minimum]
    if not short:
        return
    advice = "put each example on one line, with a tab between the columns"
    if all(len(row.cells) == 1 for row in rows):
        if name := find_separator_name(rows):
            advice = f"this is a {name}-separated file, save it with tabs"
    elif any('"' in cell for row in rows for cell in row.cells) and do_csv_quotes_fit(
        source.lines(), short[0][0], lambda width: width >= minimum
    ):
        advice = ADVICE
    expected = f"expected at least {minimum} tab-separated columns ({columns})"
    refuse_rows(source.name, short, lambda count: f"{expected}, found {count}", advice)
