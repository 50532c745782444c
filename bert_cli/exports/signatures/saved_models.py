"""Writer for SavedModels: a model of raw text, or an encoder with a preprocessor."""

import os
from collections.abc import Callable

from bert_cli.base.head_types import CLASSIFIER, ENCODER, MASKED_LM, SPANS, TAGGER, HeadSpec
from bert_cli.base.log import LOG
from bert_cli.base.writing import atomic_write, reporting_errors
from bert_cli.exports.exported import ModelToExport, exporting
from bert_cli.exports.hub_writing import WRITE_ERRORS, save_encoder, write_extras
from bert_cli.exports.loaded import load_head_model
from bert_cli.exports.preprocessor import save_preprocessor
from bert_cli.exports.signatures.answers import make_answerer
from bert_cli.exports.signatures.classifier import make_classifier
from bert_cli.exports.signatures.masked_words import make_mask_filler
from bert_cli.exports.signatures.signature import TOKENS_SIGNATURE, Signature, save_signature
from bert_cli.exports.signatures.tagger import make_tagger
from bert_cli.exports.signatures.vectors import make_text_encoder
from bert_cli.exports.text_graph import GraphTokenizer, check_settings, vocabulary_lines
from bert_cli.exports.triton import model_path, write_triton_config
from bert_cli.weights.checkpoint import open_checkpoint

# Head type -> function that makes its signature. A new head is a new row.
_SIGNATURES: dict[str, Callable[[ModelToExport, GraphTokenizer], Signature]] = {
    CLASSIFIER: make_classifier,
    ENCODER: make_text_encoder,
    TAGGER: make_tagger,
    MASKED_LM: make_mask_filler,
    SPANS: make_answerer,
}


def _save_modules(folder: str, exported: ModelToExport, tokenizer: GraphTokenizer) -> None:
    """Write the modules for tensorflow-hub, `encoder` and `preprocess`."""
    model = exported.model
    checkpoint = model.required_checkpoint
    reader = open_checkpoint(checkpoint)
    encoder = load_head_model(reader, model.config, HeadSpec(ENCODER), strict=checkpoint.is_strict).model
    save_encoder(os.path.join(folder, "encoder"), encoder, model.config, model.vocab_bytes, model.tokenizer_values)
    save_preprocessor(os.path.join(folder, "preprocess"), tokenizer, model.vocabulary, exported.max_seq_length)
    write_extras(os.path.join(folder, "preprocess"), model.tokenizer_values)


def export_saved_models(folder: str, exported: ModelToExport, is_hub: bool, is_for_triton: bool = False) -> list[str]:
    """Write the SavedModels for an export, and return their directories.

    Args:
        folder: directory to write.
        exported: the model and its settings.
        is_hub: whether to write an encoder and a preprocessor for tensorflow-hub.
        is_for_triton: whether to write Triton's configuration and directories.

    Raises:
        InputError: if the checkpoint is incomplete, or the directory cannot be written.
    """
    model = exported.model
    config = model.config
    do_lower_case, settings = model.do_lower_case, model.tokenizer_settings
    check_settings(settings)
    with reporting_errors(folder, WRITE_ERRORS), exporting(folder) as staged:
        # Write this next to the export, because saving copies it into the assets.
        vocab_path = os.path.join(os.path.dirname(staged), "vocab.txt")
        with atomic_write(vocab_path) as file:
            file.write(vocabulary_lines(model.vocabulary, settings))
        tokenizer = GraphTokenizer(model.vocabulary, do_lower_case, vocab_path, settings)
        LOG.info(
            "%s: %d layers, hidden size %d, %d words, %s, text is %s", model.required_checkpoint.name, config.num_hidden_layers,
            config.hidden_size, model.vocabulary.size, config.activation, "lower-cased" if do_lower_case else "taken as it is",
        )  # fmt: skip
        if is_hub:
            _save_modules(staged, exported, tokenizer)
        else:
            signature = _SIGNATURES[exported.head_type](exported, tokenizer)
            path = model_path(staged, "saved_model") if is_for_triton else staged
            tensors = save_signature(path, signature, tokenizer)
            if is_for_triton:
                write_triton_config(staged, "saved_model", *tensors)
    if is_hub:
        folders = [os.path.join(folder, name) for name in ("encoder", "preprocess")]
        LOG.info("wrote %s and %s", *folders)
        return folders
    texts = signature.text_names
    LOG.info(signature.summary)
    LOG.info("wrote %s: serving_default takes %s, %s token ids", folder, texts, TOKENS_SIGNATURE)
    return [folder]
