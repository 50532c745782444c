"""Small files with rows, as tests write them."""

import json
import pathlib
from collections.abc import Iterable


def write_rows(path: pathlib.Path, content: str | bytes | Iterable, separator: str = "\t") -> pathlib.Path:
    """Write a file, and return its path.

    Args:
        path: the file. Its directory is created.
        content: a text or bytes, which are written unchanged, or a line per item: a text, an object
            (as JSON), or a list or tuple of cells.
        separator: what stands between two cells.
    """

    def line(row: object) -> str:
        if isinstance(row, dict):
            return json.dumps(row)
        return row if isinstance(row, str) else separator.join(map(str, row))

    if not isinstance(content, str | bytes):
        content = "".join(f"{line(row)}\n" for row in content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def tabbed(*lines: str) -> list[str]:
    """Return lines with a tab for each |, which is easier to read."""
    return [line.replace("|", "\t") for line in lines]
