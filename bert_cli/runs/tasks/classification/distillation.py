"""The teacher of --distill_from, and its logits for the training data, computed once per run."""

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
    """A trained classifier; a student learns its probabilities.

    Attributes:
        identity: the teacher's name in a run's manifest.
        predict: predict(examples) returns the teacher's probabilities, float32 [n, outputs].
        columns: index of the teacher's output for each student label.
        problem_type: the problem type, which both models have.
    """

    identity: str
    predict: Callable[[Sequence[ClassificationExample]], np.ndarray]
    columns: list[int]
    problem_type: ProblemType

    def teach(
        self,
        features: ClassificationFeatures,
        examples: Sequence[ClassificationExample],
        num_labeled: int,
        folder: str | None,
        resumes: bool,
        is_chief: bool,
    ) -> DistillationFeatures:
        """Return the features with the teacher's logits, in the student's label order.

        A new run computes the logits and stores them. A resumed run reads them, so it does not need
        the teacher.

        Args:
            features: features for training.
            examples: the same examples; labeled ones come first.
            num_labeled: number of examples with labels.
            folder: output_dir, None for a dry run.
            resumes: whether the run continues from a checkpoint.
            is_chief: whether this process writes files.
        """
        shape = (len(examples), len(self.columns))
        path = os.path.join(folder or "", TEACHER)
        if folder is None:
            # A step takes the same time with any logits, and the teacher could take longer than the
            # whole dry run.
            LOG.info("the estimate excludes the teacher's single pass over the data")
            logits = np.zeros(shape, np.float32)
        elif resumes and files.exists(path):
            logits = read_logits(path, shape)
        else:
            logits = self.problem_type.decoder.logits(self.predict(examples)[:, self.columns])
            if is_chief:
                with atomic_write(path, "wb") as file:
                    np.save(file, logits)
        return with_teacher(features, logits, num_labeled)


def read_logits(path: str, shape: tuple[int, int]) -> np.ndarray:
    """Return the logits that a run has stored, float32 of this shape.

    Raise InputError if the file is damaged, or belongs to other rows.
    """
    try:
        with files.open_binary(path) as file:
            logits = np.load(file, allow_pickle=False)
    # np.load raises these for an incomplete file. allow_pickle could run code in an untrusted file.
    except (ValueError, EOFError):
        logits = None
    if not isinstance(logits, np.ndarray) or logits.dtype != np.float32 or logits.shape != shape:
        raise InputError(f"{path}: is not what this run has kept of its teacher; remove it, and it is computed again")
    return logits
