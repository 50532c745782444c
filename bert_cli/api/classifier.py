"""Text classifier for Python programs.

   from bert_cli import Classifier
   Classifier.load("bert_output").predict(["the dog sees a cat ."]).best

returns ["0"] or ["1"]: for each text, a label from labels.txt. `fit` and `train` train a new
classifier. The first call in a process imports TensorFlow, which takes seconds.
"""

import dataclasses
import os
from collections.abc import Iterable
from typing import Any, NoReturn, Self, overload

from bert_cli.api.arguments import check_arguments
from bert_cli.api.classifier_training import TrainableClassifier
from bert_cli.api.evaluation import LabeledTexts, calibrate, score_labeled_texts
from bert_cli.api.inputs.frames import UNKNOWN_COLUMNS, check_has_labels
from bert_cli.api.inputs.label_types import find_label_type, read_label_values
from bert_cli.api.inputs.made_by_methods import MadeByMethods
from bert_cli.api.inputs.model_path import find_model
from bert_cli.api.inputs.tables import COLUMN_ADVICE
from bert_cli.api.inputs.texts import Texts, list_items, read_texts_argument
from bert_cli.api.inputs.trained_columns import trained_columns
from bert_cli.api.results.explanation import Explanation, Explanations, make_explanation
from bert_cli.api.results.predictions import Prediction, Predictions, make_predictions
from bert_cli.api.saving import remember_model_source
from bert_cli.base.errors import InputError, check_count, check_text, name_arguments_in_errors, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.packing import CuttingModel
from bert_cli.flags.paths import path_text
from bert_cli.metrics.custom import CallersMetrics, metrics_of_functions
from bert_cli.opening import trained
from bert_cli.opening.paths import ensemble_members, run_folders
from bert_cli.opening.trained import check_command, load_with_settings
from bert_cli.predicting.classifier import BATCH_SIZE, TextClassifier, open_classifier
from bert_cli.predicting.ensemble import average, open_mean, reorder
from bert_cli.predicting.explanation import BUDGET
from bert_cli.predicting.opening import ClassifierSettings, select_groups
from bert_cli.run_directory.manifest import LABEL_TYPE, manifest_of
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import NOT_TRAINED


class Classifier(TrainableClassifier, CuttingModel):
    """Text classifier, made by `load`, `train` or `fit`.

    The model may be trained by bert-classify, or be in any format that bert-convert writes.

    Attributes:
        labels: L labels, in the order of `probabilities`; () for a regression. After `fit` they have
            its labels' type: int, bool or str.
        problem_type: single_label, multi_label or regression.
        max_seq_length: maximum length in tokens; longer texts are cut.
        takes_pairs: False if the model was trained on single texts, so that a pair is an error.
        report: after `train` or `fit`, the content of run_report.json, with metrics in
            report["eval"].
        output_dir: after `train` or `fit`, the run's directory.
    """

    _columns = UNKNOWN_COLUMNS
    _trained_columns = NOT_TRAINED

    def __init__(self, classifier: TextClassifier, settings: ClassifySettings):
        self.labels: tuple[Any, ...] = classifier.labels
        self.problem_type = classifier.decoder.problem_type.name
        self.max_seq_length = classifier.encoding.max_seq_length
        self.takes_pairs = classifier.takes_pairs
        self._classifier = classifier
        self._engine = classifier.predictor.engine
        self._settings = settings

    @classmethod
    @name_arguments_in_errors(absent=None)
    def load(
        cls,
        path: str | os.PathLike,
        labels: Iterable[Any] | None = None,
        max_seq_length: int | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        engine: str | None = None,
        hub_module: str | None = None,
        long_text: str | None = None,
        threshold: float | str | None = None,
        vocab_file: str | os.PathLike | None = None,
        gelu: str | None = None,
        num_threads: int | None = None,
    ) -> "Classifier":
        """Load a run of bert-classify, or a checkpoint with vocabulary and config next to it.

        An argument with None uses the value next to the model, or else the default of
        bert-classify.

        Args:
            path: an output_dir of bert-classify or a checkpoint.
            labels: labels, one per output, in order.
            max_seq_length: maximum length in tokens.
            do_lower_case: whether to lower-case texts and strip accents.
            precision: auto, float32, bfloat16, float16 or int8.
            engine: auto, tensorflow, onnxruntime or openvino.
            hub_module: tensorflow-hub module that the model was trained on, as a handle. Needed if
                it is not a BERT and not in the model's directory.
            long_text: treatment of longer texts: truncate, head_tail or windows.
            threshold: for multi-label models, a probability, or "tuned" to use thresholds.json.
            vocab_file: vocabulary, vocab.txt or tokenizer.json; None for the one next to the model.
            gelu: form of GELU: auto, erf or tanh.
            num_threads: number of threads; None for one per core.

        Raises:
            InputError: if files are missing, damaged or do not belong together, or if this is a
                multiple-choice model.
        """
        # Do not pass labels as a flag: the flag refuses names that differ from labels.txt, but this
        # method allows them.
        arguments = {
            "labels": None,
            "max_seq_length": max_seq_length,
            "do_lower_case": do_lower_case,
            "precision": precision,
            "engine": engine,
            "hub_module": hub_module,
            "long_text": long_text,
            "threshold": threshold,
            "vocab_file": vocab_file,
            "gelu": gelu,
            "num_threads": num_threads,
        }
        values = check_arguments(ClassifySettings, arguments)
        refuse_if(
            isinstance(path, list | tuple), "path: several runs make an Ensemble; load them with Ensemble.load([…])"
        )
        checkpoint = find_model(path)
        check_command(checkpoint, ClassificationTask.command)
        settings, model = load_with_settings(checkpoint, ClassifySettings, values)
        given_labels = tuple(() if labels is None else list_items("labels", labels, "a list of names"))
        values["labels"] = given_labels or None  # a generator can be read only once
        label_names = tuple(map(str, given_labels))
        opened = open_classifier(select_groups(ClassifierSettings, settings), model, label_names)
        classifier = cls(opened, settings)
        label_type = find_label_type(given_labels) if given_labels else manifest_of(checkpoint).get(LABEL_TYPE)
        classifier.labels = read_label_values(opened.labels, label_type)
        classifier._columns = trained_columns(model)
        classifier._trained_columns = trained.read_trained_columns(model, settings.columns, settings.task.task_name)
        return remember_model_source(classifier, checkpoint, values)

    @overload
    def predict(self, texts: str, batch_size: int = BATCH_SIZE) -> Prediction: ...
    @overload
    def predict(self, texts: Any, batch_size: int = BATCH_SIZE) -> Predictions: ...
    @name_arguments_in_errors()
    def predict(self, texts: Any, batch_size: int = BATCH_SIZE) -> Prediction | Predictions:
        """Classify a text, or n texts or pairs of texts.

        Args:
            texts: a text; texts, or pairs (text, text_b), in any sequence; or a table with the
                training's text columns, such as a pandas.DataFrame.
            batch_size: texts of maximum length per batch; batches of shorter texts have more texts
                but the same number of tokens.

        Returns:
            Predictions in the same order: a sequence with one item per text. For one text, its item.
        """
        check_count(batch_size, "batch_size")
        if isinstance(texts, str):
            return self.predict([texts], batch_size)[0]
        read = self._read(texts)
        outputs = self._classifier.infer(self._encode(read), batch_size, "predicting") if len(read) else None
        decoder = self._classifier.decoder
        return make_predictions(read, decoder.problem_type, decoder.labels, outputs, self.labels)

    @name_arguments_in_errors()
    def records(self, texts: Iterable[str | tuple[str, str]]) -> list[dict[str, Any]]:
        """Return one dict per text, as in the JSON lines for --input_file.

        Each has `text` (and `text_b`), together with `label` and `probabilities`, `labels` and
        `probabilities` for multi-label models, or `value` for a regression.
        """
        read = self._read(texts)
        return self._classifier.records(read.pairs, self._encode(read)) if len(read) else []

    @name_arguments_in_errors(absent=COLUMN_ADVICE, dev_file="data")
    def evaluate(
        self,
        data: Any,
        labels: Iterable | None = None,
        batch_size: int = BATCH_SIZE,
        positive_label: Any = None,
        bootstrap: int = 0,
        metrics: CallersMetrics | None = None,
        sample_weight: Iterable[float] | None = None,
    ) -> dict[str, float]:
        """Return the metrics for labeled texts, with the names in eval_results.txt.

        Args:
            data: a path, a table with the training's columns, such as a pandas.DataFrame,
                or rows as for `train`; or texts if there are `labels`.
            labels: the texts' labels, as for `fit`.
            batch_size: texts of maximum length per batch.
            positive_label: label that eval_f1 is of if there are two, the one to find. None to use
                the training's option, or else the last label.
            bootstrap: number of samples for confidence intervals, such as 1000: eval_f1_low and
                eval_f1_high are the ends of the interval of eval_f1. 0 for none.
            metrics: functions by name, such as {"mcc": matthews_corrcoef} of scikit-learn: of labels and
                predictions as arrays, or of labels, predictions and probabilities.
            sample_weight: weights of the texts in the metrics, 0 or more, besides `labels`; None to
                count each text once. A table has them in the training's weight column, if
                weighted_metrics was on.
        """
        samples = check_arguments(ClassifySettings, {"bootstrap": bootstrap})["bootstrap"]
        texts = self._read_labeled(data, labels, batch_size, sample_weight)
        return score_labeled_texts(
            self._classifier, self._settings, texts, positive_label, samples, metrics_of_functions(metrics or {})
        )

    @name_arguments_in_errors(absent=COLUMN_ADVICE, dev_file="data")
    def calibrate(
        self,
        data: Any,
        labels: Iterable | None = None,
        abstain_error: float | str | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> Self:
        """Calibrate the probabilities on labeled texts, as `bert-classify --calibrate` does.

        Use other texts than for the training. Later predictions, `save` and pickles use the
        result. A label per text stays the same. Tuned thresholds are tuned again; with another fixed
        threshold than 0.5, the labels of a text may change.

        Args:
            data, labels: labeled texts, as for `evaluate`.
            abstain_error: the most wrong answers, such as 0.02 or "2%". Uncertain predictions then
                have `abstain`, so that the error among the others stays below it on fresh data, with
                95 % confidence.
            batch_size: texts of maximum length per batch.

        Returns:
            This classifier.

        Raises:
            InputError: if the model has no probabilities, as for a regression.
        """
        texts = self._read_labeled(data, labels, batch_size)
        error = None if abstain_error is None else str(abstain_error)
        folders = run_folders(self.source.checkpoint)
        calibrated = calibrate(self._classifier, self._settings, texts, error, folders)
        self._classifier = dataclasses.replace(self._classifier, decoder=calibrated.decoder)
        self.source = dataclasses.replace(self.source, new_files=calibrated.files)
        return self

    def _read_labeled(
        self, data: Any, labels: Iterable | None, batch_size: int, sample_weight: Iterable[float] | None = None
    ) -> LabeledTexts:
        check_count(batch_size, "batch_size")
        # A table with separate labels has the columns that `predict` reads.
        if labels is None:
            check_has_labels(data, self._columns)
        else:
            data = self._read(data)
        return LabeledTexts(data, labels, self._trained_columns, batch_size, sample_weight)

    @overload
    def explain(self, text: str, text_b: str | None = None, budget: int = BUDGET, label: Any = None) -> Explanation: ...
    @overload
    def explain(self, text: Any, text_b: None = None, budget: int = BUDGET, label: Any = None) -> Explanations: ...
    @name_arguments_in_errors()
    def explain(
        self, text: Any, text_b: str | None = None, budget: int = BUDGET, label: Any = None
    ) -> Explanation | Explanations:
        """Return how much each word contributed to the prediction.

        Args:
            text: a text; or texts or pairs in any sequence, or a table, as for `predict`.
            text_b: a pair's second text.
            budget: approximate number of masked copies to compute per text.
            label: label to explain, such as one that was not predicted; None for the most probable
                one.

        Returns:
            An Explanation, or a sequence of them if `text` is not a string. A notebook shows the
            words in colors.
        """
        check_count(budget, "budget")
        if label is not None and label not in self.labels:
            names = list_names([str(name) for name in self.labels]) or "none, as it predicts a number"
            raise InputError(f"label={label!r}: the model's labels are {names}")
        if not isinstance(text, str):
            refuse_if(text_b is not None, "text_b: put pairs (text, text_b) into the list")
            read = self._read(text)
            return Explanations(read, [self._explain(*pair, budget, label) for pair in read.pairs])
        if text_b is not None:
            check_text(text_b, "text_b")
        self._classifier.check_pair(text_b, "text_b")
        return self._explain(text, text_b, budget, label)

    def _explain(self, text: str, text_b: str | None, budget: int, label: Any) -> Explanation:
        tokens = self._classifier.tokenize_for_explanation(text, text_b)
        self.on_cut(tokens.cuts, self.max_seq_length)
        index = None if label is None else self.labels.index(label)
        record = self._classifier.explain(text, text_b, tokens, budget, index)
        return make_explanation(record, dict(zip(self._classifier.labels, self.labels, strict=True)))

    def _read(self, texts: object) -> Texts:
        """Return the texts or pairs in an argument."""
        read = read_texts_argument(texts, columns=self._columns, takes_pairs=self.takes_pairs)
        self._classifier.check_pairs(read.pairs)
        return read

    def _encode(self, texts: Texts) -> ClassificationFeatures:
        features = self._classifier.encode(texts.pairs)
        self.on_cut(features.cuts, self.max_seq_length)
        return features


class Ensemble(MadeByMethods):
    """Several text classifiers, whose mean probabilities or numbers predict, made by `load`.

    The mean is computed in float64. Labels are matched by name, and thresholds are averaged.

    Attributes:
        members: the classifiers, which predict by themselves, too.
        labels: L labels in the first member's order, as in Classifier.
        problem_type: single_label, multi_label or regression.
    """

    def __init__(self, members: tuple[Classifier, ...], names: Iterable[str]):
        self.members = members
        self.labels = members[0].labels
        self.problem_type = members[0].problem_type
        self._mean = open_mean(list(names), [member._classifier for member in members])

    @classmethod
    @name_arguments_in_errors(absent=None)
    def load(cls, paths: Iterable[str | os.PathLike] | str | os.PathLike, **options: Any) -> Self:
        """Load several runs of bert-classify.

        Args:
            paths: directories of runs. A directory with several runs, such as folds or seeds, names all
                of them, and may be given alone.
            options: arguments of Classifier.load, for all members.

        Raises:
            InputError: if there are fewer than two runs, or if their labels differ.
        """
        given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        folders = ensemble_members([path_text(path, "paths") for path in given], "paths")
        return cls(tuple(Classifier.load(folder, **options) for folder in folders), folders)

    @overload
    def predict(self, texts: str, batch_size: int = BATCH_SIZE) -> Prediction: ...
    @overload
    def predict(self, texts: Any, batch_size: int = BATCH_SIZE) -> Predictions: ...
    @name_arguments_in_errors()
    def predict(self, texts: Any, batch_size: int = BATCH_SIZE) -> Prediction | Predictions:
        """Classify a text, or n texts or pairs of texts, by the mean over the members.

        Args:
            texts, batch_size: see Classifier.predict.

        Returns:
            Predictions in the same order. For one text, its item.
        """
        check_count(batch_size, "batch_size")
        if isinstance(texts, str):
            return self.predict([texts], batch_size)[0]
        first = self.members[0].predict(texts, batch_size)
        read = first.texts
        same_texts: list[Any] = list(read.pairs) if read.has_pairs else read.singles
        later_results = [member.predict(same_texts, batch_size) for member in self.members[1:]]
        problem_type, label_set = self._mean.decoder.problem_type, self._mean.decoder.labels
        outputs = None
        if len(read):
            decoder, no_labels = (
                problem_type.decoder,
                problem_type.reader.label_array([None] * len(read), label_set.names),
            )
            arrays = [
                result.probabilities if result.values is None else result.values for result in (first, *later_results)
            ]
            computed = [
                reorder(decoder, {decoder.output_name: array}, order)
                for array, order in zip(arrays, self._mean.orders, strict=True)
            ]
            outputs = average(decoder, computed, no_labels)
        return make_predictions(read, problem_type, label_set, outputs, self.labels)

    @name_arguments_in_errors()
    def records(self, texts: Iterable[str | tuple[str, str]]) -> list[dict[str, Any]]:
        """Return one dict per text, see Classifier.records."""
        first = self.members[0]
        read = first._read(texts)
        return self._mean.records(read.pairs, first._encode(read)) if len(read) else []

    def save(self, directory: str | os.PathLike) -> NoReturn:
        """Raise InputError: only its members have files."""
        raise InputError("save: an ensemble is several models; save its members, or use bert-export --ensemble")
