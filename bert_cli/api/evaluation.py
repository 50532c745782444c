"""Metrics of a loaded classifier for labeled texts."""

from typing import Any

from bert_cli.api.inputs.label_rows import read_label_rows
from bert_cli.api.inputs.tables import is_path, pair_up, read_table
from bert_cli.api.inputs.texts import read_texts
from bert_cli.flags.option import replace_values
from bert_cli.flags.paths import path_text
from bert_cli.predicting.classifier import TextClassifier
from bert_cli.reading.probe import TableFile
from bert_cli.runs.tasks.classification.data import read_data
from bert_cli.runs.tasks.classification.decoder import FittingDecoder
from bert_cli.runs.tasks.classification.encoded_splits import make_split
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import NOT_TRAINED, TrainedColumns

# Columns of a table that is made from texts and labels, instead of the columns of the training.
_COLUMNS = {"text_column": "text", "label_column": "label", "id_column": None}


def score(
    classifier: TextClassifier,
    settings: ClassifySettings,
    columns: TrainedColumns,
    data: Any,
    labels: Any,
    batch_size: int,
    positive_label: Any = None,
) -> dict[str, float]:
    """Return the metrics in eval_results.txt for labeled texts.

    Args:
        classifier: the opened model.
        settings: flags of the training run.
        columns: columns of the training data.
        data: a path, a table or rows with labels; or texts if `labels` are given.
        labels: labels of the texts; None if `data` has them.
        batch_size: texts of maximum length per batch.
        positive_label: label that eval_f1 is of, None to use the training's label.

    Raises:
        InputError: if the data has no labels, or labels that the model does not have.
    """
    changes: dict[str, Any] = {"do_train": False, "do_eval": True, "do_predict": False, "task_name": ""}
    tables: dict[str, TableFile] = {}
    positive_name = settings.label_kind.positive_label if positive_label is None else str(positive_label)
    decoder = FittingDecoder(**vars(classifier.decoder.with_positive_label(positive_name)))
    if labels is not None:
        rows = read_label_rows("labels", labels, decoder.labels.names or None)
        texts = read_texts(data)
        tables["dev"] = pair_up("texts", texts, rows.items)
        changes |= _COLUMNS | {"text_b_column": "text_b" if texts.has_pairs else None}
        columns = NOT_TRAINED
    elif is_path(data):
        changes["dev_file"] = path_text(data, "data")
    else:
        tables["dev"] = read_table("data", data)
    settings = replace_values(settings, changes)
    names = decoder.labels.names
    examples = read_data(settings, names or None, decoder.problem_type, tables, columns).splits["dev"]
    split = make_split("dev", examples, names, classifier.tokenizer, decoder.problem_type, settings.encoding)
    raw_predictions, _ = decoder.infer_raw(classifier.predictor, split.features, batch_size, "evaluating")
    label_ids = split.features.label_ids
    predictions = decoder.calibrate(raw_predictions, label_ids)
    metrics = decoder.score(label_ids, raw_predictions, predictions, batch_size).metrics
    return {name: float(value) for name, value in metrics.items()}
