"""The labels and thresholds that a classifier's predictions are read with: --threshold and
thresholds.json.
"""

import dataclasses
import os
from collections.abc import Sequence

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import THRESHOLDS
from bert_cli.metrics import multi_label
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import Found, LabelSet, ProblemType
from bert_cli.settings.groups import TUNED, Inference


@dataclasses.dataclass(frozen=True)
class Answers:
    """The labels that a model's predictions are read with. tunes: an evaluation finds the
    thresholds, see `tuned`.
    """

    problem_type: ProblemType
    labels: LabelSet
    tunes: bool = False

    def tuned(self, label_ids: np.ndarray, found: Found) -> "Answers":
        """With the thresholds that are best on these predictions, where they are to be tuned."""
        if not self.tunes:
            return self
        thresholds = multi_label.tune_thresholds(label_ids, found["probabilities"])
        return dataclasses.replace(self, labels=self.labels._replace(thresholds=thresholds))

    def write_thresholds(self, folder: str) -> None:
        """Write thresholds.json, where the thresholds were tuned."""
        if self.tunes and self.labels.thresholds is not None:
            multi_label.write_thresholds(os.path.join(folder, THRESHOLDS), self.labels.names, self.labels.thresholds)


def make_answers(
    problem_type: ProblemType, names: tuple[str, ...], settings: Inference, tunes: bool, folders: Sequence[str]
) -> Answers:
    """The labels `names` with the thresholds of --threshold.

    tunes: an evaluation comes first, which finds the thresholds of --threshold=tuned. Without one
    they are read from the first of `folders` that has a thresholds.json; InputError where none has,
    and for thresholds of another problem type.
    """
    if not problem_type.has_thresholds:
        if not settings.is_default_threshold:
            raise InputError(
                f"--threshold={settings.threshold}: applies to multi-label classification "
                f"(--problem_type={MULTI_LABEL.name}), here it is {problem_type.name}; leave it out"
            )
        return Answers(problem_type, LabelSet(names))
    is_tuned = settings.threshold == TUNED
    # A run that only predicts: an earlier evaluation has left the thresholds.
    if is_tuned and not tunes:
        return Answers(problem_type, LabelSet(names, _read_tuned(names, folders)))
    threshold = multi_label.DEFAULT_THRESHOLD if is_tuned else float(settings.threshold)
    return Answers(problem_type, LabelSet(names, np.full(len(names), threshold)), is_tuned)


def _read_tuned(names: tuple[str, ...], folders: Sequence[str]) -> np.ndarray:
    paths = [os.path.join(folder, THRESHOLDS) for folder in folders]
    path = next((path for path in paths if files.exists(path)), None)
    if path is None:
        raise InputError(
            f"--threshold={TUNED}: there is no "
            f"{THRESHOLDS}{f' in {folders[0]}' if folders else ''}; add --do_eval, which finds the "
            "thresholds"
        )
    return multi_label.read_thresholds(path, names)
