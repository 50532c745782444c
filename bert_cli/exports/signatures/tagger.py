"""A tagger of words in a SavedModel: words of raw text, their tags and their offsets."""

import tensorflow as tf

from bert_cli.base.names import show_names
from bert_cli.exports.exported import ModelToExport
from bert_cli.exports.signatures.network import open_network_to_export
from bert_cli.exports.signatures.signature import Outputs, Signature, pad_rows, repeat_names, text_specs
from bert_cli.exports.signatures.windows import make_text_windows
from bert_cli.exports.signatures.words import WordSplitter
from bert_cli.exports.text_graph import GraphTokenizer
from bert_cli.exports.text_packing import pack_ids
from bert_cli.settings.answering import window_stride


def make_tagger(exported: ModelToExport, tokenizer: GraphTokenizer) -> Signature:
    """Return a tagger.

    It takes `text` string [B], of any length, and returns these outputs. Rows with fewer than W
    words are padded with "", 0, and -1 for offsets.

    - `words` and `tags`, string [B, W].
    - `starts` and `ends`, int32 [B, W]: the words' offsets in characters.
    - `scores` float32 [B, W], the tags' probabilities.
    - `probabilities` float32 [B, W, L], and `labels` string [B, L], the column names.

    Words without word pieces, such as control characters, are left out.

    Args:
        exported: vocabulary, labels and settings.

    Raises:
        InputError: if the checkpoint does not have a tagger with these labels.
    """
    model, ids = exported.model, exported.model.vocabulary.ids
    opened = open_network_to_export(exported)
    network, labels = opened.members[0].loaded.model, opened.labels or ()
    names = tf.constant(list(labels), tf.string)
    splitter = WordSplitter(model.tokenizer_settings)
    length = exported.max_seq_length
    saved_stride = model.saved_flags.get("doc_stride")
    stride = window_stride(int(saved_stride) if saved_stride else None, length)

    def with_labels(probabilities: tf.Tensor) -> Outputs:
        return {"probabilities": probabilities, "labels": repeat_names(names, tf.shape(probabilities)[0])}

    def tag(inputs: dict) -> Outputs:
        return with_labels(tf.nn.softmax(network(inputs, packed=True)))

    def tag_texts(text: tf.Tensor) -> Outputs:
        words = splitter.split(text)
        pieces = tokenizer.pieces(words.texts.flat_values).merge_dims(1, 2)
        has_pieces = pieces.row_lengths() > 0
        rows, texts, starts, counts = (
            tf.boolean_mask(values, has_pieces)
            for values in (
                words.texts.value_rowids(), words.texts.flat_values, words.starts.flat_values, pieces.row_lengths()
            )
        )  # fmt: skip
        num_texts = words.texts.nrows()
        piece_rows = tf.repeat(rows, counts)
        text_pieces = tf.RaggedTensor.from_value_rowids(pieces.flat_values, piece_rows, num_texts, validate=False)
        # A word is predicted at its first piece.
        positions = tf.cumsum(counts, exclusive=True) - tf.gather(text_pieces.row_starts(), rows)
        windows = make_text_windows(text_pieces.row_lengths(), length - 2, stride)
        inputs = pack_ids(windows.take(text_pieces), None, length, ids)
        owners = windows.owners(rows, positions)
        tokens = positions - tf.gather(windows.starts, owners) + 1  # after [CLS]
        scored = tf.gather_nd(tag(inputs)["probabilities"], tf.stack([owners, tokens], axis=1))

        def pad(values: tf.Tensor, padding: str | float) -> tf.Tensor:
            return pad_rows(values, rows, num_texts, padding)

        ends = starts + tf.strings.length(texts, unit="UTF8_CHAR")
        tags, scores = tf.gather(names, tf.argmax(scored, axis=1)), tf.reduce_max(scored, axis=1)
        outputs = {"words": pad(texts, ""), "tags": pad(tags, ""), "starts": pad(starts, -1), "ends": pad(ends, -1)}
        return outputs | {"scores": pad(scores, 0.0)} | with_labels(pad(scored, 0.0))

    summary = f"tagger; labels: {show_names(labels)}; windows of {length} tokens, {stride} apart"
    return Signature([network], tag_texts, text_specs(False), tag, summary, {"label_names": names})
