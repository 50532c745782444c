"""Predictions of a classifier under its labels and thresholds: --threshold, thresholds.json, and the files of a prediction."""

import dataclasses
import logging
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import PREDICTIONS_TABLE, TEST_RESULTS, THRESHOLDS
from bert_cli.examples.glue import GlueTask
from bert_cli.metrics import multi_label
from bert_cli.outputs.classification import write_glue_submission, write_table, write_test_results
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import Found, LabelSet, ProblemType
from bert_cli.runs.tasks.classification.split import Split, prediction_texts
from bert_cli.settings.groups import TUNED, Inference

LOG = logging.getLogger("bert_cli")


@dataclasses.dataclass(frozen=True)
class Answers:
    """The labels that a model's predictions are read with. tunes: an evaluation finds the thresholds, see `tuned`."""

    problem_type: ProblemType
    labels: LabelSet
    tunes: bool = False

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        """Names of the files that an evaluation writes besides eval_results.txt."""
        return (THRESHOLDS,) if self.tunes else ()

    def tuned(self, label_ids: np.ndarray, found: Found) -> "Answers":
        """With the thresholds that are best on these predictions, where they are to be tuned."""
        if not self.tunes:
            return self
        thresholds = multi_label.tune_thresholds(label_ids, found["probabilities"])
        return dataclasses.replace(self, labels=self.labels._replace(thresholds=thresholds))

    def write_thresholds(self, folder: str) -> None:
        """Write the evaluation_files."""
        if self.tunes and self.labels.thresholds is not None:
            multi_label.write_thresholds(os.path.join(folder, THRESHOLDS), self.labels.names, self.labels.thresholds)


def make_answers(
    problem_type: ProblemType, names: tuple[str, ...], settings: Inference, tunes: bool, folders: Sequence[str]
) -> Answers:
    """The labels `names` with the thresholds of --threshold.

    tunes: an evaluation comes first, which finds the thresholds of --threshold=tuned. Without one they are read from the
    first of `folders` that has a thresholds.json; InputError where none has, and for thresholds of another problem type.
    """
    if not problem_type.has_thresholds:
        if not settings.is_default_threshold:
            raise InputError(
                f"--threshold={settings.threshold}: is about labels that do not exclude each other "
                f"(--problem_type={MULTI_LABEL.name}), here it is {problem_type.name}; leave it out"
            )
        return Answers(problem_type, LabelSet(names))
    is_tuned = settings.threshold == TUNED
    if is_tuned and not tunes:
        return Answers(problem_type, LabelSet(names, _read_tuned(names, folders)))
    threshold = multi_label.DEFAULT_THRESHOLD if is_tuned else float(settings.threshold)
    return Answers(problem_type, LabelSet(names, np.full(len(names), threshold)), is_tuned)


def _read_tuned(names: tuple[str, ...], folders: Sequence[str]) -> np.ndarray:
    paths = [os.path.join(folder, THRESHOLDS) for folder in folders]
    path = next((path for path in paths if files.exists(path)), None)
    if path is None:
        raise InputError(
            f"--threshold={TUNED}: there is no {THRESHOLDS}{f' in {folders[0]}' if folders else ''}; add --do_eval, which "
            "finds the thresholds"
        )
    return multi_label.read_thresholds(path, names)


def prediction_files(split: str, output_format: str, submitted: GlueTask | None) -> list[str]:
    """Names of the two tables of a half of the test data, and of the submission, where there is to be one of a task."""
    half = split.removeprefix("test")
    table = f"{PREDICTIONS_TABLE.removesuffix('.tsv')}{half}.{output_format}"
    names = [f"{TEST_RESULTS.removesuffix('.tsv')}{half}.tsv", table]
    if submitted:
        names.append(f"{submitted.submission_of(half)}.tsv")
    return names


def write_predictions(
    paths: Sequence[str], split: Split, found: dict[str, Any], answers: Answers, output_format: str
) -> None:
    """Write the files that prediction_files names to these paths; found: what the model says of the split."""
    problem_type, labels = answers.problem_type, answers.labels
    decisions = problem_type.decisions(found, labels)
    write_test_results(paths[0], found[problem_type.output_name])
    columns = {"id": split.features.guids, **problem_type.prediction_columns(found, labels)}
    write_table(paths[1], columns | prediction_texts(split.examples, decisions), output_format)
    LOG.info("wrote %s and %s: %d predictions", *paths[:2], len(split.examples))
    for path in paths[2:]:
        folder, name = os.path.split(path)
        ids = [example.identifier for example in split.examples]
        write_glue_submission(folder, name.removesuffix(".tsv"), ids, decisions)
        LOG.info("wrote %s", path)
