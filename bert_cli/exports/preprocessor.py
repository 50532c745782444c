"""Writer for text preprocessors as tensorflow-hub modules."""

import tensorflow as tf
import tensorflow_text as tf_text

from bert_cli.exports.hub_writing import write_saved_model
from bert_cli.exports.text_graph import TEXTS, GraphTokenizer
from bert_cli.text.vocabulary import CLS, MASK, SEP, Vocabulary, padding_id


def save_preprocessor(path: str, tokenizer: GraphTokenizer, vocabulary: Vocabulary, seq_length: int) -> None:
    """Write a preprocessor with the published bert_en_uncased_preprocess's interface.

    The module is called with string [B], and returns the encoder's inputs, int32 [B, seq_length].
    It has these functions:
    - `tokenize(texts)` returns ragged int32 [B, (words), (pieces)].
    - `tokenize.get_special_tokens_dict()` returns the ids of special tokens.
    - `bert_pack_inputs([ids_a] or [ids_a, ids_b], seq_length=…)` takes such ids, or ragged int32
      [B, (pieces)]. Like in the published module, an empty second text still adds a [SEP].

    Args:
        path: directory to write.
        tokenizer: tokenizer to include.
        seq_length: default length for the encoder's inputs.
    """
    module = tf.train.Checkpoint()
    module.tokenizer = tokenizer
    cls_id, sep_id, pad_id = vocabulary.ids[CLS], vocabulary.ids[SEP], padding_id(vocabulary.ids)
    special_tokens = {
        "vocab_size": vocabulary.size,
        "start_of_sequence_id": cls_id,
        "end_of_segment_id": sep_id,
        "mask_id": vocabulary.ids[MASK],
        "padding_id": pad_id,
    }

    module.tokenize = tf.train.Checkpoint()
    module.tokenize.__call__ = tf.function(tokenizer.pieces, input_signature=[TEXTS], autograph=False)
    module.tokenize.get_special_tokens_dict = tf.function(
        lambda: {name: tf.constant(token_id) for name, token_id in special_tokens.items()},
        input_signature=[],
        autograph=False,
    )

    @tf.function(autograph=False)
    def pack_inputs(inputs: list[tf.RaggedTensor], seq_length: int | tf.Tensor = seq_length) -> dict[str, tf.Tensor]:
        # Accept ids with an axis for words, as from `tokenize`, or without it.
        segments = [ids.merge_dims(1, -1) if ids.ragged_rank > 1 else ids for ids in inputs]
        # Use tensorflow-text's packing: results must be equal to the published module's.
        trimmer = tf_text.RoundRobinTrimmer(seq_length - len(segments) - 1)
        ids, types = tf_text.combine_segments(trimmer.trim(segments), cls_id, sep_id)
        word_ids, mask = tf_text.pad_model_inputs(ids, seq_length, pad_value=pad_id)
        type_ids, _ = tf_text.pad_model_inputs(types, seq_length, pad_value=0)
        return {
            "input_word_ids": word_ids,
            "input_mask": tf.cast(mask, tf.int32),
            "input_type_ids": tf.cast(type_ids, tf.int32),
        }

    # Trace each combination of shapes for bert_pack_inputs: a SavedModel cannot trace later.
    for rank in (1, 2):
        for count in (1, 2):
            spec = tf.RaggedTensorSpec([None] * (rank + 1), tf.int32, ragged_rank=rank)
            pack_inputs.get_concrete_function([spec] * count, seq_length=tf.TensorSpec([], tf.int32))
    module.bert_pack_inputs = tf.train.Checkpoint()
    module.bert_pack_inputs.__call__ = pack_inputs

    def preprocess(inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        packed = pack_inputs([tokenizer.pieces(inputs)], seq_length=tf.constant(seq_length))
        # Set the static shape, which a Keras model on top needs.
        return {name: tf.ensure_shape(values, [None, seq_length]) for name, values in packed.items()}

    module.__call__ = tf.function(
        preprocess, input_signature=[tf.TensorSpec([None], tf.string, name="inputs")], autograph=False
    )
    module.variables, module.trainable_variables, module.regularization_losses = [], [], []
    write_saved_model(path, module, module.__call__.get_concrete_function())
