"""Tables for a terminal or the log, as text lines."""

import io
from collections.abc import Iterable, Sequence


def text_table(rows: Iterable[Sequence[str]], justify: str, head: Sequence[str] = (), width: int = 200) -> list[str]:
    """Return rows as lines without trailing spaces.

    Args:
        rows: cells per row.
        justify: l or r per column.
        head: column names, () for no header.
        width: width in characters; longer cells wrap. It is used on any terminal, because logs are
            read elsewhere.
    """
    # Import late: rich is used only when a command ends.
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
