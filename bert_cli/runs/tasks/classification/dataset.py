"""What bert-classify has read: splits with their features, labels and problem type, and the files
that follow from them.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, PREDICTIONS_TABLE, TEACHER, TEST_RESULTS, THRESHOLDS, TO_LABEL
from bert_cli.examples.choice import ChoiceExample, describe_choices
from bert_cli.examples.classification import ClassificationExample, describe_examples
from bert_cli.examples.glue import GlueTask
from bert_cli.examples.splitting import iterate_labels, warn_about_absent_labels
from bert_cli.features.choice import ChoiceFeatures, choice_features, format_choices
from bert_cli.features.classification import (
    ClassificationFeatures,
    classification_features,
    format_cuts,
    format_features,
    joined,
)
from bert_cli.features.cuts import describe_cuts
from bert_cli.metrics.classification import known_metrics
from bert_cli.outputs.classification import text_columns, write_glue_submission, write_table, write_test_results
from bert_cli.outputs.dry_run import SplitStatistics
from bert_cli.outputs.eval_examples import shortened
from bert_cli.problem_types.columns import Column, taken
from bert_cli.problem_types.problem_type import Found, ProblemType
from bert_cli.runs.tasks.classification.data import Examples
from bert_cli.runs.tasks.classification.decoder import Answers, make_answers
from bert_cli.runs.tasks.classification.distillation import Teacher
from bert_cli.runs.tasks.classification.folds import write_folds
from bert_cli.runs.tasks.dataset import DivisibleDataset, HeldSplit
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import Encoding
from bert_cli.text.tokenization import FullTokenizer

_TRAINED = ("train", "unlabeled")


@dataclasses.dataclass(frozen=True)
class Split(HeldSplit):
    """One file of the data: its rows, all of them texts or all of them choices, and their features."""

    examples: Examples
    features: ClassificationFeatures | ChoiceFeatures

    @property
    def choices(self) -> list[ChoiceExample]:
        """The rows of multiple choice, [] for texts."""
        # A split has one type of rows only; isinstance lets mypy know which.
        return [each for each in self.examples if isinstance(each, ChoiceExample)]

    @property
    def texts(self) -> list[ClassificationExample]:
        """The rows that are texts or pairs of texts, [] for choices."""
        return [each for each in self.examples if isinstance(each, ClassificationExample)]

    @functools.cached_property
    def ids(self) -> list[str]:
        """What outputs call the rows: the ids that the file has, else the guids of the original,
        such as test-1.
        """
        return [each.identifier or guid for each, guid in zip(self.examples, self.features.guids, strict=True)]

    def row_text(self, row: int) -> dict[str, Any]:
        """The id and the texts of a row for eval_examples.jsonl, cut to its length."""
        example = self.examples[row]
        named = {"id": self.ids[row]}
        if isinstance(example, ChoiceExample):
            endings = [shortened(each) for each in example.endings]
            return named | {"text": shortened(example.context), "endings": endings}
        second = {"text_b": shortened(example.text_b)} if example.text_b else {}
        return named | {"text": shortened(example.text_a)} | second

    def text_columns(self, decisions: Sequence[Any]) -> dict[str, Column]:
        """The columns of texts in predictions.tsv; decisions: of a choice, the indices of the
        endings that were chosen.
        """
        if choices := self.choices:
            endings = [each.endings[chosen] for each, chosen in zip(choices, decisions, strict=True)]
            return {"text": [each.context for each in choices], "ending": endings}
        return text_columns([(each.text_a, each.text_b) for each in self.texts])

    def statistics(self) -> SplitStatistics:
        labels = [each.label for each in self.examples]
        sequences = self.features.sequences
        if isinstance(self.features, ChoiceFeatures):
            # Endings are cut to the length of a sequence while they are tokenized, so the lengths
            # are those after cutting.
            return SplitStatistics(
                [(each.context, each.endings) for each in self.choices], labels, sequences.lengths, "sequence"
            )
        pairs = [(each.text_a, each.text_b) for each in self.texts]
        special = np.array([3 if text_b else 2 for _, text_b in pairs])  # [CLS], and [SEP] after each text
        return SplitStatistics(pairs, labels, self.features.text_tokens + special)

    def take(self, rows: np.ndarray) -> Self:
        assert isinstance(self.features, ClassificationFeatures), "a choice is refused before it is read"
        examples = [self.examples[row] for row in rows.tolist()]
        return dataclasses.replace(self, examples=examples, features=self.features.take(rows))


def make_split(
    name: str,
    examples: Examples,
    labels: tuple[str, ...],
    tokenizer: FullTokenizer,
    problem_type: ProblemType,
    encoding: Encoding,
) -> Split:
    """Tokenize the rows, and log how many there are and what was cut.

    Raises InputError if --max_seq_length is too short for them.
    """
    features: ClassificationFeatures | ChoiceFeatures
    length = encoding.max_seq_length
    if choices := [each for each in examples if isinstance(each, ChoiceExample)]:
        features = choice_features(choices, tokenizer, length)
        described = describe_choices(choices)
        lines = [describe_cuts(features.cuts, length, "sequences")] * bool(features.cuts.num_cut_texts)
    else:
        texts = [each for each in examples if isinstance(each, ClassificationExample)]
        features = classification_features(texts, labels, tokenizer, length, problem_type, encoding.long_text)
        described = describe_examples(texts, labels)
        lines = format_cuts(features, length)
    for line in (described, *lines):
        LOG.info("%s: %s", name, line)
    return Split(examples, features)


@dataclasses.dataclass(frozen=True)
class ClassificationDataset(DivisibleDataset):
    """What is classified, and how.

    answers: the problem type, its labels and their thresholds. splits: those that are needed,
    dev_mismatched and test_mismatched of mnli among them where their files are there; none for new
    texts. glue_task: None for own files. found, guesses: see data.ClassificationData.
    """

    trained_splits = _TRAINED
    evaluated_splits = ("dev", "dev_mismatched")

    settings: ClassifySettings
    answers: Answers
    tokenizer: FullTokenizer
    splits: Mapping[str, Split] = dataclasses.field(default_factory=dict)
    glue_task: GlueTask | None = None
    found: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    guesses: Mapping[str, str] = dataclasses.field(default_factory=dict)
    teacher: Teacher | None = None

    @property
    def problem_type(self) -> ProblemType:
        return self.answers.problem_type

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the model's outputs, () for a number or a choice."""
        return self.answers.labels.names

    def halves(self, split: str) -> list[str]:
        """The splits of this kind: dev or test, and its other half."""
        return [name for name in self.splits if name.startswith(split)]

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        answers = self.answers
        return (THRESHOLDS,) * answers.tunes + (CALIBRATION,) * bool(answers.calibrates)

    @property
    def prediction_files(self) -> tuple[str, ...]:
        names = [name for split in self.halves("test") or ["test"] for name in self.names(split)]
        return (*names, TEACHER) if self.teacher else tuple(names)

    @property
    def ranks(self) -> bool:
        """Whether to_label.tsv ranks the predicted texts, which needs calibrated probabilities."""
        return bool(self.answers.calibration or self.answers.calibrates)

    def names(self, split: str) -> list[str]:
        """Names of the tables of a half of the test data, and of the submission, where there is to
        be one.
        """
        half = split.removeprefix("test")
        inference = self.settings.inference
        table = f"{PREDICTIONS_TABLE.removesuffix('.tsv')}{half}.{inference.output_format}"
        names = [f"{TEST_RESULTS.removesuffix('.tsv')}{half}.tsv", table]
        if self.ranks:
            names.append(f"{TO_LABEL.removesuffix('.tsv')}{half}.tsv")
        if inference.glue_submission and self.glue_task:
            names.append(f"{self.glue_task.submission_name(half)}.tsv")
        return names

    @property
    def metrics(self) -> tuple[str, ...]:
        known = known_metrics(self.problem_type.metrics, self.glue_task.metric if self.glue_task else None)
        # Sorted, so that the matched half, which has no suffix, comes first and has the main
        # metric.
        halves = sorted(name.removeprefix("dev") for name in self.halves("dev"))
        return tuple(f"{name}{half}" for half in halves or [""] for name in known)

    @property
    def undefined_metrics(self) -> tuple[str, ...]:
        dev = self.splits.get("dev")
        is_constant = dev is not None and len(np.unique(dev.features.label_ids)) < 2
        return self.problem_type.correlations if is_constant else ()

    def features(self, examples: Sequence[ClassificationExample]) -> ClassificationFeatures:
        """The features of new examples."""
        length, long_text = self.settings.encoding.max_seq_length, self.settings.encoding.long_text
        return classification_features(examples, self.labels, self.tokenizer, length, self.problem_type, long_text)

    @property
    def trained_texts(self) -> list[ClassificationExample]:
        """The texts of the rows of `training_features`, where they are no choices."""
        return [example for name in _TRAINED if name in self.splits for example in self.splits[name].texts]

    def training_features(self) -> ClassificationFeatures | ChoiceFeatures:
        """The features of all training examples: of the train split, then of texts without labels."""
        # Texts without labels come last, so that the first rows are those with a label; see
        # with_teacher.
        parts = [self.splits[name].features for name in _TRAINED if name in self.splits]
        texts = [part for part in parts if isinstance(part, ClassificationFeatures)]
        return joined(*texts) if len(texts) > 1 else parts[0]

    def split_lines(self, split: Split, count: int, has_ids: bool) -> list[str]:
        has_label = [each.label is not None for each in split.examples[:count]]
        if isinstance(split.features, ChoiceFeatures):
            return format_choices(split.features, self.tokenizer, has_label, has_ids)
        return format_features(split.features, self.labels, self.tokenizer, has_label, has_ids)

    def facts(self) -> dict[str, Any]:
        cut = {name: split.features.cuts.num_cut_texts for name, split in self.splits.items()}
        return {"labels": list(self.labels), "problem_type": self.problem_type.name, "cut_examples": cut}

    def strata(self) -> Sequence[str | float]:
        examples = self.splits["train"].examples
        count = self.settings.sweep.cross_validation
        rows = Counter(iterate_labels(examples, self.problem_type, self.labels))
        rare = [label for label in self.labels if rows[label] < count]
        warn_about_absent_labels(f"--cross_validation={count}", "at least one fold", rare, len(self.labels))
        return [self.problem_type.stratum(example.label) for example in examples]

    def subset(self, held_out: np.ndarray) -> Self:
        # Tuned for each fold: thresholds from other rows would have seen the held-out ones.
        answers = make_answers(self.problem_type, self.labels, self.settings.inference, True, [])
        return dataclasses.replace(self, splits=self.divided(held_out, "rows"), answers=answers)

    def write_predictions(self, paths: Sequence[str], split: Split, found: dict[str, Any], answers: Answers) -> None:
        """Write the files of `names` to these paths; found: the model's predictions for the split.

        answers: as the dataset has them, or what an evaluation of the same run has made of them.
        """
        problem_type, labels = answers.problem_type, answers.labels
        decisions = problem_type.decisions(found, labels)
        write_test_results(paths[0], found[problem_type.output_name])
        columns = {"id": split.ids, **problem_type.prediction_columns(found, labels)}
        write_table(paths[1], columns | split.text_columns(decisions), self.settings.inference.output_format)
        LOG.info("wrote %s and %s: %d predictions", *paths[:2], len(split.examples))
        submissions = paths[2:]
        if self.ranks:
            self._write_to_label(paths[2], split, found, answers)
            submissions = paths[3:]
        for path in submissions:
            write_glue_submission(path, split.ids, decisions)
            LOG.info("wrote %s", path)

    def _write_to_label(self, path: str, split: Split, found: Found, answers: Answers) -> None:
        problem_type, labels = answers.problem_type, answers.labels
        uncertainty = problem_type.uncertainty(found, labels)
        rows = np.argsort(-uncertainty, kind="stable")
        predicted = next(iter(problem_type.decision_columns(found, labels).values()))
        columns = {"id": split.ids, "predicted": predicted, "probability": (1.0 - uncertainty).astype(np.float32)}
        texts = split.text_columns(problem_type.decisions(found, labels))
        write_table(path, {name: taken(column, rows) for name, column in {**columns, **texts}.items()}, "tsv")
        LOG.info("wrote %s: %d texts, the least certain first", path, len(rows))

    def write_folds(self, paths: tuple[str, str], folds: np.ndarray, details: Sequence[Any]) -> int:
        train = self.splits["train"]
        texts = [(each.text_a, each.text_b) for each in train.texts]
        label_ids = train.features.label_ids
        return write_folds(paths, self.answers, self.settings.calibration, label_ids, folds, details, train.ids, texts)
