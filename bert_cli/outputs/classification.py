"""Result files of the classification tasks."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bert_cli.base.writing import atomic_write
from bert_cli.metrics.classification import check_numbers
from bert_cli.metrics.multi_label import over_thresholds

# A row is a line, also for readers that know nothing of quotes. The tokenizer takes each of these for a space.
_ONE_CELL = str.maketrans("\t\n\r", "   ")

Texts = Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Probabilities:
    """float32 [n, names]: in a table a column prob_<name> for each name, in JSON an object."""

    names: Sequence[str]
    rows: np.ndarray


Column = Sequence[str | None] | Sequence[list[str]] | np.ndarray | Probabilities


def _number_cells(numbers: np.ndarray) -> list[list[str]]:
    """Every value as the shortest decimal that gives the same float32: 0.9987654, 1.234e-05."""
    # str, not repr: since NumPy 2 the repr of a scalar is `np.float32(0.5)`.
    return [[str(value) for value in row] for row in np.asarray(numbers, np.float32)]


def shares(names: Sequence[str], probabilities: np.ndarray) -> dict[str, float]:
    """{name: probability}, ready for JSON, each as the shortest decimal that gives the same float32; float32 [names]."""
    cells = _number_cells(probabilities[np.newaxis])[0]
    return {name: float(cell) for name, cell in zip(names, cells, strict=True)}


def write_test_results(path: str, numbers: np.ndarray) -> None:
    """Write test_results.tsv as the original does, tabs between, no header, no ids: float32 [n, labels], or values [n]."""
    numbers = np.asarray(numbers)
    with atomic_write(path) as file:
        file.writelines("\t".join(cells) + "\n" for cells in _number_cells(numbers.reshape(len(numbers), -1)))


def write_predictions(
    path: str,
    ids: Sequence[str],
    texts: Texts,
    label_names: Sequence[str],
    probabilities: np.ndarray,
    output_format: str = "tsv",
) -> None:
    """Write the predictions of n examples in the order given; `output_format`: see write_table.

    Columns: id, label (the most probable one), prob_<name> for each label (as in test_results.tsv), text, and text_b
    where the texts are pairs. `texts` holds (text_a, text_b or None), `probabilities` is float32 [n, labels].
    """
    best = np.asarray(probabilities).argmax(axis=1) if len(ids) else []
    found: dict[str, Column] = {
        "label": [label_names[index] for index in best],
        "probabilities": Probabilities(label_names, probabilities),
    }
    write_table(path, {"id": ids, **found, **text_columns(texts)}, output_format)


def write_multi_label_predictions(
    path: str,
    ids: Sequence[str],
    texts: Texts,
    label_names: Sequence[str],
    probabilities: np.ndarray,
    thresholds: np.ndarray,
    output_format: str = "tsv",
) -> None:
    """As write_predictions, with a column `labels`: those at or above their threshold (float [labels]), in their order.

    Their names stand with "," between them, in jsonl as a list.
    """
    labels = [
        [name for name, is_over in zip(label_names, row, strict=True) if is_over]
        for row in over_thresholds(probabilities, thresholds)
    ]
    found: dict[str, Column] = {"labels": labels, "probabilities": Probabilities(label_names, probabilities)}
    write_table(path, {"id": ids, **found, **text_columns(texts)}, output_format)


def write_value_predictions(
    path: str, ids: Sequence[str], texts: Texts, values: np.ndarray, output_format: str = "tsv"
) -> None:
    """As write_predictions, with a column `value` alone: the numbers of a regression, float32 [n]."""
    write_table(path, {"id": ids, "value": np.asarray(values, np.float32), **text_columns(texts)}, output_format)


def write_choice_predictions(
    path: str,
    ids: Sequence[str],
    contexts: Sequence[str],
    endings: Sequence[Sequence[str]],
    probabilities: np.ndarray,
    output_format: str = "tsv",
) -> None:
    """As write_predictions, for contexts of K endings each.

    Columns: id, label (the place of the most probable ending, from 0), prob_0 and so on (`probabilities`, float32 [n, K]),
    text (the context) and ending (the words of the most probable one).
    """
    best = np.asarray(probabilities).argmax(axis=1).tolist() if len(ids) else []
    names = [str(place) for place in range(np.shape(probabilities)[1])]
    found: dict[str, Column] = {
        "label": [str(place) for place in best],
        "probabilities": Probabilities(names, probabilities),
    }
    chosen = [own[place] for own, place in zip(endings, best, strict=True)]
    write_table(path, {"id": ids, **found, "text": contexts, "ending": chosen}, output_format)


def text_columns(texts: Texts) -> dict[str, Column]:
    """The columns text, and text_b where there are pairs."""
    columns: dict[str, Column] = {"text": [text_a for text_a, _ in texts]}
    if any(text_b is not None for _, text_b in texts):
        columns["text_b"] = [text_b for _, text_b in texts]
    return columns


def write_table(path: str, columns: Mapping[str, Column], output_format: str) -> None:
    """Write columns of n entries, whole or not at all: strings, None, lists of strings, or float32.

    tsv, csv  a header, then one line for each row, quoted as in RFC 4180 where it must be. A tab or line end inside a text
              becomes a space, so each text is read back, in one cell, by pandas.read_csv(path, sep="\\t") and by
              csv.reader(file, delimiter="\\t"). Texts such as NA or 1.0 stay texts for pandas with keep_default_na=False,
              dtype={"text": str}.
    jsonl     an object for each row: texts as they are, probabilities as {"name": number} under "probabilities".

    ValueError for columns of differing lengths, InputError for NaN.
    """
    for column in columns.values():
        if isinstance(column, Probabilities | np.ndarray):
            check_numbers(column.rows if isinstance(column, Probabilities) else column)
    with atomic_write(path) as file:
        if output_format == "jsonl":
            for values in zip(*map(_values, columns.values()), strict=True):
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
        return _number_cells(column.rows)
    if isinstance(column, np.ndarray):
        return _number_cells(column[:, None])
    return [[",".join(value) if isinstance(value, list) else value or ""] for value in column]


def _values(column: Column) -> list:
    """What each row has of a column, for JSON."""
    if isinstance(column, Probabilities):
        return [dict(zip(column.names, map(float, cells), strict=True)) for cells in _number_cells(column.rows)]
    if isinstance(column, np.ndarray):
        return [float(cell) for [cell] in _number_cells(column[:, None])]
    return list(column)
