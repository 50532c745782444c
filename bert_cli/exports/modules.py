"""What bert-export saves: a classifier for serving, and an encoder and a preprocessor for tensorflow-hub. Imports TensorFlow.

The objects are tf.train.Checkpoint with attributes, which is what tf.saved_model.load gives back.
"""

import contextlib
from collections.abc import Iterator, Sequence

import tensorflow as tf
import tensorflow_text as tf_text

from bert_cli.base.errors import InputError, why_not_written
from bert_cli.base.head_types import POOLED
from bert_cli.exports.text_graph import GraphTokenizer, pack
from bert_cli.features import spec
from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.model import tensor_specs
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.text.vocabulary import CLS, MASK, PAD_ID, SEP, Vocabulary
from bert_cli.weights.checkpoint import NO_BERT, open_checkpoint
from bert_cli.weights.load import load_weights
from bert_cli.weights.path import CheckpointPath

TOKENS_SIGNATURE = "token_ids"
_TEXTS = tf.TensorSpec([None], tf.string, name="text")
_SECOND_TEXTS = tf.TensorSpec([None], tf.string, name="text_b")


def load_classifier(
    checkpoint: CheckpointPath,
    config: BertConfig,
    labels: Sequence[str] | None,
    problem_type: str,
    head_input: str = POOLED,
) -> BertClassifier:
    """The model with its weights; InputError where the checkpoint holds no classifier of these labels (None: of a number).

    head_input: see base.head_types.
    """
    reader = open_checkpoint(checkpoint)
    shape = reader.shapes.get("output_weights")
    if shape is None:
        raise InputError(
            f"{reader.description}: has no classifier (no output_weights); give the output_dir of bert-classify, or "
            "--format=hub for the encoder alone"
        )
    count = len(labels) if labels else 1
    if tuple(shape) != (count, config.hidden_size):
        what = f"{count} labels ({', '.join(labels)}) need" if labels else "a number needs"
        raise InputError(
            f"{reader.description}: output_weights has the shape {list(shape)}, {what} {[count, config.hidden_size]}; check "
            "--labels"
        )
    model = BertClassifier(config, count, problem_type=problem_type, head_input=head_input)
    load_weights(named_weights(model), reader).check_whole(NO_BERT)
    return model


def load_encoder(checkpoint: CheckpointPath, config: BertConfig) -> BertEncoder:
    """The encoder with its weights; InputError where one is missing."""
    model = BertEncoder(config)
    load_weights(named_weights(model), open_checkpoint(checkpoint)).check_whole(NO_BERT)
    return model


@contextlib.contextmanager
def writing(folder: str) -> Iterator[None]:
    """Turn what goes wrong with files into an InputError."""
    try:
        yield
    except (OSError, tf.errors.OpError) as error:
        raise InputError(f"{folder}: cannot be written: {why_not_written(error, folder)}") from None


def save_classifier(
    path: str,
    model: BertClassifier,
    tokenizer: GraphTokenizer,
    vocabulary: Vocabulary,
    labels: Sequence[str] | None,
    max_seq_length: int,
    pairs: bool,
) -> None:
    """Write a SavedModel into the folder `path`.

    Signature serving_default: `text` string [B], with `pairs` also `text_b` string [B] (empty for none). Signature
    token_ids: the encoder's inputs, int32 [B, S]. Both give `probabilities` float32 [B, L], `labels` string [B, L], the
    names of their columns, and, where they exclude each other, `label` string [B], the most probable one; without labels,
    of a regression, `value` float32 [B]. Texts are cut to max_seq_length tokens.
    """
    module = tf.train.Checkpoint()
    module.variables = [variable.value for variable in named_weights(model).values()]
    module.tokenizer = tokenizer
    module.label_names = names = tf.constant(list(labels or ()), tf.string)
    cls_id, sep_id = vocabulary.ids[CLS], vocabulary.ids[SEP]

    def classify(inputs: dict) -> dict:
        answers = model.activated(model(inputs, packed=True))
        if not labels:
            return {"value": answers}
        # TensorFlow Serving wants a row of each output per text.
        outputs = {"probabilities": answers, "labels": tf.tile(names[tf.newaxis], [tf.shape(answers)[0], 1])}
        if model.problem_type.is_exclusive:
            outputs["label"] = tf.gather(names, tf.argmax(answers, axis=1))
        return outputs

    def classify_texts(text, text_b=None):
        ids_b = None if text_b is None else tokenizer.pieces(text_b).merge_dims(1, 2)
        return classify(pack(tokenizer.pieces(text).merge_dims(1, 2), ids_b, max_seq_length, cls_id, sep_id))

    module.classify_tokens = tf.function(classify, input_signature=[tensor_specs(spec.ENCODER)], autograph=False)
    specs = [_TEXTS, _SECOND_TEXTS] if pairs else [_TEXTS]
    module.classify_texts = tf.function(classify_texts, specs, autograph=False)
    by_tokens = tf.function(lambda **inputs: module.classify_tokens(inputs), autograph=False)
    signatures = {
        "serving_default": module.classify_texts.get_concrete_function(),
        TOKENS_SIGNATURE: by_tokens.get_concrete_function(**tensor_specs(spec.ENCODER)),
    }
    tf.saved_model.save(module, path, signatures)


def save_preprocessor(path: str, tokenizer: GraphTokenizer, vocabulary: Vocabulary, seq_length: int) -> None:
    """Write a preprocessor with the interface of the published bert_en_uncased_preprocess into the folder `path`.

    Call it with string [B]: it returns the encoder's inputs, int32 [B, seq_length]. Its parts:
    `tokenize(texts)` -> ragged int32 [B, (words), (pieces)]; `tokenize.get_special_tokens_dict()`;
    `bert_pack_inputs([ids_a] or [ids_a, ids_b], seq_length=…)` of such ids, or of ragged int32 [B, (pieces)].
    As in the published one, an empty second text still has its [SEP].
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
    module.tokenize.__call__ = tf.function(tokenizer.pieces, input_signature=[_TEXTS], autograph=False)
    module.tokenize.get_special_tokens_dict = tf.function(
        lambda: {name: tf.constant(number) for name, number in special.items()}, input_signature=[]
    )

    @tf.function(autograph=False)
    def pack_inputs(inputs, seq_length=seq_length):
        segments = [ids.merge_dims(1, -1) if ids.ragged_rank > 1 else ids for ids in inputs]
        trimmer = tf_text.RoundRobinTrimmer(seq_length - len(segments) - 1)
        ids, types = tf_text.combine_segments(trimmer.trim(segments), cls_id, sep_id)
        word_ids, mask = tf_text.pad_model_inputs(ids, seq_length, pad_value=PAD_ID)
        type_ids, _ = tf_text.pad_model_inputs(types, seq_length, pad_value=0)
        return {
            "input_word_ids": word_ids,
            "input_mask": tf.cast(mask, tf.int32),
            "input_type_ids": tf.cast(type_ids, tf.int32),
        }

    for rank in (1, 2):
        for count in (1, 2):
            spec = tf.RaggedTensorSpec([None] * (rank + 1), tf.int32, ragged_rank=rank)
            pack_inputs.get_concrete_function([spec] * count, seq_length=tf.TensorSpec([], tf.int32))
    module.bert_pack_inputs = tf.train.Checkpoint()
    module.bert_pack_inputs.__call__ = pack_inputs

    def preprocess(inputs):
        packed = pack_inputs([tokenizer.pieces(inputs)], seq_length=tf.constant(seq_length))
        return {name: tf.ensure_shape(values, [None, seq_length]) for name, values in packed.items()}

    module.__call__ = tf.function(
        preprocess, input_signature=[tf.TensorSpec([None], tf.string, name="inputs")], autograph=False
    )
    module.variables, module.trainable_variables, module.regularization_losses = [], [], []
    tf.saved_model.save(module, path, module.__call__.get_concrete_function())
