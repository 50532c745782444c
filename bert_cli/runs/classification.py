"""What is of bert-classify alone: its splits, its head, its metrics, its files."""

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.kinds import REGRESSION, SINGLE_LABEL
from bert_cli.base.names import PREDICTIONS_TABLE, TEACHER, TEST_RESULTS
from bert_cli.examples.classification import ClassificationExample, describe_examples
from bert_cli.examples.tables import Table
from bert_cli.features.classification import (
    ClassificationFeatures,
    classification_features,
    format_cuts,
    format_features,
    joined,
)
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.stream import check_steps
from bert_cli.outputs.classification import write_test_results
from bert_cli.outputs.dry_run import Survey
from bert_cli.outputs.glue import write_glue_submission
from bert_cli.outputs.metrics import main_metrics
from bert_cli.runs import folder as run_folder
from bert_cli.runs import sources
from bert_cli.runs.classification_data import (
    ClassificationData,
    agreed_labels,
    check_submission,
    known_problem_type,
    read_data,
)
from bert_cli.runs.classification_results import Answers, make_answers
from bert_cli.runs.distillation import Teacher, open_teacher
from bert_cli.runs.task import Evaluation, Plan
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.long_text import WINDOWS
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.updates import Updates
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel
    from bert_cli.runs.session import Session

LOG = logging.getLogger("bert_cli")


class Split(NamedTuple):
    """One file of the data: its rows, and their features."""

    examples: list[ClassificationExample]
    features: ClassificationFeatures


class ClassificationTask:
    """See task.Task. After `read`: `data`, `problem_type`, `labels` (() for a regression), `answers`, and `splits`: those
    that are needed, dev_mismatched and test_mismatched of mnli among them where their files are there.
    """

    command = "bert-classify"

    def __init__(self, settings: ClassifySettings, tables: Mapping[str, Table] = MappingProxyType({})):
        """tables: see classification_data.read_data."""
        self.settings, self._tables = settings, tables
        self.problem_type = known_problem_type(settings) or SINGLE_LABEL
        self.labels: tuple[str, ...] = ()
        self.splits: dict[str, Split] = {}
        self._data: ClassificationData | None = None
        self._answers: Answers | None = None
        self._teacher: Teacher | None = None

    @property
    def data(self) -> ClassificationData:
        assert self._data is not None, "read comes first"
        return self._data

    @property
    def answers(self) -> Answers:
        assert self._answers is not None, "read comes first"
        return self._answers

    @property
    def files(self) -> tuple[str, ...]:
        halves = [split for split in self.splits if split.startswith("test")] or ["test"]
        names = [name for split in halves for name in self._names(split)]
        return (*names, TEACHER) if self._teacher else tuple(names)

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        return self.answers.evaluation_files

    def _names(self, split: str) -> list[str]:
        """Names of the two tables of a half of the test data, and of the submission, where there is to be one."""
        results, half = self.settings.results, split.removeprefix("test")
        table = f"{PREDICTIONS_TABLE.removesuffix('.tsv')}{half}.{results.output_format}"
        names = [f"{TEST_RESULTS.removesuffix('.tsv')}{half}.tsv", table]
        if results.glue_submission and self.data.task:
            names.append(f"{self.data.task.submission_of(half)}.tsv")
        return names

    def open(self, checkpoint: CheckpointPath | None) -> sources.AnyModel:
        settings = self.settings
        return sources.open_model(settings.model, checkpoint, settings.length.max_seq_length, settings.hub)

    def read(self, model: sources.AnyModel, stack: contextlib.ExitStack) -> None:
        """Labels are those of the checkpoint where it is trained."""
        settings, phases = self.settings, self.settings.phases
        check_submission(settings)
        labels, folders = settings.labels.labels or (), []
        if not phases.do_train:
            checkpoint = model.sources.required_checkpoint
            labels = agreed_labels(labels, checkpoint)
            folders = [phases.output_dir, checkpoint.folder]
        self._data = data = read_data(settings, labels or None, self._tables)
        self.labels, self.problem_type = data.labels, data.problem_type
        if not self.labels and self.problem_type != REGRESSION:
            raise InputError("the model has no labels.txt; give --labels in the order of its outputs")
        # A run that does neither leaves it to a later one to find thresholds.
        tunes = phases.do_eval or not settings.prediction.do_predict
        self._answers = make_answers(self.problem_type, self.labels, settings.results, tunes, folders)
        length = settings.length.max_seq_length
        for name, examples in data.splits.items():
            features = self.features(examples, model.tokenizer)
            LOG.info("%s: %s", name, describe_examples(examples, self.labels))
            for line in format_cuts(features, length):
                LOG.info("%s: %s", name, line)
            self.splits[name] = Split(examples, features)
        LOG.info("labels: %s", ", ".join(self.labels) or "none, a number is predicted")
        if settings.distillation.distill_from:
            self._teacher = open_teacher(ClassificationTask, settings, self.labels, self.problem_type)

    def features(self, examples: Sequence[ClassificationExample], tokenizer: FullTokenizer) -> ClassificationFeatures:
        """The features of any examples of this task, after `read` or with `labels` set."""
        settings = self.settings
        return classification_features(
            examples,
            self.labels,
            tokenizer,
            settings.length.max_seq_length,
            self.problem_type,
            settings.long_text.long_text,
        )

    def sequences(self) -> dict[str, RaggedFeatures]:
        return {name: split.features.sequences for name, split in self.splits.items()}

    def surveys(self) -> dict[str, Survey]:
        found = {}
        for name, (examples, features) in self.splits.items():
            texts = [(example.text_a, example.text_b) for example in examples]
            special = np.array([3 if example.text_b else 2 for example in examples])
            found[name] = Survey(texts, [example.label for example in examples], features.text_tokens + special)
        return found

    def show_examples(self, model: sources.AnyModel, count: int) -> None:
        for split in self.splits.values():
            for line in format_features(split.features, self.labels, model.tokenizer, count):
                LOG.info(line)

    def plan(self, model: sources.AnyModel) -> Plan:
        features, fine_tuning = self._trained(), self.settings.fine_tuning
        sequences, lower = features.sequences, model.tokenizer.do_lower_case
        steps = check_steps(len(features), self.settings.training.train_batch_size, fine_tuning.num_train_epochs)
        labels = self.labels or None
        # A name with a comma cannot be given as a flag; such labels come from the data and are found there again.
        has_comma = any("," in label for label in self.labels)
        return Plan(
            steps=steps,
            warmup_steps=int(steps * fine_tuning.warmup_proportion),
            decided={
                "labels": list(labels) if labels else None,
                "do_lower_case": lower,
                "training_data": run_folder.digest(sequences.token_ids, sequences.offsets, features.label_ids),
                "train_examples": len(features),
                # Runs from before there were other kinds list none.
                **({} if self.problem_type == SINGLE_LABEL else {"problem_type": self.problem_type}),
                **({"distill_from": self._teacher.identity} if self._teacher else {}),
            },
            found={
                **self.data.found,
                "problem_type": self.problem_type,
                "do_lower_case": lower,
                "labels": None if has_comma else labels,
            },
            labels=labels,
            bias_correction=fine_tuning.bias_correction,
        )

    def make_model(self, model: sources.AnyModel, compute_dtype: str) -> "TaskModel":
        from bert_cli.heads.classification import BertClassifier
        from bert_cli.heads.distillation import DistilledClassifier, DistilledWindowsClassifier
        from bert_cli.heads.windows import BertWindowsClassifier

        settings, has_windows = self.settings, self.settings.long_text.long_text == WINDOWS
        count = 1 if self.problem_type == REGRESSION else len(self.labels)
        arguments = (model.config, count, compute_dtype, settings.seed.random_seed, self.problem_type)
        if self._teacher:
            distilled = DistilledWindowsClassifier if has_windows else DistilledClassifier
            given = settings.distillation
            return distilled(*arguments, temperature=given.distill_temperature, share=given.distill_share)
        return (BertWindowsClassifier if has_windows else BertClassifier)(*arguments)

    @property
    def freezes_encoder(self) -> bool:
        return not self.settings.hub_training.hub_trainable

    def train(self, session: "Session", *, updates: Updates, **how: Any) -> dict[str, Any]:
        features = self._trained()
        if self._teacher:
            parts = [self.splits[name].examples for name in ("train", "unlabeled") if name in self.splits]
            features = self._teacher.teach(features, parts, how.get("folder"), how.get("state"), session.is_chief)
        return session.train(features, updates=updates, **how)

    def _trained(self) -> ClassificationFeatures:
        """The features of all that is trained on: the train split, and behind it texts without labels."""
        features = self.splits["train"].features
        return joined(features, self.splits["unlabeled"].features) if "unlabeled" in self.splits else features

    def facts(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "problem_type": self.problem_type}

    def evaluate(self, session: "Session") -> Evaluation:
        """Metrics and scores of each label; of a second half the same, its name behind that of each metric."""
        batch_size, task = self.settings.evaluation.eval_batch_size, self.data.task
        metrics: dict[str, Any] = {}
        details: dict[str, Any] = {}
        lines: list[str] = []
        rate = 0.0
        for split in (name for name in self.splits if name.startswith("dev")):
            features, half = self.splits[split].features, split.removeprefix("dev")
            found = session.infer(features, batch_size, "evaluating")
            scores = self.answers.evaluate(features.label_ids, found, batch_size)
            metrics |= {f"{key}{half}": value for key, value in scores.metrics.items()}
            details |= {f"{key}{half}": value for key, value in scores.details.items()}
            lines += [f"  {line}" for line in ([half.removeprefix("_")] if half else []) + scores.lines]
            if task:
                main = main_metrics(task.metric, scores.metrics)
                listed = ", ".join(f"{key}{half} = {value!s}" for key, value in main.items())
                lines.append(f"  {self.settings.task.task_name} is measured by {listed}")
            rate = rate or found["examples_per_second"]
        if session.is_chief:
            self.answers.write_companions(self.settings.phases.output_dir)
        return Evaluation(metrics, lines, {"eval_examples_per_second": rate, "eval": details})

    def predict(self, session: "Session") -> dict[str, Any]:
        """Write test_results.tsv, predictions.tsv or what it is to be, and the submission; of a second half the same."""
        rate = 0.0
        for name in (name for name in self.splits if name.startswith("test")):
            split = self.splits[name]
            found = session.infer(split.features, self.settings.prediction.predict_batch_size, "predicting")
            rate = rate or found["examples_per_second"]
            if session.is_chief:
                self._write(name, split, found)
        return {"predict_examples_per_second": rate}

    def _write(self, name: str, split: Split, found: dict[str, Any]) -> None:
        folder, results = self.settings.phases.output_dir, self.settings.results
        texts = [(example.text_a, example.text_b) for example in split.examples]
        paths = [os.path.join(folder, each) for each in self._names(name)]
        write_test_results(paths[0], self.answers.numbers(found))
        self.answers.write_table(paths[1], split.features.guids, texts, found, results.output_format)
        LOG.info("wrote %s and %s: %d predictions", *paths[:2], len(texts))
        for path in paths[2:]:
            submission = os.path.basename(path).removesuffix(".tsv")
            ids = [example.identifier for example in split.examples]
            write_glue_submission(folder, submission, ids, self.answers.best(found))
            LOG.info("wrote %s", path)
