"""Single-label classification: each text has exactly one of L labels. Softmax and cross entropy."""

from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.messages import more
from bert_cli.metrics import classification
from bert_cli.problem_types.columns import Column, significant
from bert_cli.problem_types.exclusive import Exclusive
from bert_cli.problem_types.label_cells import LabelCells
from bert_cli.problem_types.problem_type import Found, LabelSet, Scores, Suspects, named_probabilities

_LEAST = 1e-30  # a probability of 0 counts as this


class SingleLabel(Exclusive):
    """Labels are names; label_ids int32 [n], the index of the name."""

    name = "single_label"
    summary = "one label of several"
    metrics = ("eval_accuracy", "eval_mcc", "eval_f1", *classification.LOSSES)
    hugging_face = "single_label_classification"

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> list[str]:
        cells.check_one_column(self.name)
        empty = [line for line, row in zip(cells.lines, cells.rows, strict=True) if not row[0]]
        if empty:
            raise InputError(f"{cells.path}:{empty[0]}: the label is empty{more(empty)}; every row needs one")
        # A JSON list with one name is read as that name, as JSON lines often have lists.
        named = [self.cell_labels(cells, row) for row in range(len(cells.rows))]
        cells.check_known(named, labels)
        return [names[0] for names in named]

    def label_array(self, given: Sequence[str | None], labels: Sequence[str]) -> np.ndarray:
        # A row to predict has no label. The original feeds index 0 for it, and nobody reads its loss.
        index = {label: number for number, label in enumerate(labels)}
        return np.array([0 if label is None else index[label] for label in given], np.int32)

    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(label_ids, minlength=count).astype(np.float64)

    def logits(self, probabilities: np.ndarray) -> np.ndarray:
        """Up to a constant in each row, which a softmax ignores."""
        # A probability of 0 has no logarithm; the smallest normal float32 is far below any that matters.
        return np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))

    def decisions(self, found: Found, labels: LabelSet) -> list[str]:
        """The most probable label, of equal ones the first."""
        return [labels.names[column] for column in found["probabilities"].argmax(axis=1)]

    def explained_score(self, found: Found, labels: LabelSet) -> tuple[dict[str, object], np.ndarray]:
        """The log-odds of the most probable label against all others: of two labels, the difference of their logits."""
        label = int(found["probabilities"][0].argmax())
        probabilities = np.asarray(found["probabilities"], np.float64)
        own = probabilities[:, label]
        # Summed, not 1 − own, which has lost its digits where own is next to 1.
        others = np.delete(probabilities, label, axis=1).sum(axis=1)
        said = {"label": labels.names[label], "probability": significant(found["probabilities"][0, label])}
        return said, np.log(np.maximum(own, _LEAST)) - np.log(np.maximum(others, _LEAST))

    def evaluate(self, label_ids: np.ndarray, found: Found, labels: LabelSet, batch_size: int) -> Scores:
        probabilities = found["probabilities"]
        results = classification.classification_metrics(
            label_ids, found["losses"], probabilities, labels.names, batch_size
        )
        details = classification.classification_report(label_ids, probabilities, labels.names)
        return Scores(results, details, classification.format_report(details))

    def out_of_fold(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> tuple[list[str], dict[str, Column]]:
        columns: dict[str, Column] = {"predicted": self.decisions(found, labels)}
        return [labels.names[label] for label in label_ids], columns | named_probabilities(found, labels)

    def suspects(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> Suspects:
        """Rows with another most probable label than theirs; those with the least probability of theirs first.

        Columns: given, predicted, probability (of the given label); rows of equal probability stay in their order.
        """
        probabilities = found["probabilities"]
        best = probabilities.argmax(axis=1)
        differing = np.flatnonzero(best != label_ids)
        given = probabilities[differing, label_ids[differing]]
        # A stable sort, so that equal probabilities stay in file order and a second run writes the same file.
        rows = differing[np.argsort(given, kind="stable")]
        columns: dict[str, Column] = {
            "given": [labels.names[label] for label in label_ids[rows]],
            "predicted": [labels.names[label] for label in best[rows]],
            "probability": probabilities[rows, label_ids[rows]].astype(np.float32),
        }
        return Suspects(rows.tolist(), columns)


SINGLE_LABEL = SingleLabel()
