"""Single-label classification: exactly one label per text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more
from bert_cli.metrics import classification
from bert_cli.problem_types.columns import SKIP_ADVICE, Column, LabelCells, NumberColumn, TextColumn, significant
from bert_cli.problem_types.exclusive import ExclusiveColumns, ExclusiveDecoder, ExclusiveMetrics
from bert_cli.problem_types.linear_models import logistic_probabilities
from bert_cli.problem_types.parts import LabelReader, LabelSet, Predictions, Scores, Suspects
from bert_cli.problem_types.problem_type import ProblemType

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_NAME = "single_label"
_LEAST = 1e-30  # smallest probability, so that 0 has a logarithm


def _label_names(label_ids: np.ndarray, labels: LabelSet) -> list[str]:
    return [labels.names[label] for label in label_ids]


class SingleLabelReader(LabelReader):
    """Reader of names; label_ids int32 [n] are indices into the label names."""

    def parse(self, cells: LabelCells, labels: Sequence[str]) -> list[str]:
        cells.check_one_column(_NAME)
        empty = [line for line, row in zip(cells.lines, cells.rows, strict=True) if not row[0]]
        if empty:
            raise InputError(
                f"{cells.path}:{empty[0]}: the label is empty{count_more(empty)}; every row needs one; {SKIP_ADVICE}"
            )
        # Accept a list with one name: labels in JSON lines are often lists.
        row_labels = [self.cell_labels(cells, row) for row in range(len(cells.rows))]
        several = [row for row, names in enumerate(row_labels) if len(names) > 1]
        if several:
            raise InputError(
                f"{cells.path}:{cells.lines[several[0]]}: the list has "
                f"{len(row_labels[several[0]])} labels{count_more(several)}, and --problem_type={_NAME} "
                "takes one; give --problem_type=multi_label"
            )
        cells.check_known(row_labels, labels)
        return [names[0] for names in row_labels]

    def label_array(self, row_labels: Sequence[str | None], labels: Sequence[str]) -> np.ndarray:
        # A row to predict has no label. Use index 0 as the original does; its loss is never read.
        index = {label: number for number, label in enumerate(labels)}
        return np.array([0 if label is None else index[label] for label in row_labels], np.int32)

    def label_counts(self, label_ids: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(label_ids, minlength=count).astype(np.float64)


class SingleLabelDecoder(ExclusiveDecoder):
    """Decoder of a softmax over label names."""

    def logits(self, probabilities: np.ndarray) -> np.ndarray:
        """Return logits up to a constant per row, which a softmax ignores."""
        # A probability of 0 has no logarithm. The smallest normal float32 is far below any value
        # that matters.
        return np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))

    def decisions(self, predictions: Predictions, labels: LabelSet) -> list[str]:
        """Return each row's most probable label, the first one in a tie."""
        return _label_names(predictions["probabilities"].argmax(axis=1), labels)

    def explained_score(self, predictions: Predictions, labels: LabelSet) -> tuple[dict[str, object], np.ndarray]:
        """Return the prediction, and its log-odds against the other labels.

        With two labels this is the difference between their logits.
        """
        label = int(predictions["probabilities"][0].argmax())
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        probability = probabilities[:, label]
        # Sum instead of 1 - probability, which has lost its digits next to 1.
        rest = np.delete(probabilities, label, axis=1).sum(axis=1)
        prediction = {
            "label": labels.names[label],
            "probability": significant(predictions["probabilities"][0, label]),
        }
        return prediction, np.log(np.maximum(probability, _LEAST)) - np.log(np.maximum(rest, _LEAST))


class SingleLabelMetrics(ExclusiveMetrics):
    """Scores of all labels, and of each."""

    names: tuple[str, ...] = ("eval_accuracy", "eval_mcc", "eval_f1", *classification.LOSSES)

    def evaluate(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet, batch_size: int) -> Scores:
        probabilities = predictions["probabilities"]
        results = classification.classification_metrics(
            label_ids, predictions["losses"], probabilities, labels.names, batch_size
        )
        details = classification.classification_report(label_ids, probabilities, labels.names)
        return Scores(results, details, classification.format_report(details))

    def linear_prediction(
        self, features: "csr_matrix", label_ids: np.ndarray, test_features: "csr_matrix", outputs: int
    ) -> np.ndarray:
        return logistic_probabilities(features, label_ids, outputs, test_features)


class SingleLabelColumns(ExclusiveColumns):
    """Columns with label names."""

    def label_column(self, label_ids: np.ndarray, labels: LabelSet) -> Column:
        return TextColumn(_label_names(label_ids, labels))

    def suspects(self, label_ids: np.ndarray, predictions: Predictions, labels: LabelSet) -> Suspects:
        """Return rows with a label that is not the most probable one, least probable label first.

        The columns are given, predicted and probability (of the given label). Ties keep the row
        order.

        Args:
            label_ids: the given labels, int32 [n].
            predictions: predictions of models that had not seen the rows.
            labels: label names.
        """
        probabilities = predictions["probabilities"]
        best = probabilities.argmax(axis=1)
        differing = np.flatnonzero(best != label_ids)
        gold_probability = probabilities[differing, label_ids[differing]]
        # Sort stably: equal probabilities stay in file order, and a second run writes the same
        # file.
        rows = differing[np.argsort(gold_probability, kind="stable")]
        gold, predicted = (self.label_column(ids[rows], labels) for ids in (label_ids, best))
        probability = NumberColumn(probabilities[rows, label_ids[rows]].astype(np.float32))
        return Suspects(rows.tolist(), {"given": gold, "predicted": predicted, "probability": probability})


_DECODER = SingleLabelDecoder()
SINGLE_LABEL = ProblemType(
    _NAME,
    "one label per text",
    SingleLabelReader(),
    _DECODER,
    SingleLabelMetrics(),
    SingleLabelColumns(_DECODER),
    hugging_face="single_label_classification",
)
