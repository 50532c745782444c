"""bert-export --format=saved_model and --format=hub: a classifier of raw text, or an encoder and a
preprocessor.

The objects are tf.train.Checkpoint with attributes, which is what tf.saved_model.load gives back.
Imports TensorFlow.
"""

import os

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, HeadSpec
from bert_cli.base.log import LOG
from bert_cli.base.names import CALIBRATION
from bert_cli.base.writing import atomic_write
from bert_cli.exports.exported import Exported, exporting
from bert_cli.exports.hub_writing import reported_writing, save_encoder, write_extras, write_saved_model
from bert_cli.exports.loaded import load_head_model
from bert_cli.exports.preprocessor import save_preprocessor
from bert_cli.exports.text_graph import TEXTS, GraphTokenizer, check_settings, vocabulary_lines
from bert_cli.exports.text_packing import pack
from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.model import tensor_specs
from bert_cli.model.layers import named_weights
from bert_cli.text.vocabulary import CLS, SEP
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.reader import Reader

TOKENS_SIGNATURE = "token_ids"
_SECOND_TEXTS = tf.TensorSpec([None], tf.string, name="text_b")


def save_classifier(path: str, model: BertClassifier, tokenizer: GraphTokenizer, exported: Exported) -> None:
    """Write a SavedModel into the folder `path`.

    Signature serving_default: `text` string [B], with `pairs` also `text_b` string [B] (empty for
    none). Signature token_ids: the encoder's inputs, int32 [B, S]. Both give `probabilities`
    float32 [B, L], `labels` string [B, L], the names of their columns, and, if single-label,
    `label` string [B], the most probable one; without labels, of a regression, `value` float32 [B].
    Texts are cut to max_seq_length tokens.
    """
    module = tf.train.Checkpoint()
    module.variables = [variable.value for variable in named_weights(model).values()]
    # As an attribute, so that its table and the vocabulary are saved with the module.
    module.tokenizer = tokenizer
    labels = exported.labels
    ids = exported.model.vocabulary.ids
    module.label_names = names = tf.constant(list(labels or ()), tf.string)

    def classify(inputs: dict) -> dict:
        # packed: rows of a served batch differ in length, and padding would be computed for all of
        # them.
        logits = model(inputs, packed=True)
        answers = model.activated(logits)
        if not labels:
            return {"value": answers}
        # TensorFlow Serving wants a row of each output per text.
        outputs = {"probabilities": answers, "labels": tf.tile(names[tf.newaxis], [tf.shape(answers)[0], 1])}
        if model.problem_type.is_exclusive:
            # Of the logits as they are: a division may round two of them to one.
            outputs["label"] = tf.gather(names, tf.argmax(model.formulas.activated(logits), axis=1))
        return outputs

    def classify_texts(text, text_b=None):
        ids_b = None if text_b is None else tokenizer.pieces(text_b).merge_dims(1, 2)
        ids_a = tokenizer.pieces(text).merge_dims(1, 2)
        return classify(pack(ids_a, ids_b, exported.max_seq_length, ids[CLS], ids[SEP]))

    module.classify_tokens = tf.function(classify, input_signature=[tensor_specs(spec.ENCODER)], autograph=False)
    specs = [TEXTS, _SECOND_TEXTS] if exported.pairs else [TEXTS]
    module.classify_texts = tf.function(classify_texts, specs, autograph=False)
    # A signature's arguments are tensors by name; the function takes them as one dict.
    by_tokens = tf.function(lambda **inputs: module.classify_tokens(inputs), autograph=False)
    signatures = {
        "serving_default": module.classify_texts.get_concrete_function(),
        TOKENS_SIGNATURE: by_tokens.get_concrete_function(**tensor_specs(spec.ENCODER)),
    }
    write_saved_model(path, module, signatures)


def _load_classifier(reader: Reader, exported: Exported) -> BertClassifier:
    """InputError where the checkpoint holds no classifier of these labels (None: of a number)."""
    labels, model, problem_type = exported.labels, exported.model, exported.problem_type
    shape = reader.shapes.get("output_weights")
    if shape is None:
        raise InputError(
            f"{reader.description}: has no classifier (no output_weights); give the output_dir of "
            "bert-classify, or --format=hub for the encoder alone"
        )
    temperatures = exported.temperatures
    count = len(labels) if labels else 1
    activation = problem_type.activation
    spec = HeadSpec(CLASSIFIER, count, model.text_input, activation=activation, temperatures=temperatures)
    if temperatures:
        LOG.info("probabilities are calibrated: %s", CALIBRATION)
    wanted = spec.shapes(model.config.hidden_size)["output_weights"]
    if tuple(shape) != wanted:
        what = f"{spec.num_outputs} labels ({', '.join(labels)}) need" if labels else "a number needs"
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, {what} {list(wanted)}; check --labels"
        )
    return load_head_model(reader, model.config, spec, problem_type).model


def export_saved_models(folder: str, exported: Exported, is_encoder: bool) -> list[str]:
    """Write a classifier, or, with `is_encoder`, encoder and preprocessor into `folder`; returns
    their folders.

    InputError where the checkpoint is not whole, or the folder cannot be written.
    """
    model = exported.model
    config = model.config
    lower, settings = model.do_lower_case, model.tokenizer_settings
    check_settings(settings)
    reader = open_checkpoint(model.required_checkpoint)
    if is_encoder:
        loaded = load_head_model(reader, config, HeadSpec(ENCODER)).model
    else:
        loaded = _load_classifier(reader, exported)
    LOG.info(
        "%s: %d layers, hidden size %d, %d words, %s, text is %s", model.required_checkpoint.name, config.num_hidden_layers,
        config.hidden_size, model.vocabulary.size, config.activation, "lower-cased" if lower else "taken as it is",
    )  # fmt: skip
    with reported_writing(folder), exporting(folder) as new:
        # Next to the export, not in it: saving copies it into the assets.
        vocab_path = os.path.join(os.path.dirname(new), "vocab.txt")
        with atomic_write(vocab_path) as file:
            file.write(vocabulary_lines(model.vocabulary, settings))
        tokenizer = GraphTokenizer(model.vocabulary, lower, vocab_path, settings)
        if is_encoder:
            save_encoder(os.path.join(new, "encoder"), loaded, config, model.vocab_bytes, model.tokenizer_values)
            save_preprocessor(os.path.join(new, "preprocess"), tokenizer, model.vocabulary, exported.max_seq_length)
            write_extras(os.path.join(new, "preprocess"), model.tokenizer_values)
        else:
            save_classifier(new, loaded, tokenizer, exported)
    if not is_encoder:
        texts = "text and text_b" if exported.pairs else "text"
        named = ", ".join(exported.labels or ()) or "none, a number"
        LOG.info(
            "%s; labels: %s; %s, cut to %d tokens", exported.problem_type.name, named, texts, exported.max_seq_length
        )
        LOG.info("wrote %s: serving_default takes %s, %s token ids", folder, texts, TOKENS_SIGNATURE)
        return [folder]
    folders = [os.path.join(folder, name) for name in ("encoder", "preprocess")]
    LOG.info("wrote %s and %s", *folders)
    return folders
