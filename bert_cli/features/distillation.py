"""The features of a classifier that also learns the predictions of its teacher."""

import dataclasses
from typing import Any

import numpy as np

from bert_cli.features.classification import ClassificationFeatures


@dataclasses.dataclass(frozen=True)
class DistillationFeatures(ClassificationFeatures):
    """ClassificationFeatures of n examples, with the predictions of their teacher.

    teacher_logits  float32 [n, L], see ProblemType.logits
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
    # Labelled examples come first, see runs.tasks.classification.distillation.trained_features.
    has_label = (np.arange(len(features)) < labelled).astype(np.float32)
    return DistillationFeatures(**values, teacher_logits=logits, has_label=has_label)
