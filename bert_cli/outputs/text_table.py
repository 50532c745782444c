"""Tables for a terminal or the log, as lines of text."""

import io
from collections.abc import Iterable, Sequence


def text_table(rows: Iterable[Sequence[str]], justify: str, head: Sequence[str] = (), width: int = 200) -> list[str]:
    """Rows as lines without trailing spaces.

    justify: l or r for each column. head: the names of the columns, () for no header. width: in
    characters, whatever the width of the terminal, as a log is read elsewhere; longer cells wrap.
    """
    # Here, as only the end of a command needs it.
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=bool(head), pad_edge=False, padding=(0, 2))
    for number, side in enumerate(justify):
        table.add_column(head[number] if head else "", justify="right" if side == "r" else "left")
    for row in rows:
        table.add_row(*row)
    text = io.StringIO()
    Console(file=text, width=width, color_system=None, highlight=False, markup=False).print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]
