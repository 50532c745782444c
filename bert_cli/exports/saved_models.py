"""bert-export --format=saved_model and --format=hub: a classifier of raw text, or an encoder and a preprocessor.

Imports TensorFlow.
"""

import logging
import os

from bert_cli.base.head_types import ENCODER, HeadSpec
from bert_cli.base.writing import atomic_write
from bert_cli.exports import modules
from bert_cli.exports.exported import Exported
from bert_cli.exports.head_model import load_classifier, load_head_model
from bert_cli.exports.hub_writing import reported_writing, save_encoder, write_extras
from bert_cli.exports.publishing import exporting
from bert_cli.exports.text_graph import GraphTokenizer, vocabulary_lines
from bert_cli.weights.checkpoint import open_checkpoint

LOG = logging.getLogger("bert_cli")


def export_saved_models(folder: str, exported: Exported, is_encoder: bool) -> list[str]:
    """Write a classifier, or, with `is_encoder`, encoder and preprocessor into `folder`; returns their folders.

    InputError where the checkpoint is not whole, or the folder cannot be written.
    """
    model, config = exported.model, exported.model.config
    checkpoint, reader = model.required_checkpoint, open_checkpoint(model.required_checkpoint)
    labels, vocabulary, lower = exported.labels, model.vocabulary, model.do_lower_case
    if is_encoder:
        loaded = load_head_model(reader, config, HeadSpec(ENCODER)).model
    else:
        loaded = load_classifier(reader, model, labels, exported.problem_type)
    LOG.info(
        "%s: %d layers, hidden size %d, %d words, %s, text is %s", checkpoint.name, config.num_hidden_layers,
        config.hidden_size, vocabulary.size, config.activation, "lower-cased" if lower else "taken as it is",
    )  # fmt: skip
    length, pairs = exported.max_seq_length, exported.pairs
    with reported_writing(folder), exporting(folder) as new:
        vocab_path = os.path.join(os.path.dirname(new), "vocab.txt")
        with atomic_write(vocab_path) as file:
            file.write(vocabulary_lines(vocabulary))
        tokenizer = GraphTokenizer(vocabulary, lower, vocab_path)
        if is_encoder:
            save_encoder(os.path.join(new, "encoder"), loaded, config, model.vocab_bytes, lower)
            modules.save_preprocessor(os.path.join(new, "preprocess"), tokenizer, vocabulary, length)
            write_extras(os.path.join(new, "preprocess"), lower)
        else:
            modules.save_classifier(new, loaded, tokenizer, vocabulary, labels, length, pairs)
    if not is_encoder:
        texts, named = "text and text_b" if pairs else "text", ", ".join(labels or ()) or "none, a number"
        LOG.info("%s; labels: %s; %s, cut to %d tokens", exported.problem_type.name, named, texts, length)
        LOG.info("wrote %s: serving_default takes %s, %s token ids", folder, texts, modules.TOKENS_SIGNATURE)
        return [folder]
    folders = [os.path.join(folder, name) for name in ("encoder", "preprocess")]
    LOG.info("wrote %s and %s", *folders)
    return folders
