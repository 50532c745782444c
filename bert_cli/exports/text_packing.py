"""features.packing as a TensorFlow graph, for exported models. Imports TensorFlow."""

import tensorflow as tf


def pack(ids_a: tf.RaggedTensor, ids_b: tf.RaggedTensor | None, max_seq_length: int, cls_id: int, sep_id: int) -> dict:
    """features.packing.pack for a batch: ragged int32 [B, (tokens)] -> the encoder's inputs, int32
    [B, S].

    S is the longest of the batch.
    """
    rows = ids_a.nrows()
    length_a = ids_a.row_lengths()
    length_b = tf.zeros_like(length_a) if ids_b is None else ids_b.row_lengths()
    has_b = tf.cast(length_b > 0, tf.int64)
    budget = max_seq_length - 2 - has_b
    keep_a = tf.minimum(length_a, tf.maximum(budget - budget // 2, budget - length_b))
    keep_b = tf.minimum(length_b, budget - keep_a)
    ones = tf.ones([rows], tf.int64)
    parts = [_repeated(cls_id, ones), _cut(ids_a, keep_a), _repeated(sep_id, ones)]
    if ids_b is not None:
        parts += [_cut(ids_b, keep_b), _repeated(sep_id, has_b)]
    packed = tf.concat(parts, axis=1)
    word_ids = packed.to_tensor()
    mask = tf.sequence_mask(packed.row_lengths(), tf.shape(word_ids)[1], tf.int32)
    positions = tf.range(tf.shape(word_ids)[1], dtype=tf.int64)
    type_ids = tf.cast(positions >= keep_a[:, tf.newaxis] + 2, tf.int32) * mask
    return {"input_word_ids": word_ids, "input_mask": mask, "input_type_ids": type_ids}


def _cut(ids: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    positions = tf.ragged.range(ids.row_lengths())
    kept = positions.flat_values < tf.gather(lengths, ids.value_rowids())
    return tf.RaggedTensor.from_row_lengths(tf.boolean_mask(ids.flat_values, kept), lengths, validate=False)


def _repeated(token_id: int, counts: tf.Tensor) -> tf.RaggedTensor:
    return tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(counts)], token_id), counts, validate=False)
