"""The teacher of --distill_from: a trained classifier, and what it says of the training data, computed once for a run."""

import dataclasses
import logging
import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import TEACHER
from bert_cli.base.writing import atomic_write
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.choice import ChoiceFeatures
from bert_cli.features.classification import ClassificationFeatures, DistillationFeatures, joined, with_teacher
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.tasks.classification.split import Split

LOG = logging.getLogger("bert_cli")
_TRAINED = ("train", "unlabeled")
Features = ClassificationFeatures | ChoiceFeatures


def trained_features(splits: Mapping[str, Split]) -> Features:
    """The features of all that is trained on: the train split, and behind it texts without labels."""
    train, more = splits["train"].features, splits["unlabeled"].features if "unlabeled" in splits else None
    if isinstance(train, ClassificationFeatures) and isinstance(more, ClassificationFeatures):
        return joined(train, more)
    return train


@dataclasses.dataclass(frozen=True)
class Teacher:
    """A trained classifier whose probabilities a student learns.

    identity: what the manifest of a run calls it. predict(examples): its probabilities, float32 [n, outputs]. columns: its
    outputs that belong to the student's labels, in their order.
    """

    identity: str
    predict: Callable[[Sequence[ClassificationExample]], np.ndarray]
    columns: list[int]
    problem_type: ProblemType

    def logits(self, examples: Sequence[ClassificationExample]) -> np.ndarray:
        """float32 [n, L] of examples, in the student's order of labels; see ProblemType.logits."""
        return self.problem_type.logits(self.predict(examples)[:, self.columns])

    def teach(
        self, features: Features, splits: Mapping[str, Split], folder: str | None, resumes: bool, writes: bool
    ) -> DistillationFeatures:
        """trained_features, with the teacher's logits of each example.

        folder, resumes, writes: see kept_logits; a dry run has no folder, and any logits are as good for it.
        """
        assert isinstance(features, ClassificationFeatures), "check_student refuses multiple choice"
        if folder is None:
            LOG.info("the time that is told is without that of the teacher, which sees each row once")
            logits = np.zeros((len(features), len(self.columns)), np.float32)
        else:
            # In the order of trained_features.
            examples = [example for name in _TRAINED if name in splits for example in splits[name].texts]
            logits = self.kept_logits(examples, folder, resumes, writes)
        return with_teacher(features, logits, len(splits["train"].examples))

    def kept_logits(
        self, examples: Sequence[ClassificationExample], folder: str, resumes: bool, writes: bool
    ) -> np.ndarray:
        """`logits`, which a run that starts computes and leaves in its folder, and one that goes on finds there."""
        path = os.path.join(folder, TEACHER)
        if resumes and files.exists(path):
            return read_logits(path, (len(examples), len(self.columns)))
        found = self.logits(examples)
        if writes:
            with atomic_write(path, "wb") as file:
                np.save(file, found)
        return found


def read_logits(path: str, shape: tuple[int, int]) -> np.ndarray:
    """What a run has kept; InputError where it is damaged, or of other rows."""
    try:
        with files.open_binary(path) as file:
            found = np.load(file, allow_pickle=False)
    except (ValueError, EOFError):
        found = None
    if not isinstance(found, np.ndarray) or found.dtype != np.float32 or found.shape != shape:
        raise InputError(f"{path}: is not what this run has kept of its teacher; remove it, and it is computed again")
    return found


def check_student(problem_type: ProblemType) -> None:
    """InputError for a problem type whose models have no probabilities of labels."""
    if problem_type.distillation_refusal:
        raise InputError(f"--distill_from: {problem_type.distillation_refusal}")
