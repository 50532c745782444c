"""A classifier from Python:

    from bert_cli import Classifier
    Classifier.load("bert_output").predict(["the dog sees a cat ."]).best

is ["0"] or ["1"], a label of labels.txt for each text; `fit` and `train` make a new one. The first
call of a process imports TensorFlow (seconds).
"""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from bert_cli.api import loading
from bert_cli.api.arguments import named_arguments
from bert_cli.api.label_rows import read_label_rows
from bert_cli.api.tables import Data, are_numbers, is_path, pair_up, read_table
from bert_cli.api.texts import check_text, list_items, texts_or_pairs
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.table_files.probe import TableFile
from bert_cli.flags.paths import path_text
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.loading.trained import check_label_count, load_with_settings, num_trained_texts
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.explanation import BUDGET, explain, text_record, tokenize_for_explanation
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import read_threshold

BATCH_SIZE = 32  # texts of full length


class Predictions(NamedTuple):
    """`best`: the most probable label of each text; `probabilities`: float32 [n, L], columns as in
    Classifier.labels.

    Where a text may have several labels, `best` has for each text a tuple of the labels with a
    probability at or above the threshold, in the order of the columns, () for none; each
    probability is independent. The numbers of a regression are `values`, float32 [n], which is None
    elsewhere; `best` is then empty, and L is 0.
    """

    best: list[str] | list[tuple[str, ...]]
    probabilities: np.ndarray
    values: np.ndarray | None = None


class Classifier(loading.Trained, loading.Cutting):
    """A model that bert-classify trained, or one of any format that bert-convert writes.

    `labels`: its L label names, in the order of the columns of probabilities, () of a regression.
    `problem_type`: single_label, multi_label or regression, as the model was trained. Made by
    `load`, `train` or `fit`, of which the last two leave `report`, what run_report.json says of the
    run, with its metrics in report["eval"], and `output_dir`. `takes_pairs`: False if the model was
    trained on single texts, so that a pair of texts is an error.
    """

    takes_pairs: bool = True

    def __init__(self, session: Predictor, data: ClassificationDataset):
        self.labels = data.labels
        self.problem_type = data.problem_type.name
        self.max_seq_length = data.settings.encoding.max_seq_length
        self._session = session
        self._data = data

    @classmethod
    @named_arguments(train_file="train", dev_file="dev")
    def train(
        cls,
        train: Data = None,
        dev: Data = None,
        output_dir: str | os.PathLike | None = None,
        **options: Any,
    ) -> "Classifier":
        """Train as bert-classify does, and load what came of it.

        train, dev: a path as --train_file takes, a pandas.DataFrame, a list of dicts, such as
        {"text": …, "label": …}, or of tuples (text, label) or (text, text_b, label); train is None
        where task_name and data_dir say it. output_dir: by default a temporary folder, which lives
        as long as the classifier. options: flags of bert-classify without their dashes, such as
        init_checkpoint, num_train_epochs, dev_split, text_column or problem_type. Raises InputError
        as the command does, naming arguments, and train[row] for a row that is not from a file.
        """
        given = (("train", train), ("dev", dev))
        tables = {name: read_table(name, data) for name, data in given if data is not None and not is_path(data)}
        paths = {f"{name}_file": path_text(data, name) for name, data in given if is_path(data)}
        return cls._trained(tables, paths, dev is not None, output_dir, options)

    @classmethod
    @named_arguments(dev_file="dev_texts")
    def fit(
        cls,
        texts: Iterable[str | tuple[str, str]],
        labels: Iterable,
        dev_texts: Iterable[str | tuple[str, str]] | None = None,
        dev_labels: Iterable | None = None,
        output_dir: str | os.PathLike | None = None,
        **options: Any,
    ) -> "Classifier":
        """Train on n texts, or pairs of texts, and their n labels; else as `train`.

        labels: texts or whole numbers; a list of them for each text, [] for none, where it may have
        several; a row of 0 and 1 per text, with a number per label; or floats, which the classifier
        learns to predict. Lists of one label each, and rows with a single 1, are single labels,
        unless problem_type is "multi_label". Rows may be an array, lists, or a DataFrame, whose
        columns name the labels. skip_unlabeled=True leaves out texts with None. dev_texts and
        dev_labels, or dev_split=0.1, are evaluated.
        """
        label_rows = read_label_rows("labels", labels)  # a generator is read once
        tables = {"train": pair_up("texts", texts, label_rows.items)}
        # An option of the caller comes first.
        options = label_rows.options() | options
        if (dev_texts is None) != (dev_labels is None):
            raise InputError("dev_texts and dev_labels: one is missing; give both or none")
        if dev_texts is not None and dev_labels is not None:
            dev_rows = read_label_rows("dev_labels", dev_labels, label_rows.names)
            tables["dev"] = pair_up("dev_texts", dev_texts, dev_rows.items)
        if are_numbers(label_rows.items):
            options = {"problem_type": REGRESSION.name} | options
        return cls._trained(tables, {}, dev_texts is not None, output_dir, options)

    @classmethod
    def _trained(
        cls,
        tables: dict[str, TableFile],
        paths: dict[str, str],
        has_dev: bool,
        output_dir: str | os.PathLike | None,
        options: dict[str, Any],
    ) -> "Classifier":
        if has_dev and options.get("dev_split"):
            raise InputError("--dev_file and --dev_split: give one of them")
        # A GLUE task brings its own dev file.
        evaluates = has_dev or bool(options.get("dev_split") or options.get("task_name"))
        phases = {"train_file": None, "dev_file": None} | paths | {"do_eval": evaluates}
        return cls._run(
            ClassifySettings, lambda settings: ClassificationTask(settings, tables), phases, output_dir, options
        )

    @classmethod
    @named_arguments()
    def load(
        cls,
        path: str,
        labels: Iterable[str] | None = None,
        max_seq_length: int | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        engine: str | None = None,
        hub_module: str | None = None,
        long_text: str | None = None,
        threshold: float | str | None = None,
    ) -> "Classifier":
        """Load from an output_dir of bert-classify, or a checkpoint with vocabulary and config
        next to it.

        labels, max_seq_length (in tokens), long_text (truncate, head_tail or windows),
        do_lower_case: default as the files next to the checkpoint say, and as the flags of
        bert-classify where they say nothing; so are precision (auto, float32, bfloat16, float16 or
        int8) and engine (auto, tensorflow, onnxruntime or openvino). hub_module: the handle of the
        module that the model was trained on, where it is not a BERT and does not lie in the
        model's folder. threshold: multi-label: a probability, or "tuned" for the
        thresholds.json in the model's folder; default as the model was trained. Raises InputError
        where something is missing, damaged, or does not fit together, and for a model that chooses
        one of several endings.
        """
        given = loading.flags_of(locals())
        checkpoint = loading.find(path, ClassificationTask.command)
        # Labels are no flag here: the flag refuses a list that differs from labels.txt, this method
        # takes any.
        given |= {"labels": None, "threshold": None if threshold is None else read_threshold(str(threshold))}
        settings, model = load_with_settings(checkpoint, ClassifySettings, given)
        task = ClassificationTask(settings)
        problem_type = task.trained_problem_type(model)
        if problem_type.has_endings:
            raise InputError(f"{checkpoint.folder}: this is a multiple-choice model; predict a file with bert-classify")
        # labels.txt may be missing next to a checkpoint from elsewhere.
        names = tuple(() if labels is None else list_items("labels", labels, "a list of names"))
        if problem_type.is_numeric and names:
            raise InputError(f"labels: the model in {checkpoint.folder} predicts a number; leave them out")
        # A config.json may name the one output of a regression.
        if problem_type.has_named_outputs:
            check_label_count(names, model)
            names = names or model.labels or model.generic_labels
        if not names and problem_type.has_named_outputs:
            raise InputError(f"{checkpoint.folder}: has no labels.txt, so the labels are not known; give labels=[…]")
        data = task.make_empty_dataset(model, names, run_folders(checkpoint))
        classifier = cls(opening.open_for_new_texts(task, model, data, settings), data)
        classifier.takes_pairs = num_trained_texts(model, settings.task.task_name) != 1
        return classifier

    @named_arguments()
    def predict(self, texts: Iterable[str | tuple[str, str]], batch_size: int = BATCH_SIZE) -> Predictions:
        """Classify n texts or pairs of texts; the results are in the order of `texts`.

        batch_size: texts of full length; as many shorter texts are computed at once as have the
        same number of tokens.
        """
        problem_type = self._data.problem_type
        pairs = texts_or_pairs(texts)
        # No batch has no rows; an array of the right shape is easier on callers than an error.
        if not pairs:
            values = np.zeros(0, np.float32) if problem_type.is_numeric else None
            return Predictions([], np.zeros((0, len(self.labels)), np.float32), values)
        outputs = self._infer(pairs, batch_size, "predicting")
        if problem_type.is_numeric:
            return Predictions([], np.zeros((len(pairs), 0), np.float32), outputs["values"])
        return Predictions(problem_type.decisions(outputs, self._data.decoder.labels), outputs["probabilities"])

    @named_arguments()
    def records(self, texts: Iterable[str | tuple[str, str]]) -> list[dict[str, Any]]:
        """The answers to n texts or pairs of texts, as JSON lines of --input_file have them.

        `text` (and `text_b`) with `label` and `probabilities`, in multi-label classification
        `labels` and `probabilities`, or the `value` of a regression.
        """
        pairs = texts_or_pairs(texts)
        if not pairs:
            return []
        outputs = self._infer(pairs, BATCH_SIZE, None)
        problem_type = self._data.problem_type
        labels = self._data.decoder.labels
        return [text_record(*pair) | problem_type.record(outputs, row, labels) for row, pair in enumerate(pairs)]

    @named_arguments()
    def explain(self, text: str, text_b: str | None = None, budget: int = BUDGET) -> dict[str, Any]:
        """Which words mattered, as --explain prints it in JSON; see
        runs.tasks.classification.explanation.explain.

        budget: about how many masked copies of the text are computed.
        """
        check_text(text)
        if text_b is not None:
            check_text(text_b, "text_b")
        self._check_pair(text_b, "text_b")
        tokens = tokenize_for_explanation(self._session, self._data, text, text_b)
        self.on_cut(tokens.cuts, self.max_seq_length)
        return text_record(text, text_b) | explain(self._session, self._data, tokens, BATCH_SIZE, budget)

    def _check_pair(self, text_b: str | None, place: str) -> None:
        """Raise InputError for a second text if the model was trained on single texts."""
        refuse_if(
            text_b is not None and not self.takes_pairs,
            f"{place}: has a second text, and the model was trained on single texts; give one text",
        )

    def _infer(self, pairs: list[tuple[str, str | None]], batch_size: int, title: str | None) -> dict[str, np.ndarray]:
        """Return the model's outputs for pairs of texts."""
        for number, (_, text_b) in enumerate(pairs):
            self._check_pair(text_b, f"texts:{number}")
        examples = [ClassificationExample(str(number), *pair, None) for number, pair in enumerate(pairs)]
        features = self._data.features(examples)
        self.on_cut(features.cuts, self.max_seq_length)
        return self._data.decoder.infer(self._session, features, batch_size, title)
