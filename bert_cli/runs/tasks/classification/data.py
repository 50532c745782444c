"""Reader of bert-classify's data: the splits that the phases need, and their labels."""

import dataclasses
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.names import find_label_problem
from bert_cli.examples.glue import GlueTask
from bert_cli.examples.splitting import split_dev
from bert_cli.opening.bundle import AnyModel
from bert_cli.predicting.classifier import find_flag_type
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.reading.folder import find_existing
from bert_cli.reading.probe import TableFile
from bert_cli.runs.tasks.classification.splits import Examples, Inputs, KnownLabels, SplitData, read_split
from bert_cli.runs.tasks.controls import check_choice_flags
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import NOT_TRAINED, TrainedColumns


@dataclasses.dataclass(frozen=True)
class ClassificationData:
    """Examples and labels that a run has read.

    Attributes:
        problem_type: the labels' problem type.
        labels: label names in output order, () if outputs have no names, None if they are unknown.
        splits: the splits that the phases need, from train, unlabeled, dev and test. With MNLI,
            also dev_mismatched and test_mismatched if their files exist.
        task: the task of --task_name, None for the user's files.
        resolved_flags: flag values that the data decided, for flags.txt.
        guesses: by flag, the training file's columns that no flag names.
        facts: the account of each file, by split.
        has_ids: whether the file to predict has a column of ids.
    """

    problem_type: ProblemType
    labels: tuple[str, ...] | None
    splits: dict[str, Examples]
    task: GlueTask | None
    resolved_flags: dict[str, Any]
    guesses: dict[str, str]
    facts: dict[str, DataFacts]
    has_ids: bool = False


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


def read_data(
    settings: ClassifySettings,
    names: tuple[str, ...] | None,
    problem_type: ProblemType | None,
    tables: Mapping[str, TableFile] = MappingProxyType({}),
    trained_columns: TrainedColumns = NOT_TRAINED,
) -> ClassificationData:
    """Read the splits that the phases need.

    Args:
        names: label names from the flag or the trained model, None if the data decides them.
        problem_type: None if the data decides it.
        tables, trained_columns: see Inputs.

    Raises:
        InputError: a file is invalid, or there is only one label, but each text must have one.
    """
    inputs = Inputs(settings, tables, trained_columns)
    phases, data = settings.phases, settings.data
    labels = _labels_before_reading(inputs, names, problem_type)
    splits: dict[str, SplitData] = {}
    held_out = settings.dev_split.dev_split if data.dev_file is None and "dev" not in tables else None
    resolved_flags: dict[str, Any] = {}
    facts: dict[str, DataFacts] = {}
    # Read the train file first, because it decides labels and problem type. With --dev_split, an
    # evaluation needs it too: the same seed selects the same rows.
    if phases.do_train or (phases.do_eval and held_out):
        train = read_split(inputs, "train", data.train_file, labels)
        labels = train.labels
        resolved_flags |= train.columns
        splits["train"] = train
        facts["train"] = train.facts
        inputs = inputs.with_num_texts(train.examples)
    if held_out and "train" in splits:
        seed_flag = settings.dev_split.dev_split_seed
        seed = settings.seed.random_seed if seed_flag is None else seed_flag
        resolved_flags["dev_split_seed"] = seed
        rows = split_dev(train.examples, held_out, seed, labels.problem_type or SINGLE_LABEL, labels.names or ())
        splits = {"dev": train._replace(examples=rows[1]), "train": train._replace(examples=rows[0])}
    # These texts have no labels, and the same columns as the training file.
    paths: dict[str, str | None] = {}
    if phases.do_train and settings.distillation.unlabeled_file:
        paths["unlabeled"] = settings.distillation.unlabeled_file
    if phases.do_eval and not held_out:
        paths |= _halves(inputs, "dev", data.dev_file)
    if settings.inference.do_predict:
        paths |= _halves(inputs, "test", data.predict_file or data.test_file)
    for split, path in paths.items():
        splits[split] = read_split(inputs, split, path, labels)
        labels, facts[split] = splits[split].labels, splits[split].facts
    if settings.to_label.to_label and labels.problem_type:
        require(labels.problem_type.calibrator, f"--to_label={settings.to_label.to_label}", "; leave it out")
    needed = {"train": phases.do_train, "dev": phases.do_eval}
    return ClassificationData(
        labels.problem_type or SINGLE_LABEL,
        labels.names,
        {split: content.examples for split, content in splits.items() if needed.get(split, True)},
        inputs.task,
        resolved_flags,
        dict(splits["train"].guesses) if "train" in splits else {},
        facts,
        "test" in splits and splits["test"].has_ids,
    )


def _labels_before_reading(
    inputs: Inputs, names: tuple[str, ...] | None, problem_type: ProblemType | None
) -> KnownLabels:
    """Return the labels that are known before a file is read; raise InputError for invalid ones."""
    settings, task = inputs.settings, inputs.task
    # With one label, there is something to learn only if a text may also have no label.
    if names and len(names) < (problem_type or SINGLE_LABEL).reader.min_labels:
        raise InputError(f"--labels={names[0]}: two labels are needed, or --problem_type=multi_label")
    for label in settings.encoding.labels or ():
        if problem := find_label_problem(label):
            raise InputError(f"--labels: the label {quote(label)} {problem}")
    # A model without labels.txt, such as one from Google's code, has the task's label order.
    if task and names is None and not settings.phases.do_train:
        names = task.labels
    if problem_type:
        names = problem_type.reader.keep_names(names)
    return KnownLabels(problem_type, names, settings.choices.choice_labels)


def _halves(inputs: Inputs, split: str, path: str | None) -> dict[str, str | None]:
    """Return the path of a split, and of the second split of MNLI if its file exists.

    Args:
        inputs: the run's files.
        split: dev or test.
        path: the user's file, None for the task's file.
    """
    task = inputs.task
    paths: dict[str, str | None] = {split: path}
    if not task or path or not task.second_half:
        return paths
    # Google's run_classifier.py reads only the matched split, so a directory that was made for it
    # may lack the mismatched one.
    second = split + task.second_half
    files = [os.path.join(inputs.settings.data.data_dir, layout.file) for layout in task.splits[second]]
    return {**paths, second: None} if find_existing(files) else paths
