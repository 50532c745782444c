"""What is of bert-classify alone: its splits, its head, its metrics, its files."""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, HeadSpec
from bert_cli.base.log import LOG
from bert_cli.examples.table_files.probe import TableFile
from bert_cli.features.choice import ChoiceFeatures
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.metrics.classification import main_metrics, preload
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.engine.predictor import InferenceHead, Predictor, endings_side_by_side, row_means
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.loading.trained import trained_columns, trained_labels
from bert_cli.runs.output_dir import run_folder
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.classification.baselines import baselines
from bert_cli.runs.tasks.classification.calibration import check_calibration, drop_calibration
from bert_cli.runs.tasks.classification.data import DataReader
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset, Split, make_split
from bert_cli.runs.tasks.classification.decoder import Answers, make_answers
from bert_cli.runs.tasks.classification.explanation import explained_examples
from bert_cli.runs.tasks.classification.flag_checks import check_submission, known_problem_type
from bert_cli.runs.tasks.classification.teacher import load_teacher
from bert_cli.runs.tasks.interface import Comparison, Evaluation, Plan, Task
from bert_cli.settings.checks import check_filled_data
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import TrainedColumns
from bert_cli.settings.groups import WINDOWS

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel
    from bert_cli.runs.engine.training_inputs import RowInput


class ClassificationTask(Task[AnyModel, ClassificationDataset]):
    """bert-classify; see interface.Task."""

    command = "bert-classify"
    settings: ClassifySettings

    def __init__(self, settings: ClassifySettings, tables: Mapping[str, TableFile] = MappingProxyType({})):
        """tables: see data.DataReader."""
        super().__init__(settings)
        self.tables = tables
        self._known = known_problem_type(settings)

    def again(self, settings: ClassifySettings) -> "ClassificationTask":
        return ClassificationTask(settings, self.tables)

    def trained_problem_type(self, model: AnyModel) -> ProblemType:
        """What the flags say, else the files of a trained model."""
        return self._known or model.problem_type or SINGLE_LABEL

    def trained_labels(self, model: AnyModel) -> tuple[str, ...]:
        """Return the labels of a trained model, () for a number, a choice, and a task whose files have labels."""
        settings, problem_type = self.settings, self.trained_problem_type(model)
        labels = trained_labels(settings.encoding.labels or (), model, problem_type)
        needs_names = not labels and not settings.task.task_name and problem_type.has_named_outputs
        return model.generic_labels if needs_names else labels

    def for_new_texts(self, model: AnyModel, labels: tuple[str, ...], folders: Sequence[str]) -> ClassificationDataset:
        """A dataset without rows, for texts that come later; folders: where thresholds.json may be."""
        problem_type = self.trained_problem_type(model)
        answers = make_answers(problem_type, labels, self.settings.inference, False, folders)
        answers = answers.with_calibration(model.calibration(problem_type, labels))
        return ClassificationDataset(self.settings, answers, model.tokenizer)

    def read(self, model: AnyModel, stack: contextlib.ExitStack) -> ClassificationDataset:
        """Labels come from the checkpoint where it is trained."""
        settings, phases = self.settings, self.settings.phases
        known = self._known
        # Before any file is read: a wrong combination of flags is reported at once.
        check_submission(settings)
        check_filled_data(settings)
        labels = settings.encoding.labels or ()
        folders = []
        columns = TrainedColumns()
        # A training takes its labels from the data; a trained model has the order of its outputs.
        if not phases.do_train:
            known = known or model.problem_type
            labels = self.trained_labels(model)
            folders = [phases.output_dir, *run_folders(model.required_checkpoint)]
            columns = trained_columns(model, settings.columns)
        data = DataReader(settings, labels or None, known, self.tables, columns).read_all()
        if not data.labels and data.problem_type.has_named_outputs:
            raise InputError("the model has no labels.txt; give --labels in the order of its outputs")
        # A run that does neither leaves it to a later one to find thresholds.
        tunes = phases.do_eval or not settings.inference.do_predict
        check_calibration(settings, model, data.problem_type)
        answers = make_answers(data.problem_type, data.labels, settings.inference, tunes, folders)
        if not phases.do_train:
            answers = answers.with_calibration(model.calibration(data.problem_type, data.labels))
        if settings.calibration.calibrate and phases.do_eval:
            answers = dataclasses.replace(answers, calibrates=settings.calibration)
        splits = {
            name: make_split(name, examples, data.labels, model.tokenizer, data.problem_type, settings.encoding)
            for name, examples in data.splits.items()
        }
        if not data.problem_type.has_endings:
            LOG.info("labels: %s", ", ".join(data.labels) or "none, a number is predicted")
        # Last, as it reads another model: errors of the own data come first.
        teacher = None
        if settings.distillation.distill_from:
            teacher = load_teacher(ClassificationTask, settings, data.labels, data.problem_type)
        return ClassificationDataset(
            settings, answers, model.tokenizer, splits, data.task, data.found, data.guesses, teacher
        )

    def plan(self, model: AnyModel, data: ClassificationDataset) -> Plan:
        features, problem_type = data.training_features(), data.problem_type
        sequences = features.sequences
        lower = model.tokenizer.do_lower_case
        labels = data.labels or None
        # A name with a comma cannot be given as a flag; such labels come from the data and are
        # found there again.
        has_comma = any("," in label for label in data.labels)
        decided = {
            "labels": list(labels) if labels else None,
            "do_lower_case": lower,
            "training_data": run_folder.digest(sequences.token_ids, sequences.offsets, features.label_ids),
            "train_examples": len(features),
            # Runs from before there were other problem types list none.
            **({} if problem_type is SINGLE_LABEL else {"problem_type": problem_type.name}),
            **({"distill_from": data.teacher.identity} if data.teacher else {}),
        }
        found = {**data.found, "problem_type": problem_type.name, "do_lower_case": lower}
        found["labels"] = None if has_comma else labels
        weights = controls.class_weights(self.settings.loss, problem_type, data.labels, features.label_ids)
        values = {"decided": decided, "found": found, "labels": labels, "class_weights": weights}
        return self.fine_tuning_plan(len(features), len(features), guesses=data.guesses, **values)

    def make_model(self, model: AnyModel, data: ClassificationDataset, options: "NetworkOptions") -> "TaskModel":
        # Here, as heads import TensorFlow, which takes seconds and is not needed where a flag is
        # wrong.
        from bert_cli.heads.choice import BertChoice
        from bert_cli.heads.classification import BertClassifier, BertWindowsClassifier
        from bert_cli.heads.losses import Distillation

        given = self.settings.distillation
        has_windows = self.settings.encoding.long_text == WINDOWS
        distillation = Distillation(given.distill_temperature, given.distill_share) if data.teacher else None
        kind = BertWindowsClassifier if has_windows else BertClassifier
        if data.problem_type.has_endings:
            kind = BertChoice
        count = data.problem_type.output_count(data.labels)
        return kind(model.config, count, data.problem_type.name, self.settings.head.text_input, distillation, **options)

    def inference_head(self, model: AnyModel, data: ClassificationDataset, flag: str) -> InferenceHead:
        problem_type = data.problem_type
        count = problem_type.output_count(data.labels)
        spec = HeadSpec(CLASSIFIER, count, self.settings.head.text_input, activation=problem_type.activation)
        has_windows = self.settings.encoding.long_text == WINDOWS and not problem_type.has_endings
        join = row_means if has_windows else endings_side_by_side if problem_type.has_endings else None

        def postprocess(logits: np.ndarray, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return problem_type.postprocess(logits, batch["label_ids"]) | {"logits": logits}

        return InferenceHead(spec, postprocess, "a fine-tuned classifier", join, has_windows)

    def training_input(
        self, data: ClassificationDataset, folder: str | None, resumes: bool, writes: bool
    ) -> "RowInput":
        """The training rows, with a teacher's logits, which it computes here, once for a run."""
        from bert_cli.runs.engine.training_inputs import RowInput

        features = data.training_features()
        if folder and writes:
            drop_calibration(folder)
        if data.teacher:
            assert isinstance(features, ClassificationFeatures), "load_teacher refuses multiple choice"
            label_count = len(data.splits["train"].examples)
            features = data.teacher.teach(features, data.trained_texts, label_count, folder, resumes, writes)
        # The training runs in C++ for minutes, while a thread can import what the scores need.
        if self.settings.phases.do_eval:
            preload()
        return RowInput(features, self.settings.inference.eval_batch_size)

    def evaluate(self, predictor: Predictor, data: ClassificationDataset) -> Evaluation:
        """Metrics and scores of each label; of a second split the same, its name after the name of
        each metric.

        details: the answers, with the thresholds that were tuned, and what the model found of the
        first half.
        """
        batch_size = self.settings.inference.eval_batch_size
        task = data.glue_task
        metrics: dict[str, Any] = {}
        details: dict[str, Any] = {}
        lines: list[str] = []
        answers = self._answers(data)
        computed: list[tuple[Split, dict[str, Any]]] = []
        for name in data.halves("dev"):
            split, half = data.splits[name], name.removeprefix("dev")
            before = predictor.infer(split.features, batch_size, "evaluating")
            label_ids = split.features.label_ids
            # Of two halves the first one is calibrated on; no task of two halves has thresholds.
            if not computed or answers.tunes:
                answers = answers.fitted(label_ids, before)
            found = answers.calibrated(before, label_ids)
            scores = answers.scores(label_ids, before, found, batch_size)
            metrics |= {f"{key}{half}": value for key, value in scores.metrics.items()}
            details |= {f"{key}{half}": value for key, value in scores.details.items()}
            lines += [f"  {line}" for line in ([half.removeprefix("_")] if half else []) + scores.lines]
            if task and (main := main_metrics(task.metric, scores.metrics)):
                listed = ", ".join(f"{key}{half} = {value!s}" for key, value in main.items())
                lines.append(f"  {self.settings.task.task_name} is measured by {listed}")
            computed.append((split, found))
        # Several processes would write the same file at the same time.
        if predictor.is_chief:
            answers.write(self.settings.phases.output_dir)
        split, found = computed[0]
        # Explanations need the tuned thresholds and the temperatures, too.
        data = dataclasses.replace(data, answers=answers)
        examples = functools.partial(explained_examples, predictor, data, split, found, batch_size)
        report: dict[str, Any] = {"eval_examples_per_second": found["examples_per_second"], "eval": details}
        if answers.calibration:
            report["calibration"] = answers.calibration.facts(answers.temperature_names)
        return Evaluation(metrics, lines, report, examples, (answers, found))

    def _answers(self, data: ClassificationDataset) -> Answers:
        """The data's, after a training with what is stored: a training that had steps to do has removed
        what an earlier evaluation stored.
        """
        phases = self.settings.phases
        return data.answers.stored(phases.output_dir) if phases.do_train else data.answers

    def compare(self, data: ClassificationDataset, evaluation: Evaluation) -> Comparison:
        """Of two halves the first one is compared."""
        split, (answers, found) = data.splits[data.halves("dev")[0]], evaluation.details
        label_ids = split.features.label_ids
        problem_type = data.problem_type
        is_varied = len(np.unique(label_ids, axis=0)) > 1
        collapse = problem_type.collapse(found, answers.labels) if is_varied else ""
        known = baselines(data, split, answers, self.settings.inference.eval_batch_size)
        advice = self.learning_advice(data) or (problem_type.collapse_advice if collapse else "")
        return Comparison(known, is_varied, collapse, advice)

    def learning_advice(self, data: ClassificationDataset) -> str:
        train = data.splits.get("train")
        return data.problem_type.learning_advice(train.features.label_ids) if train else ""

    def guess_loss(self, data: ClassificationDataset) -> float | None:
        # A teacher adds a divergence to the loss.
        if data.teacher:
            return None
        features = data.training_features()
        outputs = features.num_endings if isinstance(features, ChoiceFeatures) else len(data.labels)
        return data.problem_type.guess_loss(features.label_ids, outputs)

    def predict(
        self, predictor: Predictor, data: ClassificationDataset, evaluation: Evaluation | None
    ) -> dict[str, Any]:
        """Write test_results.tsv, predictions.tsv or what it is to be, and the submission; of a
        second half the same.
        """
        # With the thresholds that the evaluation of the same run has tuned.
        answers = evaluation.details[0] if evaluation else self._answers(data)
        rate = 0.0
        for name in data.halves("test"):
            split = data.splits[name]
            found = answers.infer(predictor, split.features, self.settings.inference.predict_batch_size, "predicting")
            rate = rate or found["examples_per_second"]
            if predictor.is_chief:
                paths = [os.path.join(self.settings.phases.output_dir, each) for each in data.names(name)]
                data.write_predictions(paths, split, found, answers)
        return {"predict_examples_per_second": rate}
