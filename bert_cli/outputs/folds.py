"""Files of a cross-validation: a prediction for every training row by a model that has not seen it, and doubtful labels."""

from collections.abc import Sequence

import numpy as np

from bert_cli.outputs.classification import Column, Texts, text_columns, write_table


def disputed(label_ids: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The rows whose most probable label is another than theirs, those with the least probability of theirs first.

    label_ids int [n], probabilities float [n, labels] -> int64 [disputed]; rows of equal probability in their order.
    """
    rows = np.flatnonzero(probabilities.argmax(axis=1) != label_ids)
    return rows[np.argsort(probabilities[rows, label_ids[rows]], kind="stable")]


def disputed_pairs(has: np.ndarray, probabilities: np.ndarray, thresholds: np.ndarray) -> list[tuple[int, int]]:
    """(row, label) of each label that a row is said to have and is not predicted, or the other way, of labels that do not
    exclude each other; those whose statement has the least probability first.

    has bool [n, labels], probabilities float [n, labels], thresholds float [labels].
    """
    rows, columns = np.nonzero(has != (probabilities >= thresholds))
    stated = np.where(has, probabilities, 1.0 - probabilities)[rows, columns]
    order = np.argsort(stated, kind="stable")
    return list(zip(rows[order].tolist(), columns[order].tolist(), strict=True))


def _taken(texts: Texts, rows: Sequence[int]) -> dict[str, Column]:
    return text_columns([texts[row] for row in rows])


def write_folds(
    path: str, ids: Sequence[str], folds: np.ndarray, given: Sequence[str], found: dict[str, Column], texts: Texts
) -> None:
    """Write out_of_fold.tsv: id, fold (from 1), given (the label of the data), what was `found` of each row, text."""
    numbers = [str(fold + 1) for fold in folds.tolist()]
    write_table(path, {"id": ids, "fold": numbers, "given": given, **found, **text_columns(texts)}, "tsv")


def write_suspects_of_labels(
    path: str, ids: Sequence[str], label_ids: np.ndarray, probabilities: np.ndarray, names: Sequence[str], texts: Texts
) -> int:
    """Write suspects.tsv for labels that exclude each other; returns the number of rows. See `disputed`.

    Columns: id, given (the label of the data), predicted, probability (of the given label), text.
    """
    rows = disputed(label_ids, probabilities).tolist()
    best = probabilities.argmax(axis=1)
    columns: dict[str, Column] = {
        "id": [ids[row] for row in rows],
        "given": [names[label_ids[row]] for row in rows],
        "predicted": [names[best[row]] for row in rows],
        "probability": probabilities[rows, label_ids[rows]].astype(np.float32),
    }
    write_table(path, columns | _taken(texts, rows), "tsv")
    return len(rows)


def write_suspects_of_pairs(
    path: str,
    ids: Sequence[str],
    has: np.ndarray,
    probabilities: np.ndarray,
    thresholds: np.ndarray,
    names: Sequence[str],
    texts: Texts,
) -> int:
    """The same for labels that do not exclude each other, a line for each label of a row. See `disputed_pairs`.

    Columns: id, label, given and predicted (yes or no), probability (of what is given), text.
    """
    pairs = disputed_pairs(has, probabilities, thresholds)
    rows, columns_of = [row for row, _ in pairs], [column for _, column in pairs]
    words = {True: "yes", False: "no"}
    stated = np.where(has, probabilities, 1.0 - probabilities)[rows, columns_of]
    columns: dict[str, Column] = {
        "id": [ids[row] for row in rows],
        "label": [names[column] for column in columns_of],
        "given": [words[bool(has[pair])] for pair in pairs],
        "predicted": [words[not has[pair]] for pair in pairs],
        "probability": stated.astype(np.float32),
    }
    write_table(path, columns | _taken(texts, rows), "tsv")
    return len(pairs)


def write_suspects_of_values(path: str, ids: Sequence[str], given: np.ndarray, values: np.ndarray, texts: Texts) -> int:
    """The same for numbers: every row, those that are furthest from their number first.

    Columns: id, given, predicted, difference (predicted minus given), text; given and values float32 [n].
    """
    rows = np.argsort(-np.abs(values - given), kind="stable").tolist()
    columns: dict[str, Column] = {
        "id": [ids[row] for row in rows],
        "given": given[rows].astype(np.float32),
        "predicted": values[rows].astype(np.float32),
        "difference": (values - given)[rows].astype(np.float32),
    }
    write_table(path, columns | _taken(texts, rows), "tsv")
    return len(rows)
