"""Tables in a log: plain lines, whatever the width of the terminal."""

import io
from collections.abc import Iterable

_WIDTH = 100


def text_table(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """Rows of name, figure (set to the right) and remark as lines without trailing blanks."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for row in rows:
        table.add_row(*row)
    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, color_system=None, highlight=False)
    console.print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]
