"""Reader of bert-classify's data: a task's files or the user's, and their problem type."""

import dataclasses
import itertools
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.files import exists
from bert_cli.base.formats import quote
from bert_cli.base.log import LOG
from bert_cli.base.names import find_label_problem
from bert_cli.examples.choice import (
    AUTO,
    CHOICE_LABELS,
    FROM_0,
    ChoiceExample,
    find_choice_labels,
    make_choice_examples,
    read_choice_file,
)
from bert_cli.examples.classification import ClassificationExample, find_labels, read_examples
from bert_cli.examples.glue import GlueTask, find_task
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.examples.splitting import split_dev
from bert_cli.examples.task_checks import has_user_test_file
from bert_cli.examples.user_columns import SAMPLE
from bert_cli.examples.user_tables import UserTable, make_examples, read_user_table, skip_unlabeled_rows
from bert_cli.opening.bundle import AnyModel
from bert_cli.predicting.classifier import find_flag_type
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.reading.column_names import has_usual_names
from bert_cli.reading.formats import is_tab_separated, is_text_format
from bert_cli.reading.probe import TableFile, open_table
from bert_cli.runs.tasks.controls import check_choice_flags
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import NOT_TRAINED, TrainedColumns, format_columns

Examples = Sequence[ClassificationExample | ChoiceExample]


@dataclasses.dataclass(frozen=True)
class ClassificationData:
    """Examples and labels that a run has read.

    Attributes:
        problem_type: the labels' problem type.
        labels: label names in output order, () for regression and multiple choice.
        splits: the splits that the phases need, from train, unlabeled, dev and test. With MNLI,
            also dev_mismatched and test_mismatched if their files exist.
        task: the task of --task_name, None for the user's files.
        resolved_flags: flag values that the data decided, for flags.txt.
        guesses: by flag, the training file's columns that no flag names.
    """

    problem_type: ProblemType
    labels: tuple[str, ...]
    splits: dict[str, Examples]
    task: GlueTask | None
    resolved_flags: dict[str, Any]
    guesses: dict[str, str]


def problem_type_from_flags(settings: ClassifySettings) -> ProblemType | None:
    """Return the problem type from --task_name or other flags, or None if the data decides it.

    Raise InputError if two flags imply different types.
    """
    flag_type = find_flag_type(settings.task, settings.label_kind, settings.choices)
    if flag_type and flag_type.has_choices:
        check_choice_flags(settings)
    return flag_type


def find_trained_type(settings: ClassifySettings, model: AnyModel) -> ProblemType:
    """Return the problem type from the flags, or else from a trained model's files."""
    return problem_type_from_flags(settings) or model.head.problem_type or SINGLE_LABEL


class DataReader:
    """Reader of splits; the first split with labels decides labels and problem type."""

    def __init__(
        self,
        settings: ClassifySettings,
        labels: tuple[str, ...] | None,
        problem_type: ProblemType | None,
        tables: Mapping[str, TableFile] = MappingProxyType({}),
        trained_columns: TrainedColumns = NOT_TRAINED,
    ):
        """Prepare to read the files that the settings name.

        Args:
            settings: the run's flags.
            labels: label names from the flag or the trained model, None if the data decides them.
            problem_type: None if the data decides it.
            tables: tables in memory by split, to use instead of files.
            trained_columns: columns that the model's training run has read.

        Raises:
            InputError: there is only one label, but each text must have one.
        """
        # With one label, there is something to learn only if a text may also have no label.
        if labels and len(labels) == 1 and not (problem_type and problem_type.decoder.has_thresholds):
            raise InputError(f"--labels={labels[0]}: two labels are needed, or --problem_type=multi_label")
        for label in settings.encoding.labels or ():
            if problem := find_label_problem(label):
                raise InputError(f"--labels: the label {quote(label)} {problem}")
        self.settings, self.labels, self.tables = settings, labels, tables
        self.trained_columns = trained_columns
        self.skip_unlabeled = settings.missing_labels.skip_unlabeled
        self.task_name = settings.task.task_name
        self.task = find_task(self.task_name) if self.task_name else None
        self.problem_type = problem_type
        self.splits: dict[str, Examples] = {}
        self.resolved_flags: dict[str, Any] = {}
        self.guesses: dict[str, str] = {}
        self.splits_with_ids: set[str] = set()
        self.choice_labels = settings.choices.choice_labels
        # Splits that need no labels. Even with a task, their files may be user-provided tables.
        self.unlabeled_splits = {"unlabeled"}
        if has_user_test_file(self.task, settings.data.predict_file, settings.data.test_file):
            self.unlabeled_splits.add("test")
        if problem_type and problem_type.has_choices:
            self.labels = ()
        # A model without labels.txt, such as one from Google's code, has the task's label order.
        elif self.task and labels is None and not settings.phases.do_train:
            self.labels = self.task.labels

    def read_all(self) -> ClassificationData:
        """Read the splits that the phases need."""
        settings, phases, data = self.settings, self.settings.phases, self.settings.data
        held_out = settings.dev_split.dev_split if data.dev_file is None and "dev" not in self.tables else None
        # Read the train file first, because it decides labels and problem type. With --dev_split,
        # an evaluation needs it too: the same seed selects the same rows.
        if phases.do_train or (phases.do_eval and held_out):
            examples = self._read("train", data.train_file)
            if held_out:
                seed_flag = settings.dev_split.dev_split_seed
                seed = settings.seed.random_seed if seed_flag is None else seed_flag
                problem_type = self.problem_type or SINGLE_LABEL
                examples, dev = split_dev(examples, held_out, seed, problem_type, self.labels or ())
                self.resolved_flags["dev_split_seed"] = seed
                if phases.do_eval:
                    self.splits["dev"] = dev
            if phases.do_train:
                self.splits["train"] = examples
        # These texts have no labels, and the same columns as the training file.
        if phases.do_train and settings.distillation.unlabeled_file:
            self.splits["unlabeled"] = self._read("unlabeled", settings.distillation.unlabeled_file)
        if phases.do_eval and not held_out:
            self._read_held_out("dev", data.dev_file)
        if settings.inference.do_predict:
            self._read_held_out("test", data.predict_file or data.test_file)
        labels, problem_type = self.labels or (), self.problem_type or SINGLE_LABEL
        return ClassificationData(problem_type, labels, self.splits, self.task, self.resolved_flags, self.guesses)

    def _read_held_out(self, split: str, path: str | None) -> None:
        """Read a split, and the second split of MNLI if its file exists.

        Args:
            split: dev or test.
            path: the user's file, None for the task's file.
        """
        self.splits[split] = self._read(split, path)
        other_split = split + self.task.second_half if self.task and not path else split
        if self.task and other_split != split:
            # Google's run_classifier.py reads only the matched split, so a directory that was made
            # for it may lack the mismatched one.
            paths = [os.path.join(self.settings.data.data_dir, layout.file) for layout in self.task.splits[other_split]]
            if any(map(exists, paths)):
                self.splits[other_split] = self._read(other_split, None)

    def _read(self, split: str, path: str | None) -> Examples:
        is_unlabeled = split in self.unlabeled_splits
        if self.problem_type and self.problem_type.has_choices:
            return self._read_choices(split, path)
        layout_split = self._task_split(path) if is_unlabeled else split
        if not self.task_name or layout_split is None:
            return self._read_user_split(split, path)
        data = self.settings.data
        examples = read_examples(
            self.task_name,
            layout_split,
            data.data_dir,
            data.predict_header or "auto" if is_unlabeled else data.header,
            self.labels,
            self.settings.task.language,
            path,
            self.settings.columns.id_column,
            self.settings.text_form,
            needs_label=not is_unlabeled,
            skip_unlabeled=self.skip_unlabeled and layout_split != "test",
        )
        # All splits use the first one's labels: a dev file may lack a rare label.
        self.labels = self.labels or find_labels(self.task_name, examples)
        return examples

    def _task_split(self, path: str | None) -> str | None:
        """Return the task's split that has the same layout as a file, None for a user's table."""
        has_columns = self.settings.columns.text_column is not None
        if not (self.task and path) or has_columns or not is_tab_separated(path):
            return None
        table = open_table(path, "predict_file", self.settings.text_form)
        sample = list(itertools.islice(table.filled_rows(warns=False), SAMPLE))
        # Usual column names are better evidence than the rows' form.
        if not sample or has_usual_names(sample[0].cells):
            return None
        return self.task.detect_split(sample, self.labels or self.task.labels)

    def _read_user_table(self, split: str, path: str | None, choices: Sequence[str] = ()) -> UserTable:
        flag = "predict_file" if split == "test" and self.settings.data.predict_file else f"{split}_file"
        settings, header = self.settings, self.settings.data.header
        needs_label = split not in ("test", "unlabeled")
        if split in self.tables:
            return read_user_table(
                self.tables[split], split, settings.columns, "yes", needs_label, trained=self.trained_columns
            )
        if not path:
            raise InputError(f"--{flag} is needed{_ALTERNATIVES[split]}, or --task_name for the files of a task")
        # A file to predict may have a header even if the training files do not.
        if split in self.unlabeled_splits:
            header = settings.data.predict_header or header
        table = open_table(path, flag, settings.text_form)
        return read_user_table(table, split, settings.columns, header, needs_label, choices, self.trained_columns)

    def _read_choices(self, split: str, path: str | None) -> Examples:
        """Read a split of multiple choice.

        For a file to predict, the columns come from --choice_columns, or else from the task.

        Args:
            split: name of the split.
            path: the user's file, None for the task's file.
        """
        settings, flags = self.settings, self.settings.choices
        is_unlabeled = split in self.unlabeled_splits
        skip_unlabeled = self.skip_unlabeled and split in ("train", "dev")
        if self.task and not (is_unlabeled and flags.choice_columns):
            layout = self.task.splits[split][0]
            path = path or os.path.join(settings.data.data_dir, layout.file)
            id_column, form = settings.columns.id_column, settings.text_form
            file = read_choice_file(path, split, layout, "data_dir", id_column, form)
            return make_choice_examples(skip_unlabeled_rows(file) if skip_unlabeled else file, FROM_0, not is_unlabeled)
        if not flags.choice_columns:
            raise InputError("--choice_columns is needed: the columns of the endings, such as --choice_columns=a,b,c")
        file = self._read_user_table(split, path, flags.choice_columns)
        file = skip_unlabeled_rows(file) if skip_unlabeled and file.has_labels else file
        if self.choice_labels == AUTO and file.has_labels and not is_unlabeled:
            self.choice_labels = find_choice_labels(file)
            LOG.info("%s: took %s for the label", path, CHOICE_LABELS[self.choice_labels])
        if split == "train":
            self._keep_columns(file, MULTIPLE_CHOICE)
            self.resolved_flags["choice_labels"] = self.choice_labels
        return make_choice_examples(file, self.choice_labels, not is_unlabeled)

    def _read_user_split(self, split: str, path: str | None) -> list[ClassificationExample]:
        file = self._read_user_table(split, path)
        # A text file has ids only if a flag names a column.
        has_ids = self.settings.columns.id_column is not None or not is_text_format(file.path)
        if has_ids and file.columns.identifier is not None:
            self.splits_with_ids.add(split)
        if not file.has_labels or split in self.unlabeled_splits:
            return make_examples(file)
        decides_names = split == "train" and self.settings.phases.do_train
        role = FileRole(decides_names, keeps_rows=split == "test", skips_unlabeled=self.skip_unlabeled)
        cells = file.label_cells(self.settings.label_kind.label_separator)
        labels = read_labels(cells, self.problem_type, self.labels, role, file.answers)
        self.problem_type = labels.problem_type
        if not role.keeps_rows:
            self.labels = labels.names
        if split == "train":
            self._keep_columns(file, labels.problem_type)
        examples = make_examples(file, labels.rows)
        return examples if role.keeps_rows else [example for example in examples if example.label is not None]

    def _keep_columns(self, file: UserTable, problem_type: ProblemType) -> None:
        """Keep the training file's columns for flags.txt: columns that flags name, and guesses."""
        columns = file.column_flags()
        guessed = [name for name in columns if getattr(self.settings.columns, name) is None]
        self.guesses = format_columns({name: columns.pop(name) for name in guessed})
        self.resolved_flags = {**columns, "problem_type": problem_type.name}
        if file.columns.choices:
            self.resolved_flags["choice_columns"] = file.flag_names(file.columns.choices)


_ALTERNATIVES = {"train": "", "dev": ", or --dev_split", "test": " or --predict_file"}
