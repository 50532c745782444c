"""Result files of the classification tasks."""

from collections.abc import Sequence

import numpy as np

from bert_cli.base.writing import atomic_write

# A tab or a line end in a text would break its row. The tokenizer takes each of them for a space.
_ONE_CELL = str.maketrans("\t\n\r", "   ")


def _number_cells(probabilities: np.ndarray) -> list[list[str]]:
    """Every value as the shortest decimal that gives the same float32: 0.9987654, 1.234e-05."""
    # str, not repr: since NumPy 2 the repr of a scalar is `np.float32(0.5)`.
    return [[str(value) for value in row] for row in np.asarray(probabilities, np.float32)]


def classification_record(
    text: str, text_b: str | None, label_names: Sequence[str], probabilities: np.ndarray
) -> dict[str, object]:
    """{"text", "text_b" (of a pair), "label", "probabilities": {label: number}}, ready for JSON; float32 [labels]."""
    cells = _number_cells(probabilities[np.newaxis])[0]
    pair = {} if text_b is None else {"text_b": text_b}
    shares = {name: float(cell) for name, cell in zip(label_names, cells, strict=True)}
    return {"text": text} | pair | {"label": label_names[int(probabilities.argmax())], "probabilities": shares}


def write_test_results(path: str, probabilities: np.ndarray) -> None:
    """Write test_results.tsv as the original does: float32 [n, labels], tabs between, no header, no ids."""
    with atomic_write(path) as file:
        file.writelines("\t".join(cells) + "\n" for cells in _number_cells(probabilities))


def write_predictions(
    path: str,
    guids: Sequence[str],
    texts: Sequence[tuple[str, str | None]],
    label_names: Sequence[str],
    probabilities: np.ndarray,
) -> None:
    """Write predictions.tsv: a header, then one row for each example in the order given.

    Columns: id, label (the most probable one), prob_<name> for each label (as in test_results.tsv), text, and text_b
    where the texts are pairs. `texts` holds (text_a, text_b or None), `probabilities` is float32 [n, labels]. Nothing
    is quoted; a tab or line end inside a text becomes a space. To read it with pandas:
    `pandas.read_csv(path, sep="\\t", quoting=csv.QUOTE_NONE, keep_default_na=False)`.
    """
    best = np.asarray(probabilities).argmax(axis=1) if len(guids) else []
    pairs = any(text_b is not None for _, text_b in texts)
    header = ["id", "label", *(f"prob_{name}" for name in label_names), "text", *(["text_b"] if pairs else [])]
    with atomic_write(path) as file:
        file.write("\t".join(header) + "\n")
        rows = zip(guids, best, _number_cells(probabilities), texts, strict=True)
        for guid, index, numbers, (text_a, text_b) in rows:
            cells = [guid, label_names[index], *numbers, text_a, *([text_b or ""] if pairs else [])]
            file.write("\t".join(cell.translate(_ONE_CELL) for cell in cells) + "\n")
