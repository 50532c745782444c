"""What single-label classification and multiple choice share: a softmax, and one right output."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_cli.problem_types.columns import Column, Probabilities, probability_record, significant
from bert_cli.problem_types.problem_type import EvalRows, Found, LabelSet, ProblemType


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

    def postprocess(self, logits: np.ndarray, label_ids: np.ndarray) -> dict[str, np.ndarray]:
        # The loss comes from the logarithms: a probability that float32 rounds to 0 still has a finite loss.
        logs = log_softmax(logits)
        return {"probabilities": np.exp(logs), "losses": -logs[np.arange(len(label_ids)), label_ids]}

    def record(self, found: Found, row: int, labels: LabelSet) -> dict[str, object]:
        """{"label", "probabilities": {name: number}}"""
        own = {"probabilities": found["probabilities"][row : row + 1]}
        names = self.output_names(own, labels)
        return {
            "label": self.decisions(own, labels)[0],
            "probabilities": probability_record(names, found["probabilities"][row]),
        }

    def prediction_columns(self, found: Found, labels: LabelSet) -> dict[str, Column]:
        return {
            "label": [str(label) for label in self.decisions(found, labels)],
            "probabilities": Probabilities(self.output_names(found, labels), found["probabilities"]),
        }

    def eval_rows(self, label_ids: np.ndarray, found: Found, labels: LabelSet) -> EvalRows:
        probabilities, wanted = np.asarray(found["probabilities"], np.float64), np.asarray(label_ids)
        # Confidence is what orders mistakes in the report: the worst mistake is the surest one.
        wrong = np.where(probabilities.argmax(axis=1) != wanted, probabilities.max(axis=1), 0.0)
        rows = [
            {"label": int(label), "probabilities": [significant(each) for each in row]}
            for label, row in zip(wanted, probabilities.tolist(), strict=True)
        ]
        return rows, wrong

    def row_error(self, row: Mapping[str, Any], thresholds: Sequence[float]) -> float:
        """The probability of the predicted output where another one is right."""
        best = int(np.argmax(row["probabilities"]))
        return row["probabilities"][best] if best != row["label"] else 0.0

    def row_surprise(self, row: Mapping[str, Any]) -> float:
        return 1.0 - row["probabilities"][row["label"]]
