"""A classifier of texts in a SavedModel."""

import tensorflow as tf

from bert_cli.base.names import show_names
from bert_cli.exports.exported import ModelToExport
from bert_cli.exports.signatures.network import open_network_to_export
from bert_cli.exports.signatures.signature import Outputs, Signature, describe_cut, repeat_names, text_specs
from bert_cli.exports.text_graph import GraphTokenizer
from bert_cli.exports.text_packing import pack_texts


def make_classifier(exported: ModelToExport, tokenizer: GraphTokenizer) -> Signature:
    """Return a classifier.

    It takes `text` string [B] and, if `exported.takes_pairs`, `text_b` string [B], which is empty
    for a single text. It cuts texts to `exported.max_seq_length` tokens.

    It returns `probabilities` float32 [B, L], and `labels` string [B, L], the column names. A
    single-label model also returns `label` string [B], the predicted label. A regression model
    only returns `value` float32 [B].

    Args:
        exported: vocabulary, labels and settings.

    Raises:
        InputError: if the checkpoint does not have a classifier with these labels.
    """
    network = open_network_to_export(exported)
    models, labels = [member.loaded.model for member in network.members], network.labels
    names = tf.constant(list(labels or ()), tf.string)
    formulas, thresholds = models[0].formulas, exported.thresholds

    def classify(inputs: dict) -> Outputs:
        # Pack the batch, because its rows differ in length and padding takes time.
        logits = [model(inputs, packed=True) for model in models]
        activated = network.mean([model.activate(x) for model, x in zip(models, logits, strict=True)])
        if not labels:
            return {"value": activated}
        outputs = {"probabilities": activated, "labels": repeat_names(names, tf.shape(activated)[0])}
        if formulas.decide:
            # Use the logits before calibration: its division may round two of them to one value.
            scores = activated if exported.members else formulas.activate(logits[0])
            outputs["label"] = tf.gather(names, formulas.decide(scores, activated, thresholds))
        return outputs

    def classify_texts(text: tf.Tensor, text_b: tf.Tensor | None = None) -> Outputs:
        return classify(pack_texts(tokenizer, text, text_b, exported.max_seq_length, exported.model.vocabulary.ids))

    label_names = show_names(labels or ()) or "none, a number"
    specs = text_specs(exported.takes_pairs)
    count = f"the mean of {len(exported.members)} classifiers; " if exported.members else ""
    summary = (
        f"{count}{exported.problem_type.name}; labels: {label_names}; {describe_cut(specs, exported.max_seq_length)}"
    )
    return Signature(models, classify_texts, specs, classify, summary, {"label_names": names})
