"""Result files of bert-classify: tables with the columns that a problem type fills, and GLUE files."""

import csv
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import IO

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.writing import atomic_write
from bert_cli.problem_types.columns import Column, TextColumn, number_cells

# Keep a row on one line, even for readers that ignore quotes. The tokenizer reads these characters
# as spaces.
_ONE_CELL = str.maketrans("\t\n\r", "   ")

TextPairs = Sequence[tuple[str, str | None]]


def write_test_results(path: str, numbers: np.ndarray) -> None:
    """Write test_results.tsv as the original does: tabs, no header, no ids.

    Args:
        path: file to write.
        numbers: float32 [n, labels], or values [n].
    """
    numbers = np.asarray(numbers)
    with atomic_write(path) as file:
        file.writelines("\t".join(cells) + "\n" for cells in number_cells(numbers.reshape(len(numbers), -1)))


def text_columns(texts: TextPairs) -> dict[str, Column]:
    """Return the column text, and text_b if there are pairs."""
    columns: dict[str, Column] = {"text": TextColumn([text_a for text_a, _ in texts])}
    if any(text_b is not None for _, text_b in texts):
        columns["text_b"] = TextColumn([text_b for _, text_b in texts])
    return columns


def write_table(path: str, columns: Mapping[str, Column], output_format: str) -> None:
    r"""Write columns with n entries each, whole or not at all.

    tsv, csv  a header, then one line per row, quoted as in RFC 4180 if needed. A tab or line end inside a text
              becomes a space, so each text stays in one cell for pandas.read_csv(path, sep="\\t") and for
              csv.reader(file, delimiter="\\t"). pandas keeps texts such as NA or 1.0 as texts with
              keep_default_na=False, dtype={"text": str}.
    jsonl     an object per row: unchanged texts, and probabilities as {"name": number} under "probabilities".

    Args:
        path: file to write.
        columns: columns by name.
        output_format: tsv, csv or jsonl.

    Raises:
        ValueError: columns have different lengths.
        InputError: a number is NaN.
    """
    for column in columns.values():
        # Check before opening the file: a model that predicts NaN must not leave a half-written
        # table.
        column.check()
    with atomic_write(path) as file:
        _WRITERS[output_format](file, columns)


def _write_json_lines(file: IO[str], columns: Mapping[str, Column]) -> None:
    for values in zip(*(column.records() for column in columns.values()), strict=True):
        file.write(json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n")


def _write_cells(file: IO[str], columns: Mapping[str, Column], delimiter: str) -> None:
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    headers = [column.headers(name) for name, column in columns.items()]
    for row in (headers, *zip(*(column.cells() for column in columns.values()), strict=True)):
        writer.writerow([cell.translate(_ONE_CELL) for cells in row for cell in cells])


# One row per value of --output_format, see settings.groups.TABLE_FORMATS.
_WRITERS: dict[str, Callable[[IO[str], Mapping[str, Column]], None]] = {
    "tsv": functools.partial(_write_cells, delimiter="\t"),
    "csv": functools.partial(_write_cells, delimiter=","),
    "jsonl": _write_json_lines,
}


def write_ranking(path: str, rows: np.ndarray, columns: Mapping[str, Column]) -> None:
    """Write to_label.tsv: texts with their predictions, least certain first.

    Args:
        path: file to write.
        rows: numbers of the rows to write, in their order.
        columns: columns of all rows.
    """
    write_table(path, {name: column.take(rows) for name, column in columns.items()}, "tsv")
    LOG.info("wrote %s: %d texts, the least certain first", path, len(rows))


# Range of STS-B scores.
_LOWEST, _HIGHEST = 0.0, 5.0


def write_glue_submission(path: str, ids: Sequence[str], predictions: Sequence[str | float]) -> None:
    """Write a file for gluebenchmark.com: the header `index`, `prediction`, then one line per row.

    Args:
        path: <name>.tsv, named as on the leaderboard: CoLA, SST-2, MRPC, STS-B, QQP, MNLI-m,
            MNLI-mm, QNLI, RTE, WNLI or AX.
        ids: the test file's column `index`.
        predictions: label names, or scores, which are clipped to 0…5 and have three decimals.

    Raises:
        InputError: an id is not a whole number, or is used twice.
    """
    seen: set[int] = set()
    for row, row_id in enumerate(ids, 1):
        if not (row_id.isascii() and row_id.isdigit() and len(row_id) < 20):
            raise InputError(
                f"--glue_submission: the id {row_id!r} of row {row} is not a whole number; the "
                "leaderboard needs the column index of the test file as the benchmark ships it"
            )
        # Compare by value: 7 and 07 are the same index on the leaderboard.
        if int(row_id) in seen:
            raise InputError(f"--glue_submission: the id {row_id} of row {row} is used before; give each row its own")
        seen.add(int(row_id))
    with atomic_write(path) as file:
        file.write("index\tprediction\n")
        file.writelines(f"{row_id}\t{_cell(value)}\n" for row_id, value in zip(ids, predictions, strict=True))


def _cell(value: str | float) -> str:
    return value if isinstance(value, str) else f"{min(max(value, _LOWEST), _HIGHEST):.3f}"
