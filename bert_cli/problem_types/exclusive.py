"""Single-label classification and multiple choice: a softmax, and exactly one right output."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE
from bert_cli.base.messages import more
from bert_cli.metrics import classification
from bert_cli.metrics.calibration import reliability
from bert_cli.problem_types.columns import Column, LabelCells, Probabilities, significant
from bert_cli.problem_types.linear_models import logistic_probabilities
from bert_cli.problem_types.missing_labels import SKIP_ADVICE
from bert_cli.problem_types.problem_type import Found, LabelSet, ProblemType, Scores, Suspects

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Over the last axis, in the dtype of the logits."""
    # The largest logit becomes 0, so that no exponential overflows.
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


class Exclusive(ProblemType):
    """Exactly one output is right; its index is the label id."""

    is_exclusive = True

    def output_names(self, found: Found, labels: LabelSet) -> Sequence[str]:
        """What tables and records call the outputs."""
        return labels.names

    def constant_prediction(self, label_ids: np.ndarray, rows: int, outputs: int) -> np.ndarray:
        best = np.bincount(label_ids, minlength=outputs).argmax()
        return np.tile(np.eye(outputs)[best], (rows, 1))

    def guess_loss(self, label_ids: np.ndarray, outputs: int) -> float:
        return math.log(outputs)

    def collapse(self, found: Found, labels: LabelSet) -> str:
        best = np.unique(found["probabilities"].argmax(axis=1))
        name = self.output_names(found, labels)[best[0]]
        return f"every row gets the label {name}" if len(best) == 1 else ""

    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        # The loss comes from the logarithms: a probability that float32 rounds to 0 still has a
        # finite loss.
        logs = log_softmax(logits)
        return {
            "probabilities": np.exp(logs),
            "losses": -logs[np.arange(len(label_ids)), label_ids],
        }

    def decision_columns(self, found: Found, labels: LabelSet) -> dict[str, Column]:
        return {
            "label": [str(label) for label in self.decisions(found, labels)],
            "probabilities": Probabilities(self.output_names(found, labels), found["probabilities"]),
        }

    def keep_decisions(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        best = before.argmax(axis=1)
        rows = np.flatnonzero(after.argmax(axis=1) != best)
        after[rows, best[rows]] = np.nextafter(after[rows].max(axis=1), np.float32(2))
        return after

    def calibration_error(self, label_ids: np.ndarray, found: Found) -> float:
        """Of the probability of the predicted output."""
        probabilities = np.asarray(found["probabilities"], np.float64)
        return reliability(probabilities.max(axis=1), probabilities.argmax(axis=1) == label_ids).error

    def uncertainty(self, found: Found, labels: LabelSet) -> np.ndarray:
        """The probability of all other outputs."""
        probabilities = np.array(found["probabilities"], np.float64)
        # Summed, not 1 − the largest, which has lost its digits where it is next to 1.
        np.put_along_axis(probabilities, probabilities.argmax(axis=1)[:, np.newaxis], 0.0, axis=1)
        return probabilities.sum(axis=1)

    def is_wrong(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> np.ndarray:
        return found["probabilities"].argmax(axis=1) != label_ids

    def eval_columns(self, label_ids: np.ndarray, found: Found) -> dict[str, np.ndarray]:
        return {"label": label_ids, "probabilities": found["probabilities"]}

    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """The probability of the predicted output where another one is right."""
        # The report sorts mistakes by confidence: the worst mistake has the highest.
        most = max(row["probabilities"])
        return most if row["probabilities"].index(most) != row["label"] else 0.0

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        return 1.0 - row["probabilities"][row["label"]]


_LEAST = 1e-30  # a probability of 0 counts as this


class SingleLabel(Exclusive):
    """Labels are names; label_ids int32 [n], the index of the name."""

    name = "single_label"
    summary = "one label per text"
    metrics = ("eval_accuracy", "eval_mcc", "eval_f1", *classification.LOSSES)
    hugging_face = "single_label_classification"

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> list[str]:
        cells.check_one_column(self.name)
        empty = [line for line, row in zip(cells.lines, cells.rows, strict=True) if not row[0]]
        if empty:
            raise InputError(
                f"{cells.path}:{empty[0]}: the label is empty{more(empty)}; every row needs one; {SKIP_ADVICE}"
            )
        # A list with one name is read as that name, as JSON lines often have lists.
        named = [self.cell_labels(cells, row) for row in range(len(cells.rows))]
        several = [row for row, names in enumerate(named) if len(names) > 1]
        if several:
            raise InputError(
                f"{cells.path}:{cells.lines[several[0]]}: the list has "
                f"{len(named[several[0]])} labels{more(several)}, and --problem_type={self.name} "
                "takes one; give --problem_type=multi_label"
            )
        cells.check_known(named, labels)
        return [names[0] for names in named]

    def label_array(self, given: Sequence[str | None], labels: Sequence[str]) -> np.ndarray:
        # A row to predict has no label. The original feeds index 0 for it, and nobody reads its
        # loss.
        index = {label: number for number, label in enumerate(labels)}
        return np.array([0 if label is None else index[label] for label in given], np.int32)

    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(label_ids, minlength=count).astype(np.float64)

    def logits(self, probabilities: np.ndarray) -> np.ndarray:
        """Up to a constant in each row, which a softmax ignores."""
        # A probability of 0 has no logarithm; the smallest normal float32 is far below any that
        # matters.
        return np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))

    def linear_prediction(
        self, features: "csr_matrix", label_ids: np.ndarray, others: "csr_matrix", outputs: int
    ) -> np.ndarray:
        return logistic_probabilities(features, label_ids, outputs, others)

    def decisions(self, found: Found, labels: LabelSet) -> list[str]:
        """The most probable label, of equal ones the first."""
        return self.label_column(found["probabilities"].argmax(axis=1), labels)

    def explained_score(self, found: Found, labels: LabelSet) -> tuple[dict[str, object], np.ndarray]:
        """The log-odds of the most probable label against all others: of two labels, the difference
        of their logits.
        """
        label = int(found["probabilities"][0].argmax())
        probabilities = np.asarray(found["probabilities"], np.float64)
        own = probabilities[:, label]
        # Summed, not 1 − own, which has lost its digits where own is next to 1.
        others = np.delete(probabilities, label, axis=1).sum(axis=1)
        said = {
            "label": labels.names[label],
            "probability": significant(found["probabilities"][0, label]),
        }
        return said, np.log(np.maximum(own, _LEAST)) - np.log(np.maximum(others, _LEAST))

    def evaluate(self, label_ids: np.ndarray, found: Found, labels: LabelSet, batch_size: int) -> Scores:
        probabilities = found["probabilities"]
        results = classification.classification_metrics(
            label_ids, found["losses"], probabilities, labels.names, batch_size
        )
        details = classification.classification_report(label_ids, probabilities, labels.names)
        return Scores(results, details, classification.format_report(details))

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> list[str]:
        return [labels.names[label] for label in label_ids]

    def suspects(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> Suspects:
        """Rows with another most probable label than theirs; those with the least probability of
        theirs first.

        Columns: given, predicted, probability (of the given label); rows of equal probability stay
        in their order.
        """
        probabilities = found["probabilities"]
        best = probabilities.argmax(axis=1)
        differing = np.flatnonzero(best != label_ids)
        given_probability = probabilities[differing, label_ids[differing]]
        # A stable sort, so that equal probabilities stay in file order and a second run writes the
        # same file.
        rows = differing[np.argsort(given_probability, kind="stable")]
        given, predicted = (self.label_column(each[rows], labels) for each in (label_ids, best))
        probability = probabilities[rows, label_ids[rows]].astype(np.float32)
        return Suspects(rows.tolist(), {"given": given, "predicted": predicted, "probability": probability})


SINGLE_LABEL = SingleLabel()


class MultipleChoice(Exclusive):
    """Labels are indices of endings; label_ids int32 [n].

    The index of an ending is no class: a model with one output serves any number of endings. So
    there are no label names, no class weights and no suspected label errors, and examples.choice
    reads the labels.
    """

    name = "multiple_choice"
    summary = "multiple choice, one of --choice_columns"
    metrics = ("eval_accuracy", *classification.LOSSES)
    head_type = CHOICE
    has_endings = True
    distillation_refusal = "learns the probabilities of labels, which multiple choice does not have"
    class_weights_refusal = "is about labels, and the endings of a choice are none"

    def output_names(self, found: Found, labels: LabelSet) -> Sequence[str]:
        return [str(ending) for ending in range(found["probabilities"].shape[1])]

    def label_array(self, given: Sequence[int | None], labels: Sequence[str]) -> np.ndarray:
        return np.array([0 if label is None else label for label in given], np.int32)

    def decisions(self, found: Found, labels: LabelSet) -> list[int]:
        """The index of the most probable ending, of equal ones the first."""
        return found["probabilities"].argmax(axis=1).tolist()

    def evaluate(self, label_ids: np.ndarray, found: Found, labels: LabelSet, batch_size: int) -> Scores:
        results = classification.choice_metrics(label_ids, found["losses"], found["probabilities"], batch_size)
        return Scores(results, {}, [])


MULTIPLE_CHOICE = MultipleChoice()
