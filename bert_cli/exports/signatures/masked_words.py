"""Masked words in a SavedModel: texts with [MASK] become the most probable words."""

import tensorflow as tf

from bert_cli.base.head_types import MASKED_LM
from bert_cli.exports.exported import ModelToExport
from bert_cli.exports.loaded import build_network
from bert_cli.exports.signatures.signature import Outputs, Signature, join_text_names, pad_rows, text_specs
from bert_cli.exports.text_graph import GraphTokenizer
from bert_cli.exports.text_packing import pack_ids
from bert_cli.text.vocabulary import MASK
from bert_cli.weights.checkpoint import open_checkpoint, read_with_heads


def make_mask_filler(exported: ModelToExport, tokenizer: GraphTokenizer) -> Signature:
    """Return a model that fills masks.

    It takes `text` string [B] and, if `exported.takes_pairs`, `text_b` string [B]; The words to predict
    are [MASK]. It returns `words` string [B, M, K] and `probabilities` float32 [B, M, K],
    the K best words of each mask. Rows with fewer than M masks are padded with "" and 0. A text
    with more tokens than positions is an error, because a mask might be cut off.

    Args:
        exported: vocabulary and settings.

    Raises:
        InputError: if the checkpoint lacks a weight.
    """
    model = exported.model
    vocabulary, strict = model.vocabulary, model.required_checkpoint.is_strict
    ids, length = vocabulary.ids, exported.max_seq_length
    reader = open_checkpoint(model.required_checkpoint)
    weights = read_with_heads(reader, model.config, (MASKED_LM,), strict)
    network = build_network(model.config, (MASKED_LM,), weights.tensors)
    tokens = tf.constant(vocabulary.tokens, tf.string)
    count = min(exported.top_k, vocabulary.size)

    def fill(inputs: dict) -> Outputs:
        states = network.encoder(inputs, packed=True)["sequence_output"]
        mask_positions = tf.where(tf.equal(inputs["input_word_ids"], ids[MASK]) & (inputs["input_mask"] > 0))
        embeddings = tf.convert_to_tensor(network.encoder.embeddings.words.value)
        logits = network.masked_lm(tf.gather_nd(states, mask_positions), word_embeddings=embeddings)
        # Exclude rows beyond the vocabulary, which can never be candidates.
        best = tf.math.top_k(tf.nn.softmax(logits[:, : vocabulary.size]), count)

        def pad(values: tf.Tensor, padding: str | float) -> tf.Tensor:
            return pad_rows(values, mask_positions[:, 0], tf.shape(states, tf.int64)[0], padding)

        return {"words": pad(tf.gather(tokens, best.indices), ""), "probabilities": pad(best.values, 0.0)}

    def encode(texts: tf.Tensor) -> tf.RaggedTensor:
        """Return token ids with [MASK] as one token, which the tokenizer alone would split."""
        segments = tf.strings.split(texts, MASK)
        pieces = tokenizer.pieces(segments.flat_values).merge_dims(1, 2)
        # Each part but a text's first one follows a mask.
        is_first = tf.scatter_nd(
            segments.row_starts()[:, tf.newaxis], segments.row_lengths(), tf.shape(segments.flat_values, tf.int64)
        )
        num_masks = tf.cast(tf.equal(is_first, 0), tf.int64)
        masks = tf.RaggedTensor.from_row_lengths(
            tf.fill([tf.reduce_sum(num_masks)], ids[MASK]), num_masks, validate=False
        )
        return segments.with_flat_values(tf.concat([masks, pieces], axis=1)).merge_dims(1, 2)

    def fill_texts(text: tf.Tensor, text_b: tf.Tensor | None = None) -> Outputs:
        ids_a, ids_b = encode(text), None if text_b is None else encode(text_b)
        num_tokens = ids_a.row_lengths() + 2
        if ids_b is not None:
            num_tokens += ids_b.row_lengths() + tf.cast(ids_b.row_lengths() > 0, tf.int64)
        fits = tf.debugging.assert_less_equal(
            num_tokens, tf.constant(length, tf.int64), f"texts have up to {length} tokens"
        )
        with tf.control_dependencies([fits]):
            return fill(pack_ids(ids_a, ids_b, length, ids))

    specs = text_specs(exported.takes_pairs)
    summary = f"masked words; the best {count} for each {MASK}; {join_text_names(specs)} of up to {length} tokens"
    return Signature([network], fill_texts, specs, fill, summary, {"tokens": tokens})
