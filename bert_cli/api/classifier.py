"""Text classifier for Python programs.

   from bert_cli import Classifier
   Classifier.load("bert_output").predict(["the dog sees a cat ."]).best

returns ["0"] or ["1"]: for each text, a label from labels.txt. `fit` and `train` train a new
classifier. The first call in a process imports TensorFlow, which takes seconds.
"""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from bert_cli.api import loading
from bert_cli.api.arguments import check_text, name_arguments_in_errors
from bert_cli.api.inputs.frames import UNKNOWN_COLUMNS, trained_columns
from bert_cli.api.inputs.label_rows import read_label_rows
from bert_cli.api.inputs.tables import Data, are_numbers, is_path, pair_up, read_table
from bert_cli.api.inputs.texts import Texts, list_items, read_texts
from bert_cli.api.results.predictions import Predictions, make_predictions
from bert_cli.api.training import TrainableModel
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.table_files.probe import TableFile
from bert_cli.flags.paths import path_text
from bert_cli.inference.rows import Predictor
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.loading.trained import check_label_count, load_with_settings, num_trained_texts
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.classification.data import find_trained_type
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset, encode_texts
from bert_cli.runs.tasks.classification.explanation import BUDGET, explain, text_record, tokenize_for_explanation
from bert_cli.runs.tasks.classification.task import ClassificationTask, make_empty_dataset
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import read_threshold

BATCH_SIZE = 32  # texts of maximum length


class Classifier(TrainableModel, loading.CuttingModel):
    """Text classifier, made by `load`, `train` or `fit`.

    The model may be trained by bert-classify, or be in any format that bert-convert writes.

    Attributes:
        labels: L label names, in the order of `probabilities`; () for a regression.
        problem_type: single_label, multi_label or regression.
        max_seq_length: maximum length in tokens; longer texts are cut.
        takes_pairs: False if the model was trained on single texts, so that a pair is an error.
        report: after `train` or `fit`, the content of run_report.json, with metrics in
            report["eval"].
        output_dir: after `train` or `fit`, the run's directory.
    """

    takes_pairs: bool = True
    _columns = UNKNOWN_COLUMNS

    def __init__(self, session: Predictor, data: ClassificationDataset):
        self.labels = data.decoder.labels.names
        self.problem_type = data.decoder.problem_type.name
        self.max_seq_length = data.settings.encoding.max_seq_length
        self._session = session
        self._data = data

    @classmethod
    @name_arguments_in_errors(train_file="train", dev_file="dev")
    def train(
        cls,
        train: Data = None,
        dev: Data = None,
        output_dir: str | os.PathLike | None = None,
        **options: Any,
    ) -> "Classifier":
        """Train as bert-classify does, and load the trained model.

        Args:
            train: training data: a path as for --train_file, a pandas.DataFrame, or a list. List
                items are dicts such as {"text": …, "label": …}, or tuples (text, label) or (text,
                text_b, label). None if the options task_name and data_dir name the data.
            dev: data to evaluate, in the same forms; None for no evaluation.
            output_dir: the run's directory. By default a temporary one that is deleted together
                with the classifier.
            options: flags of bert-classify without dashes, such as init_checkpoint,
                num_train_epochs, dev_split, text_column or problem_type.

        Raises:
            InputError: if bert-classify would refuse the data or options. The message names
                arguments, and train[row] for rows that are not from a file.
        """
        arguments = (("train", train), ("dev", dev))
        tables = {name: read_table(name, data) for name, data in arguments if data is not None and not is_path(data)}
        paths = {f"{name}_file": path_text(data, name) for name, data in arguments if is_path(data)}
        return cls._train_on(tables, paths, dev is not None, output_dir, options)

    @classmethod
    @name_arguments_in_errors(dev_file="dev_texts")
    def fit(
        cls,
        texts: Iterable[str | tuple[str, str]],
        labels: Iterable,
        dev_texts: Iterable[str | tuple[str, str]] | None = None,
        dev_labels: Iterable | None = None,
        output_dir: str | os.PathLike | None = None,
        **options: Any,
    ) -> "Classifier":
        """Train on texts and labels in memory, otherwise as `train` does.

        Args:
            texts: n texts, or n pairs of texts.
            labels: n labels. A label is a text or a whole number; a list of labels, which may be
                empty; a row of 0 and 1, with one number per label; or a float, which makes the
                classifier predict numbers. Rows may be an array, lists, or a DataFrame with label
                names as columns. If each has one label, they are single labels, unless problem_type
                is "multi_label". With skip_unlabeled=True, texts with the label None are omitted.
            dev_texts, dev_labels: data to evaluate; alternatively use dev_split=0.1.
            output_dir: see `train`.
            options: flags of bert-classify without dashes.
        """
        label_rows = read_label_rows("labels", labels)  # a generator can be read only once
        tables = {"train": pair_up("texts", texts, label_rows.items)}
        # The caller's options win.
        options = label_rows.options() | options
        if (dev_texts is None) != (dev_labels is None):
            raise InputError("dev_texts and dev_labels: one is missing; give both or none")
        if dev_texts is not None and dev_labels is not None:
            dev_rows = read_label_rows("dev_labels", dev_labels, label_rows.names)
            tables["dev"] = pair_up("dev_texts", dev_texts, dev_rows.items)
        if are_numbers(label_rows.items):
            options = {"problem_type": REGRESSION.name} | options
        return cls._train_on(tables, {}, dev_texts is not None, output_dir, options)

    @classmethod
    def _train_on(
        cls,
        tables: dict[str, TableFile],
        paths: dict[str, str],
        has_dev: bool,
        output_dir: str | os.PathLike | None,
        options: dict[str, Any],
    ) -> "Classifier":
        if has_dev and options.get("dev_split"):
            raise InputError("--dev_file and --dev_split: give one of them")
        # A GLUE task has its own dev file.
        evaluates = has_dev or bool(options.get("dev_split") or options.get("task_name"))
        phases = {"train_file": None, "dev_file": None} | paths | {"do_eval": evaluates}
        return cls._run(
            ClassifySettings, lambda settings: ClassificationTask(settings, tables), phases, output_dir, options
        )

    @classmethod
    @name_arguments_in_errors()
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
        """Load a run of bert-classify, or a checkpoint with vocabulary and config next to it.

        An argument with None uses the value next to the model, or else the default of
        bert-classify.

        Args:
            path: an output_dir of bert-classify or a checkpoint.
            labels: label names, one per output, in order.
            max_seq_length: maximum length in tokens.
            do_lower_case: whether to lower-case texts and strip accents.
            precision: auto, float32, bfloat16, float16 or int8.
            engine: auto, tensorflow, onnxruntime or openvino.
            hub_module: tensorflow-hub module that the model was trained on, as a handle. Needed if
                it is not a BERT and not in the model's directory.
            long_text: treatment of longer texts: truncate, head_tail or windows.
            threshold: for multi-label models, a probability, or "tuned" to use thresholds.json.

        Raises:
            InputError: if files are missing, damaged or do not belong together, or if this is a
                multiple-choice model.
        """
        flags: dict[str, Any] = {
            "labels": None,
            "max_seq_length": max_seq_length,
            "do_lower_case": do_lower_case,
            "precision": precision,
            "engine": engine,
            "hub_module": hub_module,
            "long_text": long_text,
            "threshold": threshold,
        }
        checkpoint = loading.find_model(path, ClassificationTask.command)
        # Do not pass labels as a flag: the flag refuses names that differ from labels.txt, but this
        # method allows them.
        read = {"threshold": None if threshold is None else read_threshold(str(threshold))}
        settings, model = load_with_settings(checkpoint, ClassifySettings, flags | read)
        task = ClassificationTask(settings)
        problem_type = find_trained_type(settings, model)
        if problem_type.has_choices:
            raise InputError(f"{checkpoint.folder}: this is a multiple-choice model; predict a file with bert-classify")
        # labels.txt may be missing next to a third-party checkpoint.
        label_names = tuple(map(str, () if labels is None else list_items("labels", labels, "a list of names")))
        flags["labels"] = label_names or None  # a generator can be read only once
        if problem_type.reader.is_numeric and label_names:
            raise InputError(f"labels: the model in {checkpoint.folder} predicts a number; leave them out")
        # config.json may name a regression's output.
        if problem_type.reader.has_names:
            check_label_count(label_names, model)
            label_names = label_names or model.head.labels or model.head.generic_labels
        if not label_names and problem_type.reader.has_names:
            raise InputError(f"{checkpoint.folder}: has no labels.txt, so the labels are not known; give labels=[…]")
        data = make_empty_dataset(settings, model, label_names, run_folders(checkpoint))
        classifier = cls(opening.open_for_new_texts(task, model, data, settings), data)
        classifier.takes_pairs = num_trained_texts(model, settings.task.task_name) != 1
        classifier._columns = trained_columns(model)
        return classifier.loaded_from(checkpoint, flags)

    @name_arguments_in_errors()
    def predict(self, texts: Iterable[str | tuple[str, str]], batch_size: int = BATCH_SIZE) -> Predictions:
        """Classify n texts or pairs of texts.

        Args:
            texts: texts, or pairs (text, text_b), in any sequence; or a table with the text columns
                of the training data, such as a pandas.DataFrame.
            batch_size: texts of maximum length per batch; batches of shorter texts have more texts
                but the same number of tokens.

        Returns:
            Predictions in the order of `texts`: a sequence with one item per text.
        """
        read = self._read(texts)
        outputs = self._infer(read, batch_size, "predicting") if len(read) else None
        return make_predictions(read, self._data.decoder.problem_type, self._data.decoder.labels, outputs)

    @name_arguments_in_errors()
    def records(self, texts: Iterable[str | tuple[str, str]]) -> list[dict[str, Any]]:
        """Return one dict per text, as in the JSON lines for --input_file.

        Each has `text` (and `text_b`), together with `label` and `probabilities`, `labels` and
        `probabilities` for multi-label models, or `value` for a regression.
        """
        read = self._read(texts)
        if not len(read):
            return []
        outputs = self._infer(read, BATCH_SIZE, None)
        problem_type = self._data.decoder.problem_type
        labels = self._data.decoder.labels
        return [
            text_record(*pair) | problem_type.columns.record(outputs, row, labels)
            for row, pair in enumerate(read.pairs)
        ]

    @name_arguments_in_errors()
    def explain(self, text: str, text_b: str | None = None, budget: int = BUDGET) -> dict[str, Any]:
        """Return how much each word contributed to the prediction, as --explain prints it in JSON.

        See runs.tasks.classification.explanation.explain; `budget` is roughly the number of masked
        copies to compute.
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

    def _read(self, texts: object) -> Texts:
        """Return the texts or pairs in an argument."""
        read = read_texts(texts, columns=self._columns, takes_pairs=self.takes_pairs)
        for row, (_, text_b) in enumerate(read.pairs):
            self._check_pair(text_b, f"texts[{row}]")
        return read

    def _infer(self, texts: Texts, batch_size: int, title: str | None) -> dict[str, np.ndarray]:
        """Return the model's outputs for texts."""
        examples = [ClassificationExample(str(row), *pair, None) for row, pair in enumerate(texts.pairs)]
        features = encode_texts(self._data, examples)
        self.on_cut(features.cuts, self.max_seq_length)
        return self._data.decoder.infer(self._session, features, batch_size, title)
