"""The task of bert-classify: its splits, head, metrics and files."""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE, CLASSIFIER
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.metrics.classification import SLOW_PACKAGES
from bert_cli.metrics.custom import CustomMetric, load_metrics
from bert_cli.metrics.selection import MetricsByName
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.paths import run_folders
from bert_cli.opening.trained import read_trained_columns
from bert_cli.predicting.classifier import build_choice, build_classifier, classifier_network
from bert_cli.problem_types.kinds import CLASSIFICATION
from bert_cli.problem_types.parts import PredictionArrays
from bert_cli.reading.probe import TableFile
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.classification.data import find_trained_type, problem_type_from_flags, read_data
from bert_cli.runs.tasks.classification.dataset import (
    ClassificationDataset,
    check_weights,
    deciding_data,
    list_split_names,
    loss_columns,
    metric_weights,
    prediction_tables,
)
from bert_cli.runs.tasks.classification.decoder import (
    FittingDecoder,
    ScoredTargets,
    add_custom_metrics,
    bootstrap_splits,
    check_calibration,
    make_fitting_decoder,
    remove_calibration,
)
from bert_cli.runs.tasks.classification.distillation import load_teacher
from bert_cli.runs.tasks.classification.encoded_splits import ClassificationSplit, make_split
from bert_cli.runs.tasks.classification.explanation import explain_eval_examples
from bert_cli.runs.tasks.classification.method import plan_method, with_method
from bert_cli.runs.tasks.classification.results import FittedPredictions, add_split_suffix, score_baselines
from bert_cli.runs.tasks.interface import BaselineComparison, Evaluation, Plan, Recipe, Task, fine_tuning_plan
from bert_cli.settings.classification import CONTRASTIVE, ClassifySettings, check_filled_data
from bert_cli.settings.data import TrainedColumns

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel
    from bert_cli.inference.tensorflow import TensorFlowEngine
    from bert_cli.runs.engine.training_inputs import RowInput

# Head type of a problem type -> function that builds the network.
_BUILDERS = {CLASSIFIER: build_classifier, CHOICE: build_choice}


def find_trained_labels(settings: ClassifySettings, model: AnyModel) -> tuple[str, ...] | None:
    """Return a trained model's labels, see HeadDescription.label_names."""
    problem_type = find_trained_type(settings, model)
    return model.head.label_names(problem_type, settings.encoding.labels or (), settings.task.task_name)


class ClassificationTask(Task[AnyModel, ClassificationDataset, FittedPredictions]):
    """Task of bert-classify; see interface.Task for its methods."""

    command = CLASSIFICATION.command
    settings: ClassifySettings

    def __init__(
        self,
        settings: ClassifySettings,
        tables: Mapping[str, TableFile] = MappingProxyType({}),
        custom_metrics: tuple[CustomMetric, ...] = (),
    ):
        """Use these settings, and `tables` instead of files, see splits.Inputs.

        Args:
            tables: tables by split.
            custom_metrics: further metrics than in --metric.
        """
        super().__init__(with_method(settings))
        self.custom_metrics = (*load_metrics(settings.custom.metric or ()), *custom_metrics)
        self.tables = tables
        self._flag_problem_type = problem_type_from_flags(settings)

    @property
    def slow_packages(self) -> tuple[str, ...]:
        return SLOW_PACKAGES if self.settings.phases.do_eval else ()

    def read(self, model: AnyModel, stack: contextlib.ExitStack) -> ClassificationDataset:
        """Read the splits that the phases need; without training, take labels from the model."""
        settings, phases = self.settings, self.settings.phases
        problem_type = self._flag_problem_type
        # Check flags before reading files, so that a wrong combination is reported immediately.
        check_filled_data(settings)
        labels = settings.encoding.labels or None
        folders = []
        columns = TrainedColumns()
        # Training takes labels from the data. A trained model has a fixed label order.
        if not phases.do_train:
            problem_type = problem_type or model.head.problem_type
            labels = find_trained_labels(settings, model)
            folders = [phases.output_dir, *run_folders(model.required_checkpoint)]
            columns = read_trained_columns(model, settings.columns, settings.task.task_name)
        data = read_data(settings, labels, problem_type, self.tables, columns)
        label_names = data.labels
        if label_names is None:
            raise InputError("the model has no labels.txt; give --labels in the order of its outputs")
        # Only a prediction without an evaluation needs stored thresholds.
        should_tune = phases.do_eval or not settings.inference.do_predict
        if settings.calibration.calibrate:
            check_calibration(settings, model, data.problem_type)
        positive = settings.label_kind.positive_label
        decoder = make_fitting_decoder(
            data.problem_type, label_names, settings.inference, should_tune, folders, positive
        )
        if not phases.do_train:
            decoder = decoder.with_calibration(model.head.calibration(data.problem_type, label_names))
        if settings.calibration.calibrate and phases.do_eval:
            decoder = dataclasses.replace(decoder, calibration_flags=settings.calibration)
        splits = {
            name: make_split(name, examples, label_names, model.tokenizer, data.problem_type, settings.encoding)
            for name, examples in data.splits.items()
        }
        tried = next((split.features.label_ids for name, split in splits.items() if name != "unlabeled"), np.array([]))
        decoder = add_custom_metrics(decoder, self.custom_metrics, tried)
        for name, split in splits.items():
            is_dev = np.full(len(split.examples), name != "train")
            check_weights(split.features.weights, is_dev, settings.rows.weighted_metrics)
        if description := data.problem_type.columns.describe_names(label_names):
            LOG.info("labels: %s", description)
        positive_label = decoder.problem_type.metrics.positive_label(decoder.labels)
        if positive_label and (phases.do_eval or settings.sweep.cross_validation):
            LOG.info("eval_f1 is of the label %s; --positive_label chooses the other one", positive_label)
        # Load the teacher last, because that takes time: errors in the data are reported first.
        teacher = None
        if settings.distillation.distill_from:
            teacher = load_teacher(ClassificationTask, ClassificationDataset, settings, label_names, data.problem_type)
        return ClassificationDataset(
            settings,
            decoder,
            model.tokenizer,
            splits,
            data.task,
            data.resolved_flags,
            data.guesses,
            teacher,
            data.facts,
        )

    def plan(self, model: AnyModel, data: ClassificationDataset, recipe: Recipe) -> Plan:
        features, problem_type = data.training_features(), data.decoder.problem_type
        do_lower_case = model.tokenizer.do_lower_case
        labels = data.decoder.labels.names or None
        # A flag cannot hold a label with a comma. Later runs read such labels from the data again.
        has_comma = any("," in label for label in labels or ())
        resolved_flags = {**data.resolved_flags, "problem_type": problem_type.name, "do_lower_case": do_lower_case}
        resolved_flags["labels"] = None if has_comma else labels
        weights = controls.class_weights(self.settings.loss, problem_type, labels or (), features.label_ids)
        values: dict[str, object] = {
            "deciding_values": deciding_data(data, features, do_lower_case),
            "resolved_flags": resolved_flags,
            "labels": labels,
            "class_weights": weights,
            "has_flag_labels": bool(self.settings.encoding.labels),
            "head_type": problem_type.head_type,
            "head_bias": problem_type.decoder.initial_bias(data.splits["train"].features.label_ids),
        }
        plan = fine_tuning_plan(self.settings, recipe, len(features), len(features), guesses=data.guesses, **values)
        return plan_method(plan, self.settings, problem_type, features.label_ids)

    def make_model(self, model: AnyModel, data: ClassificationDataset, options: "NetworkOptions") -> "TaskModel":
        # Import late: heads import TensorFlow (seconds), and a wrong flag must fail fast.
        from bert_cli.heads.classification import BertContrastiveClassifier
        from bert_cli.heads.losses import DistillationLoss

        flags, text_input = self.settings.distillation, self.settings.head.text_input
        problem_type = data.decoder.problem_type
        if self.settings.phases.do_train and self.settings.method.method == CONTRASTIVE:
            num_outputs = problem_type.reader.output_count(data.decoder.labels.names)
            return BertContrastiveClassifier(model.config, num_outputs, problem_type.name, text_input, **options)
        distillation = DistillationLoss(flags.distill_temperature, flags.distill_share) if data.teacher else None
        long_text, build = self.settings.encoding.long_text, _BUILDERS[problem_type.head_type]
        return build(model.config, data.decoder, text_input, long_text, options, distillation, loss_columns(data))

    def network(self, model: AnyModel, data: ClassificationDataset) -> FineTunedNetwork:
        return classifier_network(data.decoder, self.settings.head.text_input)

    def training_input(
        self, data: ClassificationDataset, directory: RunDirectory | None, resumes: bool, is_chief: bool
    ) -> "RowInput":
        """Return the training rows, with the teacher's logits if there is a teacher.

        The teacher computes them here, once per run. See Task.training_input.
        """
        from bert_cli.runs.engine.training_inputs import RowInput

        features = data.training_features()
        if directory and is_chief:
            remove_calibration(directory)
        if data.teacher:
            texts = [text for name in data.training_splits if name in data.splits for text in data.splits[name].texts]
            num_labeled = len(data.splits["train"].examples)
            features = data.teacher.teach(features, texts, num_labeled, directory, resumes, is_chief)
        return RowInput(features, self.settings.inference.eval_batch_size)

    def fit_head(self, engine: "TensorFlowEngine", data: ClassificationDataset, class_weights: tuple | None) -> float:
        from bert_cli.runs.engine.head_fit import fit_head

        features = data.training_features()
        row_weights = features.weights
        if class_weights:
            of_labels = np.array(class_weights)[features.label_ids]
            row_weights = of_labels if row_weights is None else row_weights * of_labels
        batch_size = self.settings.inference.eval_batch_size
        return fit_head(engine, features, features.label_ids, row_weights, data.decoder.problem_type, batch_size)

    def evaluate(self, predictor: Predictor, data: ClassificationDataset) -> Evaluation[FittedPredictions]:
        """Return metrics and scores per label.

        MNLI has a second dev split; its metrics have the suffix "_mismatched". The evaluation's
        `details` are the decoder with tuned thresholds, and the predictions for the first split.
        """
        batch_size = self.settings.inference.eval_batch_size
        metrics: MetricsByName = {}
        details: JsonObject = {}
        lines: list[str] = []
        decoder = self._decoder(data)
        computed: dict[str, tuple[ClassificationSplit, PredictionArrays]] = {}
        rates: list[float] = []
        weights = {name: metric_weights(data, name) for name in list_split_names(data, "dev")}
        for name in weights:
            split, suffix = data.splits[name], name.removeprefix("dev")
            raw_predictions, rate = decoder.infer_raw(predictor, split.features, batch_size, "evaluating")
            label_ids = split.features.label_ids
            # Calibrate on the matched split of MNLI. No task with two dev splits has thresholds.
            if not computed or decoder.should_tune:
                decoder = decoder.fit(label_ids, raw_predictions)
            predictions = decoder.calibrate(raw_predictions, label_ids)
            targets = ScoredTargets(weights[name], split.distributions)
            scores = decoder.score(label_ids, raw_predictions, predictions, batch_size, targets)
            scores = add_split_suffix(scores, suffix, self.settings.task.task_name, data.glue_task)
            metrics |= scores.metrics
            details |= scores.details
            lines += scores.lines
            computed[name] = split, predictions
            rates.append(rate)
        # Several processes would write the same file at the same time.
        if predictor.is_chief:
            decoder.write(RunDirectory(self.settings.phases.output_dir))
        split, predictions = next(iter(computed.values()))
        # Explanations use the tuned thresholds and the temperatures.
        data = dataclasses.replace(data, decoder=decoder)
        examples = functools.partial(explain_eval_examples, predictor, data, split, predictions, batch_size)
        report: JsonObject = {"eval_examples_per_second": rates[0], "eval": details}
        if decoder.calibration:
            report["calibration"] = decoder.calibration.facts(decoder.temperature_names)
        samples, seed = self.settings.bootstrap.bootstrap, self.settings.seed.random_seed
        intervals = functools.partial(bootstrap_splits, decoder, computed, weights, samples, seed)
        return Evaluation(metrics, lines, report, FittedPredictions(decoder, predictions), examples, intervals)

    def _decoder(self, data: ClassificationDataset) -> FittingDecoder:
        """Return the dataset's decoder; after training, with the calibration in output_dir.

        Training removes calibration.json, unless it was already finished.
        """
        phases = self.settings.phases
        if not phases.do_train:
            return data.decoder
        return data.decoder.with_stored_calibration(RunDirectory(phases.output_dir))

    def compare(self, data: ClassificationDataset, evaluation: Evaluation[FittedPredictions]) -> BaselineComparison:
        """Compare the evaluation with baselines, for MNLI on the matched split."""
        split, (decoder, predictions) = data.splits[list_split_names(data, "dev")[0]], evaluation.details
        problem_type = data.decoder.problem_type
        is_varied = len(np.unique(split.features.label_ids, axis=0)) > 1
        collapse = problem_type.metrics.collapse(predictions, decoder.labels) if is_varied else ""
        baselines = {}
        if train := data.splits.get("train"):
            num_outputs = train.num_outputs(decoder.labels.names)
            seed, batch_size = self.settings.seed.random_seed, self.settings.inference.eval_batch_size
            weights = metric_weights(data, list_split_names(data, "dev")[0])
            baselines = score_baselines(decoder, train, split, num_outputs, seed, batch_size, weights)
        advice = self.learning_advice(data) or (problem_type.metrics.collapse_advice if collapse else "")
        return BaselineComparison(baselines, is_varied, collapse, advice, problem_type.metrics.error)

    def learning_advice(self, data: ClassificationDataset) -> str:
        train = data.splits.get("train")
        return data.decoder.problem_type.reader.learning_advice(train.features.label_ids) if train else ""

    def guess_loss(self, data: ClassificationDataset) -> float | None:
        # With a teacher, the loss includes a divergence, so its value for a guess is unknown.
        if data.teacher:
            return None
        num_outputs = data.splits["train"].num_outputs(data.decoder.labels.names)
        label_ids = data.training_features().label_ids
        return data.decoder.problem_type.metrics.guess_loss(label_ids, num_outputs)

    def predict(
        self, predictor: Predictor, data: ClassificationDataset, evaluation: Evaluation[FittedPredictions] | None
    ) -> JsonObject:
        """Write test_results.tsv, predictions and the submission per test split; see Task.predict."""
        # Use the thresholds that the evaluation in the same run has tuned.
        decoder = evaluation.details.decoder if evaluation else self._decoder(data)
        batch_size = self.settings.inference.predict_batch_size
        tables = prediction_tables(data)
        rates: list[float] = []
        for name in list_split_names(data, "test"):
            split = data.splits[name]
            raw_predictions, rate = decoder.infer_raw(predictor, split.features, batch_size, "predicting")
            predictions = decoder.calibrate(raw_predictions, split.features.label_ids)
            rates.append(rate)
            if predictor.is_chief:
                paths = [os.path.join(self.settings.phases.output_dir, table) for table in tables.names(name)]
                tables.write(paths, split, predictions, decoder)
        return {"predict_examples_per_second": next(filter(None, rates), 0.0)}
