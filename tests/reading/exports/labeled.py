"""A file's texts and labels, as bert-classify reads them."""

import json
import pathlib
from typing import Any

from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.examples.user_tables import read_user_table
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import Columns


def write_json(path: pathlib.Path, records: list[Any]) -> pathlib.Path:
    """Write records as an array, or a record per line if the name ends in jsonl."""
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    path.write_text(lines if path.suffix == ".jsonl" else json.dumps(records, indent=1), encoding="utf-8")
    return path


def read_table(path: pathlib.Path, needs_label: bool = True, **columns: str):
    """Read a file's table."""
    table = open_table(str(path), "train_file")
    return read_user_table(table, "train", ColumnRules(Columns(**columns), needs_label=needs_label))


def read_labeled(path: pathlib.Path, **columns: str) -> tuple[str, list[tuple[str, Any]]]:
    """Return the problem type, and a text and a label per row."""
    table = read_table(path, **columns)
    labels = read_labels(table.label_cells(None), None, None, FileRole(True, False, False), table.answers)
    texts = [row.text_a for row in table.rows]
    return labels.problem_type.name, list(zip(texts, labels.rows, strict=True))
