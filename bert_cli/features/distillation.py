"""The features of a classifier that also learns what another one says of each row."""

import dataclasses
from typing import Any

import numpy as np

from bert_cli.base.head_types import MULTI_LABEL
from bert_cli.features.classification import ClassificationFeatures

_LEAST = 1e-7  # a probability that float32 can tell from 0, and 1 less it from 1


@dataclasses.dataclass(frozen=True)
class DistillationFeatures(ClassificationFeatures):
    """ClassificationFeatures of n examples, with what their teacher says.

    teacher_logits  float32 [n, L], see logits_of
    has_label       float32 [n], 1 for an example with a label, 0 for one without
    """

    teacher_logits: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, 0), np.float32))
    has_label: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.float32))

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """The columns of ClassificationFeatures and spec.DISTILLATION."""
        found = {"teacher_logits": self.teacher_logits[rows], "has_label": self.has_label[rows]}
        return super().batch(rows, width) | found


def with_teacher(features: ClassificationFeatures, logits: np.ndarray, labelled: int) -> DistillationFeatures:
    """The features with a teacher's logits, float32 [n, L]; the first `labelled` of the examples have labels."""
    values: dict[str, Any] = {field.name: getattr(features, field.name) for field in dataclasses.fields(features)}
    has_label = (np.arange(len(features)) < labelled).astype(np.float32)
    return DistillationFeatures(**values, teacher_logits=logits, has_label=has_label)


def logits_of(probabilities: np.ndarray, problem_type: str) -> np.ndarray:
    """float32 [n, L] -> logits of these probabilities: up to a number for each row, where labels exclude each other."""
    if problem_type == MULTI_LABEL:
        clipped = np.clip(probabilities.astype(np.float64), _LEAST, 1 - _LEAST)
        return (np.log(clipped) - np.log1p(-clipped)).astype(np.float32)
    return np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))
