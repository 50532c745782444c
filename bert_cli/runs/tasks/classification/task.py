"""What is of bert-classify alone: its splits, its head, its metrics, its files."""

import contextlib
import functools
import logging
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MULTIPLE_CHOICE, REGRESSION, SINGLE_LABEL
from bert_cli.base.names import TEACHER
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.tables import Table
from bert_cli.features.classification import ClassificationFeatures, classification_features
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.stream import check_steps
from bert_cli.metrics.classification import known_metrics, main_metrics, needed_later
from bert_cli.outputs.dry_run import Survey
from bert_cli.outputs.eval_examples import EvalExamples
from bert_cli.runs.engine.onnx_heads import OnnxHead, text_head
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading import sources
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.loading.trained_labels import stated_problem_type, trained_labels
from bert_cli.runs.output_dir import run_folder
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.classification import folds as cross_validation
from bert_cli.runs.tasks.classification.data import ClassificationData, check_submission, known_problem_type, read_data
from bert_cli.runs.tasks.classification.distillation import Teacher, open_teacher, trained_features
from bert_cli.runs.tasks.classification.explanation import explained_examples
from bert_cli.runs.tasks.classification.files import prediction_files, write_predictions
from bert_cli.runs.tasks.classification.results import Answers, make_answers
from bert_cli.runs.tasks.classification.split import Split, example_lines, make_split, survey_of
from bert_cli.runs.tasks.interface import Evaluation, Plan
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import WINDOWS
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.hyperparameters import Updates
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel
    from bert_cli.runs.engine.session import Session

LOG = logging.getLogger("bert_cli")


class ClassificationTask:
    """See task.Task. After `read`: `data`, `problem_type`, `labels` (() for a number or a choice), `answers`, and `splits`:
    those that are needed, dev_mismatched and test_mismatched of mnli among them where their files are there. `found`: what
    the model said of the splits that were evaluated last.
    """

    command = "bert-classify"

    def __init__(self, settings: ClassifySettings, tables: Mapping[str, Table] = MappingProxyType({})):
        """tables: see classification_data.read_data."""
        self.settings, self.tables = settings, tables
        self._known = known_problem_type(settings)
        self.problem_type = self._known or SINGLE_LABEL
        self.labels: tuple[str, ...] = ()
        self.splits: dict[str, Split] = {}
        self.found: dict[str, dict[str, Any]] = {}
        self._data: ClassificationData | None = None
        self._answers: Answers | None = None
        self._teacher: Teacher | None = None
        self._whole: tuple[ClassificationTask, np.ndarray] | None = None  # of a part: the task of all rows, see `part`
        self._tokenizer: FullTokenizer  # known after `open`

    def again(self, settings: ClassifySettings) -> "ClassificationTask":
        return ClassificationTask(settings, self.tables)

    def strata(self) -> Sequence[object]:
        return cross_validation.strata(self.splits["train"], self.problem_type)

    def part(self, settings: ClassifySettings, held_out: np.ndarray) -> "ClassificationTask":
        part = self.again(settings)
        part._whole = self, held_out
        return part

    def write_folds(self, paths: tuple[str, str], folds: np.ndarray, parts: Sequence["ClassificationTask"]) -> int:
        found, train = [(part.answers, part.found["dev"]) for part in parts], self.splits["train"]
        return cross_validation.write_folds(paths, train, self.problem_type, self.labels, folds, found)

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
        names = [name for split in halves for name in self.names(split)]
        return (*names, TEACHER) if self._teacher else tuple(names)

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        return self.answers.evaluation_files

    def names(self, split: str) -> list[str]:
        """Names of the two tables of a half of the test data, and of the submission, where there is to be one."""
        results = self.settings.inference
        return prediction_files(split, results.output_format, self.data.task if results.glue_submission else None)

    def open(self, checkpoint: CheckpointPath | None) -> sources.AnyModel:
        settings = self.settings
        model = sources.open_model(settings.model, checkpoint, settings.encoding.max_seq_length, settings.hub)
        self._tokenizer = model.tokenizer
        if not settings.phases.do_train:
            self.take_kind(model.sources)
        return model

    def take_kind(self, trained: sources.ModelSources) -> None:
        """What the files of a trained model say of the kind of problem, where no flag says it."""
        self._known = self._known or stated_problem_type(trained)
        self.problem_type = self._known or SINGLE_LABEL

    @property
    def has_labels(self) -> bool:
        """Whether the outputs have names."""
        return self.problem_type not in (REGRESSION, MULTIPLE_CHOICE)

    def read(self, model: sources.AnyModel, stack: contextlib.ExitStack) -> None:
        """Labels are those of the checkpoint where it is trained."""
        if self._whole:
            return self._read_part(*self._whole)
        settings, phases = self.settings, self.settings.phases
        check_submission(settings)
        labels, folders = settings.encoding.labels or (), []
        if not phases.do_train:
            checkpoint = model.sources.required_checkpoint
            labels = trained_labels(labels, checkpoint)
            folders = [phases.output_dir, *run_folders(checkpoint)]
        self._data = data = read_data(settings, labels or None, self._known, self.tables)
        self.labels, self.problem_type = data.labels, data.problem_type
        if not self.labels and self.has_labels:
            raise InputError("the model has no labels.txt; give --labels in the order of its outputs")
        # A run that does neither leaves it to a later one to find thresholds.
        tunes = phases.do_eval or not settings.inference.do_predict
        self._answers = make_answers(self.problem_type, self.labels, settings.inference, tunes, folders)
        length = settings.encoding.max_seq_length
        for name, examples in data.splits.items():
            self.splits[name] = make_split(
                name, examples, self.labels, model.tokenizer, length, self.problem_type, settings.encoding.long_text
            )
        if self.problem_type != MULTIPLE_CHOICE:
            LOG.info("labels: %s", ", ".join(self.labels) or "none, a number is predicted")
        if settings.distillation.distill_from:
            self._teacher = open_teacher(ClassificationTask, settings, self.labels, self.problem_type)

    def _read_part(self, whole: "ClassificationTask", held_out: np.ndarray) -> None:
        self._data, self._teacher = whole.data, whole._teacher
        self.labels, self.problem_type = whole.labels, whole.problem_type
        self._answers = make_answers(self.problem_type, self.labels, self.settings.inference, True, [])
        self.splits = whole.splits | cross_validation.divided(whole.splits["train"], held_out)

    def features(self, examples: Sequence[ClassificationExample], tokenizer: FullTokenizer) -> ClassificationFeatures:
        """The features of any examples of this task, after `read` or with `labels` set."""
        settings = self.settings
        return classification_features(
            examples,
            self.labels,
            tokenizer,
            settings.encoding.max_seq_length,
            self.problem_type,
            settings.encoding.long_text,
        )

    def sequences(self) -> dict[str, RaggedFeatures]:
        return {name: split.features.sequences for name, split in self.splits.items()}

    def surveys(self) -> dict[str, Survey]:
        return {name: survey_of(split) for name, split in self.splits.items()}

    def show_examples(self, model: sources.AnyModel, count: int) -> None:
        for split in self.splits.values():
            for line in example_lines(split, self.labels, model.tokenizer, count):
                LOG.info(line)

    def plan(self, model: sources.AnyModel) -> Plan:
        features, fine_tuning = trained_features(self.splits), self.settings.fine_tuning
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
            found={**self.data.found, "problem_type": self.problem_type, "do_lower_case": lower}
            | {"labels": None if has_comma else labels},
            labels=labels,
            bias_correction=fine_tuning.bias_correction,
            examples=len(features),
            class_weights=controls.class_weights(
                self.settings.loss, self.problem_type, self.labels, features.label_ids
            ),
        )

    def make_model(self, model: sources.AnyModel, compute_dtype: str) -> "TaskModel":
        from bert_cli.heads.choice import BertChoice
        from bert_cli.heads.classification import BertClassifier
        from bert_cli.heads.distillation import DistilledClassifier, DistilledWindowsClassifier
        from bert_cli.heads.windows import BertWindowsClassifier

        seed, head_input = self.settings.seed.random_seed, self.settings.head.head_input
        if self.problem_type == MULTIPLE_CHOICE:
            return BertChoice(model.config, compute_dtype, seed, head_input)
        count = 1 if self.problem_type == REGRESSION else len(self.labels)
        has_windows, given = self.settings.encoding.long_text == WINDOWS, self.settings.distillation
        arguments = (model.config, count, compute_dtype, seed, self.problem_type, head_input)
        if self._teacher:
            distilled = DistilledWindowsClassifier if has_windows else DistilledClassifier
            return distilled(*arguments, temperature=given.distill_temperature, share=given.distill_share)
        return (BertWindowsClassifier if has_windows else BertClassifier)(*arguments)

    def onnx_head(self, model: sources.AnyModel, flag: str) -> OnnxHead:
        head_input, long_text = self.settings.head.head_input, self.settings.encoding.long_text
        return text_head(self.problem_type, len(self.labels), head_input, long_text, flag)

    @property
    def freezes_encoder(self) -> bool:
        return self.settings.rates.freeze_encoder or not self.settings.hub.hub_trainable

    @property
    def metrics(self) -> tuple[str, ...]:
        known = known_metrics(self.problem_type, self.data.task.metric if self.data.task else None)
        halves = sorted(name.removeprefix("dev") for name in self.splits if name.startswith("dev"))
        return tuple(f"{name}{half}" for half in halves or [""] for name in known)

    def train(self, session: "Session", *, updates: Updates, **how: Any) -> dict[str, Any]:
        features = trained_features(self.splits)
        if self._teacher:
            features = self._teacher.teach(features, self.splits, how.get("folder"), how.get("state"), session.is_chief)
        if self.settings.phases.do_eval:
            needed_later()
        at_once = self.settings.inference.eval_batch_size
        return session.train(features, encoding_batch_size=at_once, updates=updates, **how)

    def facts(self) -> dict[str, Any]:
        cut = {name: split.features.num_truncated for name, split in self.splits.items()}
        return {"labels": list(self.labels), "problem_type": self.problem_type, "cut_examples": cut}

    def evaluate(self, session: Predictor) -> Evaluation:
        """Metrics and scores of each label; of a second half the same, its name behind that of each metric."""
        batch_size, task = self.settings.inference.eval_batch_size, self.data.task
        metrics: dict[str, Any] = {}
        details: dict[str, Any] = {}
        lines: list[str] = []
        rate, examples = 0.0, None
        for split in (name for name in self.splits if name.startswith("dev")):
            features, half = self.splits[split].features, split.removeprefix("dev")
            found = self.found[split] = session.infer(features, batch_size, "evaluating")
            scores = self.answers.evaluate(features.label_ids, found, batch_size)
            metrics |= {f"{key}{half}": value for key, value in scores.metrics.items()}
            details |= {f"{key}{half}": value for key, value in scores.details.items()}
            lines += [f"  {line}" for line in ([half.removeprefix("_")] if half else []) + scores.lines]
            if task:
                main = main_metrics(task.metric, scores.metrics)
                listed = ", ".join(f"{key}{half} = {value!s}" for key, value in main.items())
                lines.append(f"  {self.settings.task.task_name} is measured by {listed}")
            rate = rate or found["examples_per_second"]
            examples = examples or functools.partial(self._eval_examples, session, self.splits[split], found)
        if session.is_chief:
            self.answers.write_companions(self.settings.phases.output_dir)
        return Evaluation(metrics, lines, {"eval_examples_per_second": rate, "eval": details}, examples)

    def _eval_examples(self, session: Predictor, split: Split, found: dict[str, Any]) -> EvalExamples:
        batch_size = self.settings.inference.eval_batch_size
        return explained_examples(
            session, self._tokenizer, split, self.answers, self.problem_type, self.labels, found, batch_size
        )

    def predict(self, session: Predictor) -> dict[str, Any]:
        """Write test_results.tsv, predictions.tsv or what it is to be, and the submission; of a second half the same."""
        rate = 0.0
        for name, split in ((name, split) for name, split in self.splits.items() if name.startswith("test")):
            found = session.infer(split.features, self.settings.inference.predict_batch_size, "predicting")
            rate = rate or found["examples_per_second"]
            if session.is_chief:
                paths = [os.path.join(self.settings.phases.output_dir, each) for each in self.names(name)]
                write_predictions(paths, split, found, self.answers, self.settings.inference.output_format)
        return {"predict_examples_per_second": rate}
