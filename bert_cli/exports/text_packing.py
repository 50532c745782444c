"""Graph version of features.packing, for exported models."""

from collections.abc import Mapping

import tensorflow as tf

from bert_cli.exports.text_graph import GraphTokenizer
from bert_cli.text.vocabulary import CLS, SEP, padding_id


def pack_texts(
    tokenizer: GraphTokenizer,
    text: tf.Tensor,
    text_b: tf.Tensor | None,
    max_seq_length: int,
    ids: Mapping[str, int],
) -> dict:
    """Return the encoder's inputs, int32 [B, S], for texts or pairs of texts.

    Args:
        text: string [B].
        text_b: second texts, string [B], or None.
        max_seq_length: maximum row length.
        ids: the vocabulary's ids by token.
    """
    ids_b = None if text_b is None else tokenizer.pieces(text_b).merge_dims(1, 2)
    return pack_ids(tokenizer.pieces(text).merge_dims(1, 2), ids_b, max_seq_length, ids)


def pack_ids(
    ids_a: tf.RaggedTensor, ids_b: tf.RaggedTensor | None, max_seq_length: int, ids: Mapping[str, int]
) -> dict:
    """Return `pack_batch` with the special tokens of a vocabulary.

    Args:
        ids_a, ids_b, max_seq_length: see pack_batch.
        ids: the vocabulary's ids by token.
    """
    return pack_batch(ids_a, ids_b, max_seq_length, ids[CLS], ids[SEP], padding_id(ids))


def pack_batch(
    ids_a: tf.RaggedTensor,
    ids_b: tf.RaggedTensor | None,
    max_seq_length: int,
    cls_id: int,
    sep_id: int,
    pad_id: int = 0,
) -> dict:
    """Return the encoder's inputs, int32 [B, S], for a batch.

    It is equal to the result of features.packing.pack. S is the longest row's length.

    Args:
        ids_a: first texts' token ids, ragged int32 [B, (tokens)].
        ids_b: second texts' token ids, ragged int32 [B, (tokens)], or None.
        max_seq_length: maximum row length.
        cls_id: id of [CLS].
        sep_id: id of [SEP].
        pad_id: id of [PAD].
    """
    rows = ids_a.nrows()
    length_a = ids_a.row_lengths()
    length_b = tf.zeros_like(length_a) if ids_b is None else ids_b.row_lengths()
    has_b = tf.cast(length_b > 0, tf.int64)
    budget = max_seq_length - 2 - has_b
    keep_a = tf.minimum(length_a, tf.maximum(budget - budget // 2, budget - length_b))
    keep_b = tf.minimum(length_b, budget - keep_a)
    ones = tf.ones([rows], tf.int64)
    segments = [_repeat(cls_id, ones), _cut(ids_a, keep_a), _repeat(sep_id, ones)]
    if ids_b is not None:
        segments += [_cut(ids_b, keep_b), _repeat(sep_id, has_b)]
    packed = tf.concat(segments, axis=1)
    word_ids = packed.to_tensor(pad_id)
    mask = tf.sequence_mask(packed.row_lengths(), tf.shape(word_ids)[1], tf.int32)
    positions = tf.range(tf.shape(word_ids)[1], dtype=tf.int64)
    type_ids = tf.cast(positions >= keep_a[:, tf.newaxis] + 2, tf.int32) * mask
    return {"input_word_ids": word_ids, "input_mask": mask, "input_type_ids": type_ids}


def _cut(ids: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    positions = tf.ragged.range(ids.row_lengths())
    kept = positions.flat_values < tf.gather(lengths, ids.value_rowids())
    return tf.RaggedTensor.from_row_lengths(tf.boolean_mask(ids.flat_values, kept), lengths, validate=False)


def _repeat(token_id: int, counts: tf.Tensor) -> tf.RaggedTensor:
    return tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(counts)], token_id), counts, validate=False)
