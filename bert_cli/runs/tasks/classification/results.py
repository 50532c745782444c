"""What each kind of problem makes of a model's numbers: metrics, tables, and answers for a leaderboard.

`found` is what the predictions of heads.classification.BertClassifier or heads.choice.BertChoice give, for n examples in
file order.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MULTI_LABEL, MULTIPLE_CHOICE, REGRESSION
from bert_cli.base.names import THRESHOLDS
from bert_cli.examples.choice import ChoiceExample
from bert_cli.examples.classification import ClassificationExample
from bert_cli.metrics import classification, multi_label
from bert_cli.outputs.classification import (
    Texts,
    shares,
    write_choice_predictions,
    write_multi_label_predictions,
    write_predictions,
    write_value_predictions,
)
from bert_cli.settings.groups import TUNED, Inference

Found = Mapping[str, np.ndarray]


class Scores(NamedTuple):
    """metrics: for eval_results.txt. details: for run_report.json. lines: of a table for the log."""

    metrics: dict[str, Any]
    details: dict[str, Any]
    lines: list[str]


class Answers(Protocol):
    """One kind of problem. evaluation_files: names of what an evaluation writes besides eval_results.txt."""

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        """See above."""

    def evaluate(self, label_ids: np.ndarray, found: Found, batch_size: int) -> Scores:
        """label_ids: as features.classification.label_array makes them."""

    def write_companions(self, folder: str) -> None:
        """Write the evaluation_files, after `evaluate`."""

    def numbers(self, found: Found) -> np.ndarray:
        """What test_results.tsv holds: float32 [n, labels], or [n]."""

    def best(self, found: Found) -> list[Any]:
        """What is said of each example: the name of its label, the names of all it has, or its number."""

    def record(self, found: Found, row: int) -> dict[str, object]:
        """What is said of one example, ready for JSON."""

    def write_table(self, path: str, examples: Sequence[Any], found: Found, output_format: str) -> None:
        """Write the predictions with ids and texts; see outputs.classification.write_table.

        examples: ClassificationExample, or of a choice ChoiceExample.
        """


def _ids_and_texts(examples: Sequence[ClassificationExample]) -> tuple[list[str], Texts]:
    return [each.guid for each in examples], [(each.text_a, each.text_b) for each in examples]


@dataclasses.dataclass
class OneLabel:
    """One of several labels."""

    labels: tuple[str, ...]
    evaluation_files: tuple[str, ...] = ()

    def evaluate(self, label_ids: np.ndarray, found: Found, batch_size: int) -> Scores:
        probabilities = found["probabilities"]
        results = classification.classification_metrics(
            label_ids, found["losses"], probabilities, self.labels, batch_size
        )
        details = classification.classification_report(label_ids, probabilities, self.labels)
        return Scores(results, details, classification.format_report(details))

    def write_companions(self, folder: str) -> None:
        pass

    def numbers(self, found: Found) -> np.ndarray:
        return found["probabilities"]

    def best(self, found: Found) -> list[str]:
        return [self.labels[column] for column in found["probabilities"].argmax(axis=1)]

    def record(self, found: Found, row: int) -> dict[str, object]:
        """{"label", "probabilities": {label: number}}"""
        probabilities = found["probabilities"][row]
        return {"label": self.labels[int(probabilities.argmax())], "probabilities": shares(self.labels, probabilities)}

    def write_table(
        self, path: str, examples: Sequence[ClassificationExample], found: Found, output_format: str
    ) -> None:
        write_predictions(path, *_ids_and_texts(examples), self.labels, found["probabilities"], output_format)


@dataclasses.dataclass
class SeveralLabels:
    """Any of several labels. thresholds: float64 [labels], which `evaluate` finds where it `tunes`."""

    labels: tuple[str, ...]
    thresholds: np.ndarray
    tunes: bool

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        return (THRESHOLDS,) if self.tunes else ()

    def evaluate(self, label_ids: np.ndarray, found: Found, batch_size: int) -> Scores:
        probabilities = found["probabilities"]
        if self.tunes:
            self.thresholds = multi_label.tune_thresholds(label_ids, probabilities)
        results, details = multi_label.multi_label_metrics(
            label_ids, found["losses"], probabilities, self.labels, self.thresholds, batch_size
        )
        return Scores(results, details, multi_label.format_multi_label(details))

    def write_companions(self, folder: str) -> None:
        if self.tunes:
            multi_label.write_thresholds(os.path.join(folder, THRESHOLDS), self.labels, self.thresholds)

    def numbers(self, found: Found) -> np.ndarray:
        return found["probabilities"]

    def best(self, found: Found) -> list[tuple[str, ...]]:
        """Those over their thresholds, in the order of `labels`."""
        over = multi_label.over_thresholds(found["probabilities"], self.thresholds)
        return [tuple(label for label, is_over in zip(self.labels, row, strict=True) if is_over) for row in over]

    def record(self, found: Found, row: int) -> dict[str, object]:
        """{"labels": those over their thresholds, "probabilities": {label: number}}"""
        probabilities = found["probabilities"][row]
        chosen = self.best({"probabilities": probabilities[np.newaxis]})[0]
        return {"labels": list(chosen), "probabilities": shares(self.labels, probabilities)}

    def write_table(
        self, path: str, examples: Sequence[ClassificationExample], found: Found, output_format: str
    ) -> None:
        write_multi_label_predictions(
            path, *_ids_and_texts(examples), self.labels, found["probabilities"], self.thresholds, output_format
        )


@dataclasses.dataclass
class Value:
    """A number."""

    evaluation_files: tuple[str, ...] = ()

    def evaluate(self, label_ids: np.ndarray, found: Found, batch_size: int) -> Scores:
        return Scores(
            classification.regression_metrics(label_ids, found["losses"], found["values"], batch_size), {}, []
        )

    def write_companions(self, folder: str) -> None:
        pass

    def numbers(self, found: Found) -> np.ndarray:
        return found["values"]

    def best(self, found: Found) -> list[float]:
        return found["values"].tolist()

    def record(self, found: Found, row: int) -> dict[str, object]:
        """{"value": number}"""
        return {"value": float(str(found["values"][row]))}

    def write_table(
        self, path: str, examples: Sequence[ClassificationExample], found: Found, output_format: str
    ) -> None:
        write_value_predictions(path, *_ids_and_texts(examples), found["values"], output_format)


@dataclasses.dataclass
class Choice:
    """The right one of several endings."""

    evaluation_files: tuple[str, ...] = ()

    def evaluate(self, label_ids: np.ndarray, found: Found, batch_size: int) -> Scores:
        return Scores(
            classification.choice_metrics(label_ids, found["losses"], found["probabilities"], batch_size), {}, []
        )

    def write_companions(self, folder: str) -> None:
        pass

    def numbers(self, found: Found) -> np.ndarray:
        return found["probabilities"]

    def best(self, found: Found) -> list[int]:
        """The places of the most probable endings, from 0."""
        return found["probabilities"].argmax(axis=1).tolist()

    def record(self, found: Found, row: int) -> dict[str, object]:
        """{"label": place of the most probable ending, "probabilities": {place: number}}"""
        probabilities = found["probabilities"][row]
        names = [str(place) for place in range(len(probabilities))]
        return {"label": int(probabilities.argmax()), "probabilities": shares(names, probabilities)}

    def write_table(self, path: str, examples: Sequence[ChoiceExample], found: Found, output_format: str) -> None:
        ids, contexts = [each.guid for each in examples], [each.context for each in examples]
        endings = [each.endings for each in examples]
        write_choice_predictions(path, ids, contexts, endings, found["probabilities"], output_format)


def make_answers(
    problem_type: str, labels: tuple[str, ...], settings: Inference, tunes: bool, folders: Sequence[str]
) -> Answers:
    """The answers of a kind of problem.

    tunes: an evaluation comes first, which finds the thresholds of --threshold=tuned. Without one they are read from the
    first of `folders` that has a thresholds.json; InputError where none has, and for thresholds of another kind of problem.
    """
    if problem_type != MULTI_LABEL:
        if not settings.is_default_threshold:
            raise InputError(
                f"--threshold={settings.threshold}: is about labels that do not exclude each other "
                f"(--problem_type={MULTI_LABEL}), here it is {problem_type}; leave it out"
            )
        others: dict[str, Answers] = {REGRESSION: Value(), MULTIPLE_CHOICE: Choice()}
        return others.get(problem_type) or OneLabel(labels)
    if settings.threshold != TUNED:
        return SeveralLabels(labels, np.full(len(labels), float(settings.threshold)), False)
    if tunes:
        return SeveralLabels(labels, np.full(len(labels), multi_label.DEFAULT_THRESHOLD), True)
    paths = [os.path.join(folder, THRESHOLDS) for folder in folders]
    path = next((path for path in paths if files.exists(path)), None)
    if path is None:
        raise InputError(
            f"--threshold={TUNED}: there is no {THRESHOLDS}{f' in {folders[0]}' if folders else ''}; add --do_eval, which "
            "finds the thresholds"
        )
    return SeveralLabels(labels, multi_label.read_thresholds(path, labels), False)
