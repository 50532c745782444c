"""The teacher of --distill_from: a trained classifier, and what it says of the training data,
computed once for a run.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import TEACHER
from bert_cli.base.writing import atomic_write
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import ClassificationFeatures, DistillationFeatures, with_teacher
from bert_cli.problem_types.problem_type import ProblemType


@dataclasses.dataclass(frozen=True)
class Teacher:
    """A trained classifier whose probabilities a student learns.

    identity: its name in the manifest of a run. predict(examples): its probabilities, float32 [n,
    outputs]. columns: its outputs that belong to the student's labels, in their order.
    """

    identity: str
    predict: Callable[[Sequence[ClassificationExample]], np.ndarray]
    columns: list[int]
    problem_type: ProblemType

    def teach(
        self,
        features: ClassificationFeatures,
        examples: Sequence[ClassificationExample],
        label_count: int,
        folder: str | None,
        resumes: bool,
        writes: bool,
    ) -> DistillationFeatures:
        """The features with the teacher's logits of each example, in the student's order of labels.

        label_count: the number of examples with labels, which come first.

        A run that starts computes them and leaves them in its folder, and a run that goes on reads
        them there: the teacher is not needed any more. writes: whether this process writes files.
        folder: None for a dry run.
        """
        shape = (len(examples), len(self.columns))
        path = os.path.join(folder or "", TEACHER)
        if folder is None:
            # Any logits take the same time in a step, and the teacher may take longer than the
            # whole dry run.
            LOG.info("the estimate excludes the teacher's single pass over the data")
            logits = np.zeros(shape, np.float32)
        elif resumes and files.exists(path):
            logits = read_logits(path, shape)
        else:
            logits = self.problem_type.logits(self.predict(examples)[:, self.columns])
            if writes:
                with atomic_write(path, "wb") as file:
                    np.save(file, logits)
        return with_teacher(features, logits, label_count)


def read_logits(path: str, shape: tuple[int, int]) -> np.ndarray:
    """What a run has kept; InputError where it is damaged, or of other rows."""
    try:
        with files.open_binary(path) as file:
            found = np.load(file, allow_pickle=False)
    # What np.load raises for a torn file; allow_pickle would run code of whoever wrote it.
    except (ValueError, EOFError):
        found = None
    if not isinstance(found, np.ndarray) or found.dtype != np.float32 or found.shape != shape:
        raise InputError(f"{path}: is not what this run has kept of its teacher; remove it, and it is computed again")
    return found
