"""Writer for SavedModels: a classifier for raw text, or an encoder with a preprocessor.

Like the objects from tf.saved_model.load, the modules are tf.train.Checkpoint with attributes.
"""

import os

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, HeadSpec
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION, show_names
from bert_cli.base.writing import atomic_write
from bert_cli.exports.exported import Exported, exporting
from bert_cli.exports.hub_writing import reporting_errors, save_encoder, write_extras, write_saved_model
from bert_cli.exports.loaded import load_head_model
from bert_cli.exports.preprocessor import save_preprocessor
from bert_cli.exports.text_graph import TEXTS, GraphTokenizer, check_settings, vocabulary_lines
from bert_cli.exports.text_packing import pack
from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.model import tensor_specs
from bert_cli.model.layers import named_weights
from bert_cli.text.vocabulary import CLS, SEP, padding_id
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.variables import Reader

TOKENS_SIGNATURE = "token_ids"
_SECOND_TEXTS = tf.TensorSpec([None], tf.string, name="text_b")


def save_classifier(path: str, model: BertClassifier, tokenizer: GraphTokenizer, exported: Exported) -> None:
    """Write a classifier as a SavedModel.

    The signature serving_default takes `text` string [B] and, if `exported.takes_pairs`, `text_b`
    string [B], which is empty for a single text. It cuts texts to `exported.max_seq_length` tokens.
    The signature token_ids takes the encoder's inputs, int32 [B, S].

    Both return `probabilities` float32 [B, L], and `labels` string [B, L], the column names. A
    single-label model also returns `label` string [B], the most probable label. A regression model
    only returns `value` float32 [B].

    Args:
        path: directory to write.
        model: the classifier.
        tokenizer: tokenizer to include.
        exported: vocabulary, labels and settings.
    """
    module = tf.train.Checkpoint()
    module.variables = [variable.value for variable in named_weights(model).values()]
    # Set an attribute, so that the tokenizer's table and vocabulary are saved with the module.
    module.tokenizer = tokenizer
    labels = exported.labels
    ids = exported.model.vocabulary.ids
    module.label_names = names = tf.constant(list(labels or ()), tf.string)

    def classify(inputs: dict) -> dict:
        # Pack the batch, because its rows differ in length and padding takes time.
        logits = model(inputs, packed=True)
        activated = model.activate(logits)
        if not labels:
            return {"value": activated}
        # Repeat the labels: TensorFlow Serving needs one row per text in each output.
        outputs = {"probabilities": activated, "labels": tf.tile(names[tf.newaxis], [tf.shape(activated)[0], 1])}
        if model.problem_type.decoder.is_exclusive:
            # Use the logits before calibration: its division may round two of them to one value.
            outputs["label"] = tf.gather(names, tf.argmax(model.formulas.activate(logits), axis=1))
        return outputs

    def classify_texts(text: tf.Tensor, text_b: tf.Tensor | None = None) -> dict[str, tf.Tensor]:
        ids_b = None if text_b is None else tokenizer.pieces(text_b).merge_dims(1, 2)
        ids_a = tokenizer.pieces(text).merge_dims(1, 2)
        return classify(pack(ids_a, ids_b, exported.max_seq_length, ids[CLS], ids[SEP], padding_id(ids)))

    module.classify_tokens = tf.function(classify, input_signature=[tensor_specs(spec.ENCODER)], autograph=False)
    specs = [TEXTS, _SECOND_TEXTS] if exported.takes_pairs else [TEXTS]
    module.classify_texts = tf.function(classify_texts, specs, autograph=False)
    # Convert keyword arguments to a dict: a signature's arguments are tensors by name.
    by_tokens = tf.function(lambda **inputs: module.classify_tokens(inputs), autograph=False)
    signatures = {
        "serving_default": module.classify_texts.get_concrete_function(),
        TOKENS_SIGNATURE: by_tokens.get_concrete_function(**tensor_specs(spec.ENCODER)),
    }
    write_saved_model(path, module, signatures)


def _load_classifier(reader: Reader, exported: Exported) -> BertClassifier:
    """Load the classifier; raise InputError if the checkpoint does not have it with these labels."""
    labels, model, problem_type = exported.labels, exported.model, exported.problem_type
    shape = reader.shapes.get("output_weights")
    if shape is None:
        raise InputError(
            f"{reader.description}: has no classifier (no output_weights); give the output_dir of "
            "bert-classify, or --format=hub for the encoder alone"
        )
    temperatures = exported.temperatures
    count = len(labels) if labels else 1
    activation = problem_type.decoder.activation
    spec = HeadSpec(CLASSIFIER, count, model.head.text_input, activation=activation, temperatures=temperatures)
    if temperatures:
        LOG.info("probabilities are calibrated: %s", CALIBRATION)
    expected_shape = spec.shapes(model.config.hidden_size)["output_weights"]
    if tuple(shape) != expected_shape:
        need = f"{spec.num_outputs} labels ({', '.join(labels)}) need" if labels else "a number needs"
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, {need} {list(expected_shape)}; check --labels"
        )
    strict = model.required_checkpoint.is_strict
    return load_head_model(reader, model.config, spec, problem_type, strict=strict).model


def export_saved_models(folder: str, exported: Exported, is_encoder: bool) -> list[str]:
    """Write the SavedModels for an export, and return their directories.

    Args:
        folder: directory to write.
        exported: the model and its settings.
        is_encoder: whether to write an encoder and a preprocessor instead of a classifier.

    Raises:
        InputError: if the checkpoint is incomplete, or the directory cannot be written.
    """
    model = exported.model
    config = model.config
    do_lower_case, settings = model.do_lower_case, model.tokenizer_settings
    check_settings(settings)
    reader = open_checkpoint(model.required_checkpoint)
    if is_encoder:
        loaded = load_head_model(reader, config, HeadSpec(ENCODER), strict=model.required_checkpoint.is_strict).model
    else:
        loaded = _load_classifier(reader, exported)
    LOG.info(
        "%s: %d layers, hidden size %d, %d words, %s, text is %s", model.required_checkpoint.name, config.num_hidden_layers,
        config.hidden_size, model.vocabulary.size, config.activation, "lower-cased" if do_lower_case else "taken as it is",
    )  # fmt: skip
    with reporting_errors(folder), exporting(folder) as staged:
        # Write this next to the export, because saving copies it into the assets.
        vocab_path = os.path.join(os.path.dirname(staged), "vocab.txt")
        with atomic_write(vocab_path) as file:
            file.write(vocabulary_lines(model.vocabulary, settings))
        tokenizer = GraphTokenizer(model.vocabulary, do_lower_case, vocab_path, settings)
        if is_encoder:
            save_encoder(os.path.join(staged, "encoder"), loaded, config, model.vocab_bytes, model.tokenizer_values)
            save_preprocessor(os.path.join(staged, "preprocess"), tokenizer, model.vocabulary, exported.max_seq_length)
            write_extras(os.path.join(staged, "preprocess"), model.tokenizer_values)
        else:
            save_classifier(staged, loaded, tokenizer, exported)
    if not is_encoder:
        texts = "text and text_b" if exported.takes_pairs else "text"
        label_names = show_names(exported.labels or ()) or "none, a number"
        LOG.info(
            "%s; labels: %s; %s, cut to %d tokens",
            exported.problem_type.name,
            label_names,
            texts,
            exported.max_seq_length,
        )
        LOG.info("wrote %s: serving_default takes %s, %s token ids", folder, texts, TOKENS_SIGNATURE)
        return [folder]
    folders = [os.path.join(folder, name) for name in ("encoder", "preprocess")]
    LOG.info("wrote %s and %s", *folders)
    return folders
