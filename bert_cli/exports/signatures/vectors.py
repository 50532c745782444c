"""Vectors of texts in a SavedModel: pooling and all steps after it are inside."""

import tensorflow as tf

from bert_cli.exports.exported import ModelToExport
from bert_cli.exports.signatures.network import open_network_to_export
from bert_cli.exports.signatures.signature import Outputs, Signature, describe_cut, text_specs
from bert_cli.exports.text_graph import GraphTokenizer
from bert_cli.exports.text_packing import pack_texts
from bert_cli.heads.vectors import embed_texts
from bert_cli.sentence.vectors import SENTENCE_EMBEDDING

# White space of str.strip, as an RE2 class.
_WHITE_SPACE = r"[\pZ\t-\r\x1c-\x1f\x{85}]"


def make_text_encoder(exported: ModelToExport, tokenizer: GraphTokenizer) -> Signature:
    """Return an encoder of texts.

    It takes `text` string [B] and, if `exported.takes_pairs`, `text_b` string [B], which is empty
    for a single text. It returns `sentence_embedding` float32 [B, W].

    Args:
        exported: vocabulary and recipe.

    Raises:
        InputError: if the checkpoint lacks a weight that the vectors need.
    """
    recipe, vectors = exported.recipe, exported.vectors
    assert recipe, "find_model_to_export chooses it"
    assert vectors
    model = exported.model
    encoder = open_network_to_export(exported).members[0].loaded.model

    def embed(inputs: dict) -> Outputs:
        return {SENTENCE_EMBEDDING: embed_texts(encoder(inputs, packed=True), inputs["input_mask"], vectors)}

    def embed_raw_texts(text: tf.Tensor, text_b: tf.Tensor | None = None) -> Outputs:
        if recipe.prompt:
            # The commands strip texts, and white space after a prompt could separate words.
            text = recipe.prompt + tf.strings.regex_replace(text, f"^{_WHITE_SPACE}+", "")
        return embed(pack_texts(tokenizer, text, text_b, exported.max_seq_length, model.vocabulary.ids))

    steps = ", ".join([f"pooling {vectors.pooling}", *map(str, vectors.steps)])
    prompt = f", the prompt {recipe.prompt!r} before each text" if recipe.prompt else ""
    specs = text_specs(exported.takes_pairs)
    width = vectors.width(model.config.hidden_size)
    summary = f"vectors of {width} numbers: {steps}{prompt}; {describe_cut(specs, exported.max_seq_length)}"
    return Signature([encoder], embed_raw_texts, specs, embed, summary)
