"""Metrics and calibration of a loaded classifier for labeled texts."""

import dataclasses
import os
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.api.inputs.frames import as_table
from bert_cli.api.inputs.label_rows import is_missing, read_distribution_rows, read_label_rows
from bert_cli.api.inputs.row_values import row_columns
from bert_cli.api.inputs.tables import is_path, pair_up, read_table
from bert_cli.api.inputs.texts import read_texts_argument
from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.formats import list_names, quote
from bert_cli.base.log import LOG
from bert_cli.flags.option import replace_values
from bert_cli.flags.paths import path_text
from bert_cli.metrics.custom import CustomMetric
from bert_cli.predicting.classifier import TextClassifier
from bert_cli.predicting.decoder import Decoder, find_thresholds
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import PredictionArrays
from bert_cli.reading.formats import is_tab_separated
from bert_cli.reading.probe import TableFile
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks.classification.data import read_data
from bert_cli.runs.tasks.classification.decoder import (
    FittingDecoder,
    ScoredTargets,
    add_custom_metrics,
    bootstrap_metrics,
)
from bert_cli.runs.tasks.classification.encoded_splits import ClassificationSplit, make_split
from bert_cli.settings.classification import CalibrationFlags, ClassifySettings, read_abstain_error
from bert_cli.settings.data import NOT_TRAINED, TrainedColumns
from bert_cli.settings.groups import TUNED

# Columns of a table that is made from texts and labels, instead of the columns of the training.
_COLUMNS = {"text_column": "text", "label_column": "label", "id_column": None}


@dataclasses.dataclass(frozen=True)
class LabeledTexts:
    """Labeled texts as the arguments of a method.

    Attributes:
        data: a path, a table or rows with labels; or texts if `labels` are given.
        labels: the texts' labels; None if `data` has them.
        columns: columns of the training data.
        batch_size: texts of maximum length per batch.
        sample_weight: weights of the texts in metrics; None for equal ones.
    """

    data: Any
    labels: Any
    columns: TrainedColumns
    batch_size: int
    sample_weight: Any = None

    def infer(
        self, classifier: TextClassifier, decoder: FittingDecoder, settings: ClassifySettings
    ) -> tuple[ClassificationSplit, PredictionArrays]:
        """Return the labeled rows and the raw predictions.

        Args:
            classifier: the opened model.
            decoder: its decoder.
            settings: flags of the training run.

        Raises:
            InputError: if the data has no labels, or labels that the model does not have.
        """
        changes: dict[str, Any] = {"do_train": False, "do_eval": True, "do_predict": False}
        tables: dict[str, TableFile] = {}
        columns, names = self.columns, decoder.labels.names or None
        without_labels = self.sample_weight is not None and self.labels is None
        refuse_if(without_labels, f"sample_weight: needs labels; {_weights_of_table(settings)}")
        if self.labels is not None:
            if settings.rows.weighted_metrics and self.sample_weight is None:
                LOG.warning("warning: the metrics count each text once; sample_weight weights them, as in the training")
            labels = self.labels if hasattr(self.labels, "__len__") else list(self.labels)
            # A model that was trained on distributions may be tested on single labels.
            is_soft = settings.label_kind.soft_labels and _are_rows(labels)
            changes |= {"soft_labels": is_soft, "group_column": None}
            rows = (read_distribution_rows if is_soft else read_label_rows)("labels", labels, names)
            _check_known([] if is_soft else rows.items, names)
            texts = read_texts_argument(self.data)
            further = row_columns(len(texts), ("text", "text_b", "label"), None, self.sample_weight)
            changes |= {"weight_column": None, "weighted_metrics": self.sample_weight is not None} | further.options
            tables["dev"] = pair_up("texts", texts, rows.items, further=further.columns)
            changes |= _COLUMNS | {"text_b_column": "text_b" if texts.has_pairs else None}
            columns = NOT_TRAINED
        elif is_path(self.data):
            changes["dev_file"] = path_text(self.data, "data")
        else:
            tables["dev"] = read_table("data", self.data)
        if tables or not is_tab_separated(changes["dev_file"]):
            # A task, such as cola, is a layout of TSV files.
            changes["task_name"] = ""
        settings = replace_values(settings, changes)
        examples = read_data(settings, names, decoder.problem_type, tables, columns).splits["dev"]
        split = make_split("dev", examples, names or (), classifier.tokenizer, decoder.problem_type, settings.encoding)
        predictions, _ = decoder.infer_raw(classifier.predictor, split.features, self.batch_size, "evaluating")
        return split, predictions


def _weights_of_table(settings: ClassifySettings) -> str:
    """Return where the weights of a table's rows are."""
    if settings.rows.weighted_metrics:
        return f"a table has its weights in the column {settings.rows.weight_column}"
    return "evaluate(texts, labels, sample_weight=weights) weights the metrics"


def _are_rows(labels: Any) -> bool:
    """Return whether labels are a table, or rows of numbers."""
    if as_table("labels", labels) is not None or len(getattr(labels, "shape", ())) == 2:
        return True
    return bool(len(labels)) and isinstance(next(iter(labels)), list | tuple | np.ndarray)


def _check_known(labels: Sequence[Any], names: Sequence[str] | None) -> None:
    """Raise InputError for a label that the model does not have; `names` is None for a regression."""
    for row, label in enumerate(labels if names else ()):
        # The reader checks rows of 0 and 1, and missing labels.
        items = label if isinstance(label, list | set | frozenset) else [label]
        named = [item for item in items if not isinstance(item, tuple) and not is_missing(item)]
        # pandas writes whole numbers as floats if a column has missing ones.
        texts = [str(int(item) if isinstance(item, float) and item.is_integer() else item) for item in named]
        unknown = [text for text in texts if text not in (names or ())]
        refuse_if(
            unknown,
            f"labels[{row}]: {quote(unknown[0] if unknown else '')} is not among the model's labels "
            f"{list_names(list(names or ()))}",
        )


def score_labeled_texts(
    classifier: TextClassifier,
    settings: ClassifySettings,
    texts: LabeledTexts,
    positive_label: Any = None,
    samples: int = 0,
    custom_metrics: tuple[CustomMetric, ...] = (),
) -> dict[str, float]:
    """Return the metrics in eval_results.txt for labeled texts.

    Args:
        classifier: the opened model.
        settings: flags of the training run.
        texts: the texts.
        positive_label: label that eval_f1 is of, None to use the training's label.
        samples: number of bootstrap samples for confidence intervals, 0 for none.
        custom_metrics: the caller's metrics.

    Raises:
        InputError: if the data has no labels, or labels that the model does not have.
    """
    positive_name = settings.label_kind.positive_label if positive_label is None else str(positive_label)
    decoder = FittingDecoder(**vars(classifier.decoder.with_positive_label(positive_name)))
    decoder = add_custom_metrics(decoder, custom_metrics, np.array([]))
    split, raw_predictions = texts.infer(classifier, decoder, settings)
    label_ids, targets = split.features.label_ids, ScoredTargets(split.features.weights, split.distributions)
    predictions = decoder.calibrate(raw_predictions, label_ids)
    metrics = decoder.score(label_ids, raw_predictions, predictions, texts.batch_size, targets).metrics
    if samples:
        seed, weights = settings.seed.random_seed, split.features.weights
        metrics |= bootstrap_metrics(decoder, label_ids, predictions, weights, samples, seed).results()
    return {name: float(value) for name, value in metrics.items()}


class Calibrated(NamedTuple):
    """A fitted decoder, and its files by name."""

    decoder: Decoder
    files: dict[str, bytes]


def calibrate(
    classifier: TextClassifier,
    settings: ClassifySettings,
    texts: LabeledTexts,
    abstain_error: str | None,
    folders: Sequence[str],
) -> Calibrated:
    """Return a decoder with temperatures, and perhaps thresholds, that fit labeled texts.

    Args:
        classifier: the opened model.
        settings: flags of the training run and of `load`.
        texts: the texts.
        abstain_error: the most wrong answers, such as "2%"; None to answer all texts.
        folders: the model's directories.

    Raises:
        InputError: if the model has no probabilities to calibrate, or thresholds for others.
    """
    problem_type = classifier.decoder.problem_type
    require(problem_type.calibrator, "calibrate")
    is_tuned = settings.inference.threshold == TUNED
    refuse_if(
        is_tuned and abstain_error is not None,
        f'abstain_error and threshold="{TUNED}" cannot be combined: the thresholds would be chosen by the rows that the '
        "error is measured on; load the model with a fixed threshold",
    )
    outdated = find_thresholds(folders)
    refuse_if(
        not is_tuned and outdated,
        f'{outdated}: was tuned for other probabilities; load the model with threshold="{TUNED}"',
    )
    error = read_abstain_error(abstain_error) if abstain_error is not None else ""
    decoder = FittingDecoder(
        problem_type,
        classifier.decoder.labels,
        should_tune=is_tuned,
        calibration_flags=CalibrationFlags(calibrate=True, abstain_error=error),
    )
    split, predictions = texts.infer(classifier, decoder, settings)
    decoder = decoder.fit(split.features.label_ids, predictions)
    with tempfile.TemporaryDirectory(prefix="bert_cli-") as folder:
        decoder.write(RunDirectory(folder))
        written = {name: files.read_bytes(os.path.join(folder, name)) for name in files.list_directory(folder)}
    return Calibrated(Decoder(problem_type, decoder.labels, decoder.calibration), written)
