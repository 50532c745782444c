"""The data of a bert-classify run: files of a task or a user's own, and their problem type."""

import dataclasses
import itertools
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.files import exists
from bert_cli.base.log import LOG
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
from bert_cli.examples.table_files.column_names import has_usual_names
from bert_cli.examples.table_files.formats import is_tab_separated, is_text_format
from bert_cli.examples.table_files.probe import TableFile, open_table
from bert_cli.examples.user_columns import SAMPLE
from bert_cli.examples.user_tables import UserTable, make_examples, read_user_table, skip_unlabeled_rows
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import NOT_TRAINED, TrainedColumns, written_columns

Examples = Sequence[ClassificationExample | ChoiceExample]


@dataclasses.dataclass(frozen=True)
class ClassificationData:
    """labels: in the order of the output columns, () for a regression and a choice. splits: of
    train, unlabeled, dev and test those that the phases need, and the other halves of the task that
    are there. task: None for own files. found: values of flags that the data gave. guesses: columns
    of the training file that no flag names.
    """

    problem_type: ProblemType
    labels: tuple[str, ...]
    splits: dict[str, Examples]
    task: GlueTask | None
    found: dict[str, Any]
    guesses: dict[str, str]


def has_own_test(task: GlueTask | None, predict_file: str, test_file: str | None) -> bool:
    """Whether the file to predict is a user's own table even with a task: with tabs, or endings."""
    return bool(predict_file) or (
        task is not None and not task.problem_type.has_endings and not is_tab_separated(test_file or "")
    )


class DataReader:
    """Reads each split; the first one with labels decides labels and problem type of the others."""

    def __init__(
        self,
        settings: ClassifySettings,
        labels: tuple[str, ...] | None,
        problem_type: ProblemType | None,
        tables: Mapping[str, TableFile] = MappingProxyType({}),
        trained: TrainedColumns = NOT_TRAINED,
    ):
        """labels: of the flag or of the model that is evaluated, None where neither has any.
        problem_type: None where the data decides it. tables: splits in memory, by their names,
        which are read instead of files. trained: the columns of a training run that is over.
        """
        # One label is a question only where a text may also have none.
        if labels and len(labels) == 1 and not (problem_type and problem_type.has_thresholds):
            raise InputError(f"--labels={labels[0]}: two labels are needed, or --problem_type=multi_label")
        self.settings, self.labels, self.tables = settings, labels, tables
        self.trained = trained
        self.skips = settings.missing_labels.skip_unlabeled
        self.task_name = settings.task.task_name
        self.task = find_task(self.task_name) if self.task_name else None
        self.problem_type = problem_type
        self.splits: dict[str, Examples] = {}
        self.found: dict[str, Any] = {}
        self.guesses: dict[str, str] = {}
        self.splits_with_ids: set[str] = set()
        self.choice_labels = settings.endings.choice_labels
        # Splits whose file is a user's own even with a task, and whose labels are not read.
        self.plain = {"unlabeled"}
        if has_own_test(self.task, settings.data.predict_file, settings.data.test_file):
            self.plain.add("test")
        if problem_type and problem_type.has_endings:
            self.labels = ()
        # A model without labels.txt, such as one of Google's, has its outputs in the order of the
        # task.
        elif self.task and labels is None and not settings.phases.do_train:
            self.labels = self.task.labels

    def read_all(self) -> ClassificationData:
        """Read what the phases need."""
        settings, phases, data = self.settings, self.settings.phases, self.settings.data
        held_out = settings.dev_split.dev_split if data.dev_file is None and "dev" not in self.tables else None
        # The train file first, as it decides labels and problem type. An evaluation alone also
        # needs it where the dev split is a part of it; the same seed cuts the same rows.
        if phases.do_train or (phases.do_eval and held_out):
            examples = self._read("train", data.train_file)
            if held_out:
                given = settings.dev_split.dev_split_seed
                seed = settings.seed.random_seed if given is None else given
                problem_type = self.problem_type or SINGLE_LABEL
                examples, dev = split_dev(examples, held_out, seed, problem_type, self.labels or ())
                self.found["dev_split_seed"] = seed
                if phases.do_eval:
                    self.splits["dev"] = dev
            if phases.do_train:
                self.splits["train"] = examples
        # Plain: texts without labels, in the columns of the training file.
        if phases.do_train and settings.distillation.unlabeled_file:
            self.splits["unlabeled"] = self._read("unlabeled", settings.distillation.unlabeled_file)
        if phases.do_eval and not held_out:
            self._read_held_out("dev", data.dev_file)
        if settings.inference.do_predict:
            self._read_held_out("test", data.predict_file or data.test_file)
        labels, problem_type = self.labels or (), self.problem_type or SINGLE_LABEL
        return ClassificationData(problem_type, labels, self.splits, self.task, self.found, self.guesses)

    def _read_held_out(self, split: str, path: str | None) -> None:
        """Read a split, and its other half where the task has one whose file is there."""
        self.splits[split] = self._read(split, path)
        other = split + self.task.second_half if self.task and not path else split
        if self.task and other != split:
            # Google's run_classifier.py knows the matched half alone, so a folder made for it may
            # lack the other one.
            paths = [os.path.join(self.settings.data.data_dir, layout.file) for layout in self.task.splits[other]]
            if any(map(exists, paths)):
                self.splits[other] = self._read(other, None)

    def _read(self, split: str, path: str | None) -> Examples:
        is_plain = split in self.plain
        if self.problem_type and self.problem_type.has_endings:
            return self._read_choices(split, path)
        layout_of = self._task_split(path) if is_plain else split
        if not self.task_name or layout_of is None:
            return self._read_own(split, path)
        data = self.settings.data
        examples = read_examples(
            self.task_name,
            layout_of,
            data.data_dir,
            data.predict_header or "auto" if is_plain else data.header,
            self.labels,
            self.settings.task.language,
            path,
            self.settings.columns.id_column,
            self.settings.text_form,
            needs_label=not is_plain,
            skip_unlabeled=self.skips and layout_of != "test",
        )
        # The labels of the first split hold for all others: a dev file may lack a rare one.
        self.labels = self.labels or find_labels(self.task_name, examples)
        return examples

    def _task_split(self, path: str | None) -> str | None:
        """Return the split of the task whose layout a file to predict has; None for a user's table."""
        has_columns = self.settings.columns.text_column is not None
        if not (self.task and path) or has_columns or not is_tab_separated(path):
            return None
        table = open_table(path, "predict_file", self.settings.text_form)
        sample = list(itertools.islice(table.filled_rows(warns=False), SAMPLE))
        # Names that leave no doubt say more than the form of the rows.
        if not sample or has_usual_names(sample[0].cells):
            return None
        return self.task.detect_split(sample, self.labels or self.task.labels)

    def _own_file(self, split: str, path: str | None, choices: Sequence[str] = ()) -> UserTable:
        flag = "predict_file" if split == "test" and self.settings.data.predict_file else f"{split}_file"
        settings, header = self.settings, self.settings.data.header
        needs_label = split not in ("test", "unlabeled")
        if split in self.tables:
            return read_user_table(
                self.tables[split], split, settings.columns, "yes", needs_label, trained=self.trained
            )
        if not path:
            raise InputError(f"--{flag} is needed{_OTHERS[split]}, or --task_name for the files of a task")
        # A file to predict comes from elsewhere than the training files, and may have a header
        # where they have none.
        if split in self.plain:
            header = settings.data.predict_header or header
        table = open_table(path, flag, settings.text_form)
        return read_user_table(table, split, settings.columns, header, needs_label, choices, self.trained)

    def _read_choices(self, split: str, path: str | None) -> Examples:
        """As `_read`, for multiple choice; to predict, columns come from the flags, else the task."""
        settings, endings = self.settings, self.settings.endings
        is_plain = split in self.plain
        skips = self.skips and split in ("train", "dev")
        if self.task and not (is_plain and endings.choice_columns):
            layout = self.task.splits[split][0]
            path = path or os.path.join(settings.data.data_dir, layout.file)
            id_column, form = settings.columns.id_column, settings.text_form
            file = read_choice_file(path, split, layout, "data_dir", id_column, form)
            return make_choice_examples(skip_unlabeled_rows(file) if skips else file, FROM_0, not is_plain)
        if not endings.choice_columns:
            raise InputError("--choice_columns is needed: the columns of the endings, such as --choice_columns=a,b,c")
        file = self._own_file(split, path, endings.choice_columns)
        file = skip_unlabeled_rows(file) if skips and file.has_labels else file
        if self.choice_labels == AUTO and file.has_labels and not is_plain:
            self.choice_labels = find_choice_labels(file)
            LOG.info("%s: took %s for the label", path, CHOICE_LABELS[self.choice_labels])
        if split == "train":
            self._keep_columns(file, MULTIPLE_CHOICE)
            self.found["choice_labels"] = self.choice_labels
        return make_choice_examples(file, self.choice_labels, not is_plain)

    def _read_own(self, split: str, path: str | None) -> list[ClassificationExample]:
        file = self._own_file(split, path)
        # Answers to a text file have had no ids unless a flag names their column.
        has_ids = self.settings.columns.id_column is not None or not is_text_format(file.path)
        if has_ids and file.columns.identifier is not None:
            self.splits_with_ids.add(split)
        if not file.has_labels or split in self.plain:
            return make_examples(file)
        decides_names = split == "train" and self.settings.phases.do_train
        role = FileRole(decides_names, keeps_rows=split == "test", skips_unlabeled=self.skips)
        cells = file.label_cells(self.settings.label_kind.label_separator)
        labels = read_labels(cells, self.problem_type, self.labels, role)
        self.problem_type = labels.problem_type
        if not role.keeps_rows:
            self.labels = labels.names
        if split == "train":
            self._keep_columns(file, labels.problem_type)
        examples = make_examples(file, labels.rows)
        return examples if role.keeps_rows else [example for example in examples if example.label is not None]

    def _keep_columns(self, file: UserTable, problem_type: ProblemType) -> None:
        """Note the columns of the training file for flags.txt, both given and guessed ones."""
        columns = file.column_flags()
        guessed = [name for name in columns if getattr(self.settings.columns, name) is None]
        self.guesses = written_columns({name: columns.pop(name) for name in guessed})
        self.found = {**columns, "problem_type": problem_type.name}
        if file.columns.choices:
            self.found["choice_columns"] = file.flag_names(file.columns.choices)


_OTHERS = {"train": "", "dev": ", or --dev_split", "test": " or --predict_file"}
