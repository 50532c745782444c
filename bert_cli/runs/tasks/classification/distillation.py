"""The teacher of --distill_from: a trained classifier, and what it says of the training data, computed once for a run."""

import dataclasses
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MULTIPLE_CHOICE, REGRESSION
from bert_cli.base.names import TEACHER
from bert_cli.base.writing import atomic_write
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.choice import ChoiceFeatures
from bert_cli.features.classification import ClassificationFeatures, joined
from bert_cli.features.distillation import DistillationFeatures, logits_of, with_teacher
from bert_cli.runs.loading import sources
from bert_cli.runs.loading.trained_model import check_command, open_model
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.classification.split import Split
from bert_cli.settings.classification import ClassifySettings
from bert_cli.weights.path import CheckpointPath, find_checkpoint

if TYPE_CHECKING:
    from bert_cli.runs.tasks.classification.task import ClassificationTask

LOG = logging.getLogger("bert_cli")
_TRAINED = ("train", "unlabeled")
Features = ClassificationFeatures | ChoiceFeatures


def trained_features(splits: Mapping[str, Split]) -> Features:
    """The features of all that is trained on: the train split, and behind it texts without labels."""
    train, more = splits["train"].features, splits["unlabeled"].features if "unlabeled" in splits else None
    if isinstance(train, ClassificationFeatures) and isinstance(more, ClassificationFeatures):
        return joined(train, more)
    return train


class Teacher(NamedTuple):
    """A trained classifier, opened. columns: those of its outputs that the labels of the student are, in their order."""

    checkpoint: CheckpointPath
    task: "ClassificationTask"
    model: sources.AnyModel
    columns: list[int]

    @property
    def identity(self) -> str:
        """What the manifest of a run calls it."""
        return self.checkpoint.identity

    def logits(self, examples: Sequence[ClassificationExample]) -> np.ndarray:
        """float32 [n, L] of examples, in the student's order of labels; see features.distillation.logits_of."""
        features = self.task.features(examples, self.model.tokenizer)
        session = opening.open_session(self.task, self.model, self.task.settings)
        session.load_trained(self.checkpoint)
        found = session.infer(features, self.task.settings.inference.predict_batch_size, "asking the teacher")
        return logits_of(found["probabilities"][:, self.columns], self.task.problem_type)

    def teach(
        self,
        features: Features,
        splits: Mapping[str, Split],
        folder: str | None,
        state: str | None,
        writes: bool,
    ) -> DistillationFeatures:
        """trained_features, with what the teacher says of each example.

        folder, state: of the run, see kept_logits; a dry run has no folder, and any logits are as good for it.
        """
        assert isinstance(features, ClassificationFeatures), "open_teacher refuses multiple choice"
        if folder is None:
            LOG.info("the time that is told is without that of the teacher, which sees each row once")
            logits = np.zeros((len(features), len(self.columns)), np.float32)
        else:
            parts = [splits[name].examples for name in _TRAINED if name in splits]
            examples = [example for part in parts for example in part if isinstance(example, ClassificationExample)]
            logits = self.kept_logits(examples, folder, state is not None, writes)
        return with_teacher(features, logits, len(splits["train"].examples))

    def kept_logits(
        self, examples: Sequence[ClassificationExample], folder: str, goes_on: bool, writes: bool
    ) -> np.ndarray:
        """`logits`, which a run that starts computes and leaves in its folder, and one that goes on finds there."""
        path = os.path.join(folder, TEACHER)
        if goes_on and files.exists(path):
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


def open_teacher(
    make_task: Callable[[ClassifySettings], "ClassificationTask"],
    settings: ClassifySettings,
    labels: tuple[str, ...],
    problem_type: str,
) -> Teacher:
    """The teacher of --distill_from, for a student of these labels. No TensorFlow.

    InputError where there is none, or it answers another question.
    """
    given = settings.distillation.distill_from
    if problem_type == MULTIPLE_CHOICE:
        raise InputError("--distill_from: learns the probabilities of labels, which multiple choice does not have")
    if problem_type == REGRESSION:
        raise InputError(
            "--distill_from: learns the probabilities of labels, and here numbers are predicted; let the other model predict "
            "the texts, and train on its numbers"
        )
    checkpoint = find_checkpoint(given, "distill_from")
    check_command(checkpoint, "bert-classify")
    devices: dict[str, Any] = dataclasses.asdict(settings.devices)
    own, model = open_model(checkpoint, ClassifySettings, devices)
    task = make_task(own)
    task.labels = sources.read_labels(checkpoint) or ()
    if task.problem_type != problem_type:
        raise InputError(
            f"--distill_from={given}: is a model of {task.problem_type}, and {problem_type} is to be trained"
        )
    if set(task.labels) != set(labels):
        raise InputError(
            f"--distill_from={given}: its labels are {', '.join(task.labels) or 'not known'}, and those to be trained "
            f"{', '.join(labels)}; give a model of the same labels, or --labels"
        )
    return Teacher(checkpoint, task, model, [task.labels.index(label) for label in labels])
