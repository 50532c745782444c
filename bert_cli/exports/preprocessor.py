"""A preprocessor of texts for tensorflow-hub. Imports TensorFlow."""

import tensorflow as tf
import tensorflow_text as tf_text

from bert_cli.exports.hub_writing import write_saved_model
from bert_cli.exports.text_graph import TEXTS, GraphTokenizer
from bert_cli.text.vocabulary import CLS, MASK, PAD_ID, SEP, Vocabulary


def save_preprocessor(path: str, tokenizer: GraphTokenizer, vocabulary: Vocabulary, seq_length: int) -> None:
    """Write a preprocessor with the interface of the published bert_en_uncased_preprocess into the
    folder `path`.

    Call it with string [B]: it returns the encoder's inputs, int32 [B, seq_length]. Its parts:
    `tokenize(texts)` -> ragged int32 [B, (words), (pieces)]; `tokenize.get_special_tokens_dict()`;
    `bert_pack_inputs([ids_a] or [ids_a, ids_b], seq_length=…)` of such ids, or of ragged int32 [B,
    (pieces)]. As in the published one, an empty second text still has its [SEP].
    """
    module = tf.train.Checkpoint()
    module.tokenizer = tokenizer
    cls_id, sep_id = vocabulary.ids[CLS], vocabulary.ids[SEP]
    special = {
        "vocab_size": vocabulary.size,
        "start_of_sequence_id": cls_id,
        "end_of_segment_id": sep_id,
        "mask_id": vocabulary.ids[MASK],
        "padding_id": PAD_ID,
    }

    module.tokenize = tf.train.Checkpoint()
    module.tokenize.__call__ = tf.function(tokenizer.pieces, input_signature=[TEXTS], autograph=False)
    module.tokenize.get_special_tokens_dict = tf.function(
        lambda: {name: tf.constant(number) for name, number in special.items()}, input_signature=[], autograph=False
    )

    @tf.function(autograph=False)
    def pack_inputs(inputs, seq_length=seq_length):
        # Callers may give words of pieces, as tokenize does, or pieces alone.
        segments = [ids.merge_dims(1, -1) if ids.ragged_rank > 1 else ids for ids in inputs]
        # tensorflow-text's own here: the published module does it so, and programs compare with it.
        trimmer = tf_text.RoundRobinTrimmer(seq_length - len(segments) - 1)
        ids, types = tf_text.combine_segments(trimmer.trim(segments), cls_id, sep_id)
        word_ids, mask = tf_text.pad_model_inputs(ids, seq_length, pad_value=PAD_ID)
        type_ids, _ = tf_text.pad_model_inputs(types, seq_length, pad_value=0)
        return {
            "input_word_ids": word_ids,
            "input_mask": tf.cast(mask, tf.int32),
            "input_type_ids": tf.cast(type_ids, tf.int32),
        }

    # Each combination of shapes that bert_pack_inputs takes is traced now; a SavedModel cannot
    # trace later.
    for rank in (1, 2):
        for count in (1, 2):
            spec = tf.RaggedTensorSpec([None] * (rank + 1), tf.int32, ragged_rank=rank)
            pack_inputs.get_concrete_function([spec] * count, seq_length=tf.TensorSpec([], tf.int32))
    module.bert_pack_inputs = tf.train.Checkpoint()
    module.bert_pack_inputs.__call__ = pack_inputs

    def preprocess(inputs):
        packed = pack_inputs([tokenizer.pieces(inputs)], seq_length=tf.constant(seq_length))
        # A Keras model on top is built from the static shape.
        return {name: tf.ensure_shape(values, [None, seq_length]) for name, values in packed.items()}

    module.__call__ = tf.function(
        preprocess, input_signature=[tf.TensorSpec([None], tf.string, name="inputs")], autograph=False
    )
    module.variables, module.trainable_variables, module.regularization_losses = [], [], []
    write_saved_model(path, module, module.__call__.get_concrete_function())
