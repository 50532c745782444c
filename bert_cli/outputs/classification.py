"""Result files of bert-classify: tables of the columns that a problem type gives, and files for the
leaderboard of GLUE.
"""

import csv
import json
from collections.abc import Mapping, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.writing import atomic_write
from bert_cli.metrics.classification import check_numbers
from bert_cli.problem_types.columns import Column, Probabilities, json_values, number_cells

# A row is a line, also for readers that know nothing of quotes. The tokenizer takes each of these
# for a space.
_ONE_CELL = str.maketrans("\t\n\r", "   ")

Texts = Sequence[tuple[str, str | None]]


def write_test_results(path: str, numbers: np.ndarray) -> None:
    """Write test_results.tsv as the original does, tabs between, no header, no ids: float32 [n,
    labels], or values [n].
    """
    numbers = np.asarray(numbers)
    with atomic_write(path) as file:
        file.writelines("\t".join(cells) + "\n" for cells in number_cells(numbers.reshape(len(numbers), -1)))


def text_columns(texts: Texts) -> dict[str, Column]:
    """The columns text, and text_b where there are pairs."""
    columns: dict[str, Column] = {"text": [text_a for text_a, _ in texts]}
    if any(text_b is not None for _, text_b in texts):
        columns["text_b"] = [text_b for _, text_b in texts]
    return columns


def write_table(path: str, columns: Mapping[str, Column], output_format: str) -> None:
    """Write columns of n entries, whole or not at all: strings, None, lists of strings,
    float32, or bool (in JSON true or false, else yes or no).

    tsv, csv  a header, then one line for each row, quoted as in RFC 4180 where it must be. A tab or line end inside a text
              becomes a space, so each text is read back, in one cell, by pandas.read_csv(path, sep="\\t") and by
              csv.reader(file, delimiter="\\t"). Texts such as NA or 1.0 stay texts for pandas with keep_default_na=False,
              dtype={"text": str}.
    jsonl     an object for each row: texts as they are, probabilities as {"name": number} under "probabilities".

    ValueError for columns of differing lengths, InputError for NaN.
    """
    for column in columns.values():
        if isinstance(column, Probabilities | np.ndarray):
            # Before the file is opened: a model that gives NaN leaves no half-written table.
            check_numbers(column.rows if isinstance(column, Probabilities) else column)
    with atomic_write(path) as file:
        if output_format == "jsonl":
            for values in zip(*map(json_values, columns.values()), strict=True):
                file.write(json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n")
            return
        writer = csv.writer(file, delimiter="\t" if output_format == "tsv" else ",", lineterminator="\n")
        headers = (
            [f"prob_{each}" for each in column.names] if isinstance(column, Probabilities) else [name]
            for name, column in columns.items()
        )
        for row in ([*headers], *zip(*map(_cells, columns.values()), strict=True)):
            writer.writerow([cell.translate(_ONE_CELL) for cells in row for cell in cells])


def _cells(column: Column) -> list[list[str]]:
    """What each row has of a column, in a table."""
    if isinstance(column, Probabilities):
        return number_cells(column.rows)
    if isinstance(column, np.ndarray) and column.dtype == bool:
        return [["yes" if value else "no"] for value in column]
    if isinstance(column, np.ndarray):
        return number_cells(column[:, None])
    return [[",".join(value) if isinstance(value, list) else value or ""] for value in column]


# The scores of STS-B.
_LOWEST, _HIGHEST = 0.0, 5.0


def write_glue_submission(path: str, ids: Sequence[str], predictions: Sequence[str | float]) -> None:
    """Write a file as gluebenchmark.com takes it: the header `index`, `prediction`, then a row for
    each.

    path: of <name>.tsv; name: CoLA, SST-2, MRPC, STS-B, QQP, MNLI-m, MNLI-mm, QNLI, RTE, WNLI or
    AX, as the leaderboard calls the task's file. ids: the column `index` of the test file.
    predictions: the labels' names, or, where they are numbers, scores, which are brought into 0…5
    and written with three decimals. InputError for an id that is not a whole number, or that comes
    twice.
    """
    seen: set[int] = set()
    for row, given in enumerate(ids, 1):
        if not (given.isascii() and given.isdigit() and len(given) < 20):
            raise InputError(
                f"--glue_submission: the id {given!r} of row {row} is not a whole number; the "
                "leaderboard needs the column index of the test file as the benchmark ships it"
            )
        # By value: 7 and 07 are one index to the leaderboard.
        if int(given) in seen:
            raise InputError(f"--glue_submission: the id {given} of row {row} is used before; give each row its own")
        seen.add(int(given))
    with atomic_write(path) as file:
        file.write("index\tprediction\n")
        file.writelines(f"{given}\t{_cell(value)}\n" for given, value in zip(ids, predictions, strict=True))


def _cell(value: str | float) -> str:
    return value if isinstance(value, str) else f"{min(max(value, _LOWEST), _HIGHEST):.3f}"
