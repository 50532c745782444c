"""Reader of one split of bert-classify: a task's file, the user's file or a table in memory."""

import dataclasses
import itertools
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import CHOICE, CLASSIFIER
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
from bert_cli.examples.classification import ClassificationExample, find_labels
from bert_cli.examples.glue import GlueTask, find_task
from bert_cli.examples.labels.distributions import read_distributions
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.examples.task_files import TaskOptions, read_examples
from bert_cli.examples.user_tables import UserTable, make_examples, read_user_table, skip_unlabeled_rows
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.reading.column_names import has_usual_names
from bert_cli.reading.columns.facts import DataFacts, log_facts
from bert_cli.reading.columns.find import SAMPLE
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.formats import is_tab_separated, is_text_format
from bert_cli.reading.header import AUTO as AUTO_HEADER
from bert_cli.reading.probe import TableFile, open_table
from bert_cli.reading.source import Source
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import TrainedColumns, format_columns

NEW_TEXTS = "input"  # split of --input_file, which has no labels
Examples = Sequence[ClassificationExample | ChoiceExample]
_ALTERNATIVES = {"train": "", "dev": ", or --dev_split", "test": " or --predict_file"}


def has_user_test_file(task: GlueTask | None, predict_file: str, test_file: str | None) -> bool:
    """Return whether the rows to predict are in a user's table, not in the task's test file.

    Args:
        task: the task of --task_name, or None.
        predict_file: value of --predict_file, "" if it is not given.
        test_file: value of --test_file, None if it is not given.
    """
    return bool(predict_file) or (
        task is not None and not task.problem_type.has_choices and not is_tab_separated(test_file or "")
    )


class KnownLabels(NamedTuple):
    """Labels from flags, a model, or the splits read so far; None for values that the data decides.

    Attributes:
        problem_type: the labels' problem type.
        names: label names in output order, () for regression and multiple choice.
        choice_labels: what the label column of multiple choice has, see `find_choice_labels`.
    """

    problem_type: ProblemType | None
    names: tuple[str, ...] | None
    choice_labels: str = AUTO


class SplitData(NamedTuple):
    """One split.

    Attributes:
        examples: its rows.
        labels: the labels for later splits. The first split with labels decides unknown values.
        facts: the account of its file.
        has_ids: whether the user's file has a column of ids.
        columns: columns by flag, for later runs.
        guesses: those columns that no flag names.
    """

    examples: Examples
    labels: KnownLabels
    facts: DataFacts
    has_ids: bool = False
    columns: Mapping[str, Any] = MappingProxyType({})
    guesses: Mapping[str, str] = MappingProxyType({})


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Files of a run.

    Attributes:
        settings: the run's flags.
        tables: tables in memory by split, to use instead of files.
        trained: columns that the model's training run has read.
    """

    settings: ClassifySettings
    tables: Mapping[str, TableFile]
    trained: TrainedColumns

    @property
    def task(self) -> GlueTask | None:
        """Return the task of --task_name, None for the user's files."""
        name = self.settings.task.task_name
        return find_task(name) if name else None

    def with_num_texts(self, examples: Examples) -> "Inputs":
        """Return the inputs for later splits, which have as many texts per row as train examples."""
        has_pairs = any(isinstance(row, ClassificationExample) and row.text_b is not None for row in examples)
        return dataclasses.replace(self, trained=dataclasses.replace(self.trained, num_texts=1 + has_pairs))

    def is_unlabeled(self, split: str) -> bool:
        """Return whether a split needs no labels; even with a task, its file may be a user's table."""
        data = self.settings.data
        is_user_test = split == "test" and has_user_test_file(self.task, data.predict_file, data.test_file)
        return split in ("unlabeled", NEW_TEXTS) or is_user_test

    def skips_unlabeled(self, split: str) -> bool:
        """Return whether rows without a label are left out."""
        has_labels = split != "unlabeled" and not split.startswith("test")
        return self.settings.missing_labels.skip_unlabeled and has_labels

    def flag_of(self, split: str) -> str:
        """Return the flag that gives a split's file."""
        return "predict_file" if split == "test" and self.settings.data.predict_file else f"{split}_file"

    def check_kept(self, split: str, path: str | None) -> None:
        """Raise InputError if --keep_columns asks for columns of a file in a task's layout."""
        if split.startswith("test") and self.settings.kept_columns.keep_columns:
            name = f"{path or 'the test file'} is read in the layout of --task_name={self.settings.task.task_name}"
            raise InputError(f"--keep_columns: {name}; give a table as --predict_file, with its --text_column")

    def open_table(self, split: str, path: str | None) -> TableFile:
        """Return a split's table in memory, or else open the user's file.

        Raise InputError if there is neither, using the split's flag in the message.
        """
        if split in self.tables:
            return self.tables[split]
        flag = self.flag_of(split)
        if not path:
            raise InputError(f"--{flag} is needed{_ALTERNATIVES[split]}, or --task_name for the files of a task")
        return open_table(path, flag, self.settings.text_form)

    def read_rows(self, split: str, table: TableFile, choices: Sequence[str] = ()) -> UserTable:
        """Read the rows of a user's table.

        Args:
            split: name of the split.
            table: the split's table.
            choices: columns to use for the choices, as --choice_columns names them.
        """
        settings, header = self.settings, self.settings.data.header
        # A file to predict may have a header even if the training files do not.
        if self.is_unlabeled(split):
            header = settings.data.predict_header or header
        if split in self.tables:
            header, choices = "yes", ()
        needs_label = split not in ("test", "unlabeled", NEW_TEXTS)
        keep = settings.kept_columns.keep_columns or () if split.startswith("test") else ()
        rows = settings.rows.for_split(split)
        rules = ColumnRules(settings.columns, header, needs_label, choices, self.trained, keep, rows)
        return read_user_table(table, split, rules)


def read_split(inputs: Inputs, split: str, path: str | None, labels: KnownLabels) -> SplitData:
    """Read one split, and log the account of its file.

    Args:
        inputs: the run's files.
        split: name of the split.
        path: the user's file, None for the task's file.
        labels: the labels so far.
    """
    head_type = labels.problem_type.head_type if labels.problem_type else CLASSIFIER
    data = _READERS[head_type](inputs, split, path, labels)
    log_facts(data.facts)
    return data


def _read_texts(inputs: Inputs, split: str, path: str | None, labels: KnownLabels) -> SplitData:
    """Read a split of texts or pairs; see `read_split`."""
    if inputs.task:
        return _read_task_split(inputs, split, path, labels)
    return _read_user_split(inputs, split, inputs.open_table(split, path), labels)


def _read_task_split(inputs: Inputs, split: str, path: str | None, labels: KnownLabels) -> SplitData:
    """Read a split of a task: its file, the user's file in its layout, or a table to predict."""
    settings, is_unlabeled = inputs.settings, inputs.is_unlabeled(split)
    options = TaskOptions(
        settings.data.header,
        settings.task.language,
        settings.columns.id_column,
        settings.text_form,
        skip_unlabeled=inputs.skips_unlabeled(split),
    )
    source: Source | str = settings.data.data_dir
    if is_unlabeled:
        table = inputs.open_table(split, path)
        layout_split = _find_layout_split(inputs, table, labels.names)
        if layout_split is None or table.source is None:
            return _read_user_split(inputs, split, table, labels)
        inputs.check_kept(split, table.path)
        source, split = table.source, layout_split
        options = options._replace(header=settings.data.predict_header or AUTO_HEADER, needs_label=False)
    else:
        inputs.check_kept(split, path)
        source = Source(path, settings.text_form.encoding, inputs.flag_of(split)) if path else source
    examples, facts = read_examples(settings.task.task_name, split, source, labels.names, options)
    # All splits use the first one's labels: a dev file may lack a rare label.
    names = labels.names or find_labels(settings.task.task_name, examples)
    return SplitData(examples, labels._replace(names=names), facts)


def _find_layout_split(inputs: Inputs, table: TableFile, names: Sequence[str] | None) -> str | None:
    """Return the task's split that has the same layout as a file, None for a user's table."""
    has_columns = inputs.settings.columns.text_column is not None
    if not inputs.task or has_columns or not is_tab_separated(table.path):
        return None
    sample = list(itertools.islice(table.filled_rows(warns=False), SAMPLE))
    # Usual column names are better evidence than the rows' form.
    if not sample or has_usual_names(sample[0].cells):
        return None
    return inputs.task.detect_split(sample, names or inputs.task.labels)


def _read_choices(inputs: Inputs, split: str, path: str | None, labels: KnownLabels) -> SplitData:
    """Read a split of multiple choice.

    For a file to predict, the columns come from --choice_columns, or else from the task. See
    `read_split` for the arguments.
    """
    settings, task, choices = inputs.settings, inputs.task, inputs.settings.choices.choice_columns
    is_unlabeled = inputs.is_unlabeled(split)
    if task and not (is_unlabeled and choices):
        inputs.check_kept(split, path)
        layout = task.splits[split][0]
        path = path or os.path.join(settings.data.data_dir, layout.file)
        file = read_choice_file(path, split, layout, "data_dir", settings.columns.id_column, settings.text_form)
        file = skip_unlabeled_rows(file) if inputs.skips_unlabeled(split) else file
        return SplitData(make_choice_examples(file, FROM_0, not is_unlabeled), labels, file.facts)
    if not choices:
        raise InputError("--choice_columns is needed: the columns of the endings, such as --choice_columns=a,b,c")
    file = inputs.read_rows(split, inputs.open_table(split, path), choices)
    file = skip_unlabeled_rows(file) if inputs.skips_unlabeled(split) and file.has_labels else file
    if labels.choice_labels == AUTO and file.has_labels and not is_unlabeled:
        labels = labels._replace(choice_labels=find_choice_labels(file))
        LOG.info("%s: took %s for the label", path, CHOICE_LABELS[labels.choice_labels])
    columns, guesses = _columns_for_later_runs(inputs, file, MULTIPLE_CHOICE)
    columns["choice_labels"] = labels.choice_labels
    examples = make_choice_examples(file, labels.choice_labels, not is_unlabeled)
    return SplitData(examples, labels, file.facts, columns=columns, guesses=guesses)


def _read_user_split(inputs: Inputs, split: str, table: TableFile, labels: KnownLabels) -> SplitData:
    """Read a split from a user's table, or from a table in memory; see `read_split`."""
    settings = inputs.settings
    file = inputs.read_rows(split, table)
    # A text file has ids only if a flag names a column.
    may_have_ids = settings.columns.id_column is not None or not is_text_format(file.path)
    has_ids = may_have_ids and file.columns.identifier is not None
    if not file.has_labels or inputs.is_unlabeled(split):
        return SplitData(make_examples(file), labels, file.facts, has_ids)
    decides_names = split == "train" and settings.phases.do_train
    role = FileRole(decides_names, keeps_rows=split == "test", skips_unlabeled=settings.missing_labels.skip_unlabeled)
    kind = settings.label_kind
    cells = file.label_cells(kind.label_separator, kind.soft_labels)
    if kind.soft_labels:
        refuse_if(file.answers, f"{file.path}: has Prodigy's answers, and --soft_labels reads probabilities")
        read = read_distributions(cells, labels.names, role, kind.normalize_soft_labels)
    else:
        read = read_labels(cells, labels.problem_type, labels.names, role, file.answers)
    labels = labels._replace(problem_type=read.problem_type, names=labels.names if role.keeps_rows else read.names)
    examples, facts = make_examples(file, read.rows, read.distributions), file.facts
    if not role.keeps_rows:
        examples = [example for example in examples if example.label is not None]
        facts = facts.use(len(examples), read.left_out)
    return SplitData(examples, labels, facts, has_ids, *_columns_for_later_runs(inputs, file, read.problem_type))


def _columns_for_later_runs(
    inputs: Inputs, file: UserTable, problem_type: ProblemType
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a file's columns for flags.txt: columns that flags name, and guesses."""
    columns: dict[str, Any] = dict(file.column_flags())
    guessed = [name for name in columns if getattr(inputs.settings.columns, name) is None]
    guesses = format_columns({name: columns.pop(name) for name in guessed})
    columns["problem_type"] = problem_type.name
    if file.columns.choices:
        columns["choice_columns"] = file.flag_names(file.columns.choices)
    return columns, guesses


# Head type of a problem type -> reader.
_READERS = {CLASSIFIER: _read_texts, CHOICE: _read_choices}
