"""A classifier of texts in a SavedModel."""

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, HeadSpec
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, show_names
from bert_cli.exports.exported import Exported
from bert_cli.exports.loaded import load_head_model
from bert_cli.exports.signatures.signature import Outputs, Signature, describe_cut, text_specs
from bert_cli.exports.text_graph import GraphTokenizer
from bert_cli.exports.text_packing import pack_texts
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.weights.variables import Reader


def make_classifier(reader: Reader, exported: Exported, tokenizer: GraphTokenizer) -> Signature:
    """Return a classifier.

    It takes `text` string [B] and, if `exported.takes_pairs`, `text_b` string [B], which is empty
    for a single text. It cuts texts to `exported.max_seq_length` tokens.

    It returns `probabilities` float32 [B, L], and `labels` string [B, L], the column names. A
    single-label model also returns `label` string [B], the predicted label. A regression model
    only returns `value` float32 [B].

    Args:
        reader: the open checkpoint.
        exported: vocabulary, labels and settings.
        tokenizer: the tokenizer.

    Raises:
        InputError: if the checkpoint does not have a classifier with these labels.
    """
    model, labels = _load(reader, exported), exported.labels
    names = tf.constant(list(labels or ()), tf.string)
    thresholds = exported.thresholds if model.problem_type.decoder.is_exclusive else None

    def classify(inputs: dict) -> Outputs:
        # Pack the batch, because its rows differ in length and padding takes time.
        logits = model(inputs, packed=True)
        activated = model.activate(logits)
        if not labels:
            return {"value": activated}
        # Repeat the labels: TensorFlow Serving needs one row per text in each output.
        outputs = {"probabilities": activated, "labels": tf.tile(names[tf.newaxis], [tf.shape(activated)[0], 1])}
        if model.problem_type.decoder.is_exclusive:
            # Use the logits before calibration: its division may round two of them to one value.
            best = tf.argmax(model.formulas.activate(logits), axis=1)
            outputs["label"] = tf.gather(names, best if thresholds is None else _predict(activated, thresholds))
        return outputs

    def classify_texts(text: tf.Tensor, text_b: tf.Tensor | None = None) -> Outputs:
        return classify(pack_texts(tokenizer, text, text_b, exported.max_seq_length, exported.model.vocabulary.ids))

    label_names = show_names(labels or ()) or "none, a number"
    specs = text_specs(exported.takes_pairs)
    summary = f"{exported.problem_type.name}; labels: {label_names}; {describe_cut(specs, exported.max_seq_length)}"
    return Signature(model, classify_texts, specs, classify, summary, {"label_names": names})


def _predict(probabilities: tf.Tensor, thresholds: np.ndarray) -> tf.Tensor:
    """Return the predicted labels as metrics.classification.predict_labels does, int64 [B]."""
    [label] = np.flatnonzero(~np.isnan(thresholds))
    is_over = tf.cast(probabilities[:, label], tf.float64) >= thresholds[label]
    return tf.where(is_over, label, 1 - label)


def _load(reader: Reader, exported: Exported) -> BertTextClassifier:
    """Load the classifier; raise InputError if the checkpoint does not have it with these labels."""
    labels, model, problem_type = exported.labels, exported.model, exported.problem_type
    temperatures = exported.temperatures
    count = len(labels) if labels else 1
    activation = problem_type.decoder.activation
    spec = HeadSpec(CLASSIFIER, count, model.head.text_input, activation=activation, temperatures=temperatures)
    if temperatures:
        LOG.info("probabilities are calibrated: %s", CALIBRATION)
    shape, expected_shape = reader.shapes["output_weights"], spec.shapes(model.config.hidden_size)["output_weights"]
    if tuple(shape) != expected_shape:
        need = f"{spec.num_outputs} labels ({', '.join(labels)}) need" if labels else "a number needs"
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, {need} {list(expected_shape)}; check --labels"
        )
    strict = model.required_checkpoint.is_strict
    return load_head_model(reader, model.config, spec, problem_type, strict=strict).model
