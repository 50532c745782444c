"""Small files with rows, as tests write them."""

import json
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.task_files import TaskOptions, read_examples
from bert_cli.reading.source import Source


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


def read_task(
    task: str, split: str, source: Source | str | os.PathLike, labels: Sequence[str] | None = None, **options: Any
) -> list[ClassificationExample]:
    """Return the examples of a task's file; see task_files.read_examples, and TaskOptions for options."""
    source = source if isinstance(source, Source) else str(source)
    return read_examples(task, split, source, labels, TaskOptions(**options)).examples
