"""Base class for classifiers, which trains them from Python."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, Unpack, overload

from bert_cli.api.inputs.label_rows import read_distribution_rows, read_label_rows
from bert_cli.api.inputs.options import ClassifyOptions, FitOptions
from bert_cli.api.inputs.row_values import row_columns
from bert_cli.api.inputs.tables import (
    COLUMN_ADVICE,
    Data,
    are_numbers,
    check_label_values,
    column_names,
    is_path,
    pair_up,
    read_table,
    refuse_label_columns,
)
from bert_cli.api.inputs.texts import read_texts_argument
from bert_cli.api.results.cross_validation import CrossValidation
from bert_cli.api.training import PythonTraining, TrainableModel
from bert_cli.api.watching import Callback, Watching
from bert_cli.base.errors import InputError, name_arguments_in_errors, refuse_if
from bert_cli.flags.paths import path_text
from bert_cli.metrics.custom import CallersMetrics, CustomMetric, metrics_of_functions
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.reading.probe import TableFile
from bert_cli.run_directory.manifest import LABEL_TYPE
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.runs.tasks.interface import Plan
from bert_cli.settings.classification import ClassifySettings


class MemoryTask(ClassificationTask):
    """Task of bert-classify on tables in memory."""

    def __init__(
        self,
        settings: ClassifySettings,
        tables: Mapping[str, TableFile],
        label_type: str | None,
        has_column_names: bool = False,
        custom_metrics: tuple[CustomMetric, ...] = (),
    ):
        """Use tables instead of files.

        Args:
            settings: the run's flags.
            tables: tables by split, see splits.Inputs.
            label_type: type of the labels, for run.json; None for texts.
            has_column_names: whether label names are a table's columns, and not the caller's option.
            custom_metrics: the caller's metrics.
        """
        super().__init__(settings, tables, custom_metrics)
        self.label_type = label_type
        self.has_column_names = has_column_names

    def plan(self, *arguments: object) -> Plan:
        plan = super().plan(*arguments)  # type: ignore[arg-type]
        values: dict[str, Any] = {LABEL_TYPE: self.label_type} if self.label_type else {}
        has_flag_labels = plan.has_flag_labels and not self.has_column_names
        return plan._replace(deciding_values=plan.deciding_values | values, has_flag_labels=has_flag_labels)


class TrainableClassifier(TrainableModel):
    """Base class for Classifier."""

    @overload
    @classmethod
    def train(
        cls,
        train: Data = None,
        *,
        cross_validation: int,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        metrics: CallersMetrics | None = None,
        **options: Unpack[ClassifyOptions],
    ) -> CrossValidation: ...
    @overload
    @classmethod
    def train(
        cls,
        train: Data = None,
        dev: Data = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        metrics: CallersMetrics | None = None,
        **options: Unpack[ClassifyOptions],
    ) -> Self: ...
    @classmethod
    @name_arguments_in_errors(train_file="train", dev_file="dev")
    def train(
        cls,
        train: Data = None,
        dev: Data = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        metrics: CallersMetrics | None = None,
        **options: Any,
    ) -> Self | CrossValidation:
        """Train as bert-classify does, and load the trained model.

        Args:
            train: training data: a path as for --train_file, a pandas.DataFrame, or a list. List
                items are dicts such as {"text": …, "label": …}, or tuples (text, label) or (text,
                text_b, label). None if the options task_name and data_dir name the data.
            dev: data to evaluate, in the same forms; None for no evaluation.
            output_dir: the run's directory. By default a temporary one that is deleted together
                with the classifier.
            callbacks, verbose: observers, and how much to show, see api.watching.Watching.
            metrics: functions by name, see `Classifier.evaluate`.
            options: flags of bert-classify without dashes. The most common ones: init_checkpoint
                (the built-in model), num_train_epochs (3.0; 4.0 for small models), learning_rate
                (5e-5; up to 3e-4 for small models), train_batch_size=32, max_seq_length=128,
                dev_split=0.0, random_seed=12345.
                Options of the data are text_column, label_column and problem_type.

        Returns:
            The classifier; with cross_validation=k a CrossValidation, because no model remains.

        Raises:
            InputError: if bert-classify would refuse the data or options. The message names
                arguments, and train[row] for rows that are not from a file.
        """
        arguments = (("train", train), ("dev", dev))
        tables = {name: read_table(name, data) for name, data in arguments if data is not None and not is_path(data)}
        paths = {f"{name}_file": path_text(data, name) for name, data in arguments if is_path(data)}
        return cls._train_on(
            tables, paths, dev is not None, output_dir, options, Watching(callbacks, verbose), metrics=metrics
        )

    @overload
    @classmethod
    def fit(
        cls,
        texts: Any,
        labels: Iterable,
        *,
        cross_validation: int,
        sample_weight: Iterable[float] | None = None,
        groups: Iterable | None = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        metrics: CallersMetrics | None = None,
        **options: Unpack[FitOptions],
    ) -> CrossValidation: ...
    @overload
    @classmethod
    def fit(
        cls,
        texts: Any,
        labels: Iterable,
        dev_texts: Iterable[str | tuple[str, str]] | None = None,
        dev_labels: Iterable | None = None,
        sample_weight: Iterable[float] | None = None,
        groups: Iterable | None = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        metrics: CallersMetrics | None = None,
        **options: Unpack[FitOptions],
    ) -> Self: ...
    @classmethod
    @name_arguments_in_errors(
        absent=COLUMN_ADVICE,
        dev_file="dev_texts",
        skip_unlabeled="skip_unlabeled=True",
        group_column="groups",
        weight_column="sample_weight",
    )
    def fit(
        cls,
        texts: Any,
        labels: Iterable,
        dev_texts: Iterable[str | tuple[str, str]] | None = None,
        dev_labels: Iterable | None = None,
        sample_weight: Iterable[float] | None = None,
        groups: Iterable | None = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        metrics: CallersMetrics | None = None,
        **options: Any,
    ) -> Self | CrossValidation:
        """Train on texts and labels in memory, otherwise as `train` does.

        Args:
            texts: n texts, or n pairs of texts, in any sequence; or a table with one or two columns
                of texts, such as a pandas.DataFrame.
            labels: n labels. A label is a text or a whole number; a list of labels, which may be
                empty; a row of 0 and 1, with one number per label; or a float, which makes the
                classifier predict numbers. Rows may be an array, lists, or a DataFrame with label
                names as columns. If each has one label, they are single labels, unless problem_type
                is "multi_label". With soft_labels=True, a row has a probability per label. With
                skip_unlabeled=True, texts with the label None are omitted.
            dev_texts, dev_labels: data to evaluate; alternatively use dev_split=0.1.
            sample_weight: n factors for the texts' losses, 0 or more; only their ratios matter. None
                for equal weights. With distill_from, they also weight the loss with the teacher, and
                texts of unlabeled_file have the weight 1.
            groups: n groups as texts or numbers, such as each text's patient or author. dev_split and
                cross_validation keep a group's texts together.
            output_dir, callbacks, verbose, metrics: see `train`.
            options: flags of bert-classify without dashes. The most common ones: init_checkpoint
                (the built-in model), num_train_epochs (3.0; 4.0 for small models), learning_rate
                (5e-5; up to 3e-4 for small models), train_batch_size=32, max_seq_length=128,
                dev_split=0.0, random_seed=12345.
                class_weights may be a dict.

        Returns:
            The classifier; with cross_validation=k a CrossValidation, because no model remains.
        """
        refuse_label_columns("texts", texts, labels)
        read_rows = read_distribution_rows if options.get("soft_labels") else read_label_rows
        label_rows = read_rows("labels", labels)  # a generator can be read only once
        texts = read_texts_argument(texts)
        check_label_values(texts, label_rows, bool(options.get("skip_unlabeled")))
        columns = column_names(texts, labels)
        further = row_columns(len(texts), columns, groups, sample_weight)
        tables = {"train": pair_up("texts", texts, label_rows.items, columns, further.columns)}
        # The caller's options win.
        has_column_names = label_rows.names is not None and "labels" not in options
        options = label_rows.options() | columns.options(texts.has_pairs) | further.options | options
        weighs = dev_texts is not None and options.get("weighted_metrics")
        refuse_if(weighs, "weighted_metrics: dev_texts have no weights; use dev_split, or train with tables")
        if (dev_texts is None) != (dev_labels is None):
            raise InputError("dev_texts and dev_labels: one is missing; give both or none")
        if dev_texts is not None and dev_labels is not None:
            dev_rows = read_rows("dev_labels", dev_labels, label_rows.names)
            tables["dev"] = pair_up("dev_texts", dev_texts, dev_rows.items, columns)
        if are_numbers(label_rows.items):
            options = {"problem_type": REGRESSION.name} | options
        watching = Watching(callbacks, verbose)
        label_type = label_rows.label_type
        has_dev = dev_texts is not None
        result = cls._train_on(
            tables, {}, has_dev, output_dir, options, watching, label_type, has_column_names, metrics
        )
        if isinstance(result, CrossValidation):
            return result.with_index(texts.to_frame().index).with_label_type(label_type)
        return result

    @classmethod
    def _train_on(
        cls,
        tables: dict[str, TableFile],
        paths: dict[str, str],
        has_dev: bool,
        output_dir: str | os.PathLike | None,
        options: dict[str, Any],
        watching: Watching,
        label_type: str | None = None,
        has_column_names: bool = False,
        metrics: CallersMetrics | None = None,
    ) -> Self | CrossValidation:
        if has_dev and options.get("dev_split"):
            raise InputError("--dev_file and --dev_split: give one of them")
        folds = options.get("cross_validation")
        refuse_if(has_dev and folds, "--dev_file and --cross_validation: give one of them; each fold is held out once")
        # A GLUE task has its own dev file.
        evaluates = has_dev or bool(options.get("dev_split") or options.get("task_name"))
        phases = {"train_file": None, "dev_file": None} | paths | {"do_eval": evaluates}

        custom_metrics = metrics_of_functions(metrics or {})

        def make_task(settings: ClassifySettings) -> ClassificationTask:
            return MemoryTask(settings, tables, label_type, has_column_names, custom_metrics)

        training = PythonTraining(ClassifySettings, make_task, phases, output_dir, options, watching)
        return training.cross_validate() if folds else cls._load_trained(training)
