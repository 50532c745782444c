"""Question answering in a SavedModel: a question and its context become the answer and its offsets."""

from typing import NamedTuple

import tensorflow as tf

from bert_cli.exports.exported import ModelToExport
from bert_cli.exports.signatures.network import open_network_to_export
from bert_cli.exports.signatures.signature import Outputs, Signature
from bert_cli.exports.signatures.windows import Windows, make_text_windows
from bert_cli.exports.signatures.words import Words, split_with_offsets
from bert_cli.exports.text_graph import GraphTokenizer
from bert_cli.exports.text_packing import pack_ids
from bert_cli.features.squad import check_lengths
from bert_cli.settings.answering import AnswerSearch, Squad

# White space of a context, see examples.squad.records.split_context.
_SPACE = r"[ \t\r\n\x{202f}]+"
_SEARCH = AnswerSearch()


class _Spans(NamedTuple):
    """The best spans in B contexts.

    Attributes:
        exists: whether there is a span, bool [B].
        first, last: its first and last piece among all pieces, int64 [B]; 0 if there is no span.
        score: start logit + end logit, float64 [B]; 0 if there is no span.
    """

    exists: tf.Tensor
    first: tf.Tensor
    last: tf.Tensor
    score: tf.Tensor


def make_answerer(exported: ModelToExport, tokenizer: GraphTokenizer) -> Signature:
    """Return a model that answers questions.

    It takes `question` and `context`, string [B], of any length. Contexts are read in windows, and
    questions are cut as in the training. It returns these outputs:

    - `answer` string [B], "" for no answer.
    - `start` and `end`, int32 [B]: its characters in the context, without the end; -1 for no answer.
    - `score` float32 [B]: the best span's start logit + end logit.
    - `null_score` float32 [B], only for a model of SQuAD 2.0: the same sum for no answer. There is
      no answer if it is larger than `score`.

    Args:
        exported: vocabulary and settings.
        tokenizer: the tokenizer.

    Raises:
        InputError: if the checkpoint has no span head, or the lengths allow no window.
    """
    model = exported.model
    ids, length, saved = model.vocabulary.ids, exported.max_seq_length, model.saved_flags
    query_length = int(saved.get("max_query_length", Squad.max_query_length))
    stride = int(saved.get("doc_stride", Squad.doc_stride))
    check_lengths(length, stride, query_length)
    may_be_impossible = saved.get("version_2_with_negative") == "true"
    network = open_network_to_export(exported).members[0].loaded.model
    tokens = tf.constant(model.vocabulary.tokens, tf.string)

    def compute(inputs: dict) -> Outputs:
        start_logits, end_logits = network(inputs, packed=True)
        return {"start_logits": start_logits, "end_logits": end_logits}

    def answer(question: tf.Tensor, context: tf.Tensor) -> Outputs:
        queries = tokenizer.pieces(question).merge_dims(1, 2)[:, :query_length]
        words = split_with_offsets(context, _SPACE, _SPACE)
        pieces = tokenizer.pieces(words.texts.flat_values).merge_dims(1, 2)
        piece_texts = tf.gather(words.texts.value_rowids(), pieces.value_rowids())
        num_texts = words.texts.nrows()
        text_pieces = tf.RaggedTensor.from_value_rowids(pieces.flat_values, piece_texts, num_texts, validate=False)
        query_lengths = queries.row_lengths()
        windows = make_text_windows(text_pieces.row_lengths(), length - 3 - query_lengths, stride)
        inputs = pack_ids(tf.gather(queries, windows.texts), windows.take(text_pieces), length, ids)
        logits = compute(inputs)
        # No answer begins or ends in padding.
        is_token = inputs["input_mask"] > 0
        masked = [tf.where(is_token, logits[name], -float("inf")) for name in ("start_logits", "end_logits")]
        spans = _find_best_spans(masked, windows, tf.gather(query_lengths, windows.texts) + 2, text_pieces)
        starts, ends = _locate(spans, words, pieces, tokens, tokenizer)
        outputs = {"score": tf.cast(spans.score, tf.float32)}
        has_answer = spans.exists
        if may_be_impossible:
            null_scores = tf.RaggedTensor.from_row_lengths(
                tf.cast(logits["start_logits"][:, 0], tf.float64) + tf.cast(logits["end_logits"][:, 0], tf.float64),
                windows.counts,
                validate=False,
            )
            null_score = tf.reduce_min(null_scores, axis=1)
            has_answer &= null_score - spans.score <= _SEARCH.null_score_diff_threshold
            outputs["null_score"] = tf.cast(null_score, tf.float32)
        starts, ends = (tf.where(has_answer, values, -1) for values in (starts, ends))
        text = tf.strings.substr(context, tf.maximum(starts, 0), ends - starts, unit="UTF8_CHAR")
        return outputs | {"answer": tf.strings.regex_replace(text, _SPACE, " "), "start": starts, "end": ends}

    specs = tuple(tf.TensorSpec([None], tf.string, name=name) for name in ("question", "context"))
    summary = f"answers to questions; windows of {length} tokens, {stride} apart, questions of {query_length} tokens"
    return Signature([network], answer, specs, compute, summary, {"tokens": tokens})


def _find_best_spans(
    logits: list[tf.Tensor], windows: Windows, shifts: tf.Tensor, text_pieces: tf.RaggedTensor
) -> _Spans:
    """Return the best span per context, like outputs.answers.squad.SpanDecoder.

    Args:
        logits: start and end logits, float32 [w, S], -inf for padding.
        windows: the w windows.
        shifts: first position with a context piece, int64 [w].
        text_pieces: the contexts' pieces, [B, (pieces)].
    """
    width = tf.shape(logits[0], tf.int64)[1]
    (start_logits, starts), (end_logits, ends) = (
        tf.math.top_k(values, tf.minimum(_SEARCH.n_best_size, tf.cast(width, tf.int32))) for values in logits
    )
    starts, ends = tf.cast(starts, tf.int64), tf.cast(ends, tf.int64)
    # Index of position 0 of each window among all pieces.
    origins = tf.gather(text_pieces.row_starts(), windows.texts) + windows.starts - shifts
    # An answer starts in the window with the most context for its first piece.
    positions = tf.ragged.range(text_pieces.row_lengths()).flat_values
    owners = tf.pad(windows.owners(text_pieces.value_rowids(), positions), [[0, 1]], constant_values=-1)
    indices = origins[:, tf.newaxis] + starts
    sizes = windows.ends - windows.starts
    numbers = tf.range(tf.size(sizes, tf.int64))
    is_owned = tf.equal(
        tf.gather(owners, tf.clip_by_value(indices, 0, tf.size(owners, tf.int64) - 1)), numbers[:, tf.newaxis]
    )

    def is_context(positions: tf.Tensor) -> tf.Tensor:
        return (positions >= shifts[:, tf.newaxis]) & (positions < (shifts + sizes)[:, tf.newaxis])

    lengths = ends[:, tf.newaxis, :] - starts[:, :, tf.newaxis]
    is_span = (is_owned & is_context(starts))[:, :, tf.newaxis] & is_context(ends)[:, tf.newaxis, :]
    is_span &= (lengths >= 0) & (lengths < _SEARCH.max_answer_length)
    scores = tf.cast(start_logits, tf.float64)[:, :, tf.newaxis] + tf.cast(end_logits, tf.float64)[:, tf.newaxis, :]
    scores = tf.where(is_span, scores, -float("inf"))
    count = tf.shape(scores, tf.int64)[2]
    flat = tf.reshape(scores, [tf.size(sizes), -1])
    # In a tie, the first window and then the better start win: argmax returns the first maximum.
    best = tf.argmax(flat, axis=1)
    per_window = tf.RaggedTensor.from_row_lengths(tf.reduce_max(flat, axis=1), windows.counts, validate=False)
    padded = per_window.to_tensor(-float("inf"))
    window = per_window.row_starts() + tf.argmax(padded, axis=1)
    score = tf.reduce_max(padded, axis=1)
    exists = score > -float("inf")
    pair = tf.gather(best, window)
    origin = tf.gather(origins, window)
    first, last = (
        tf.where(exists, origin + tf.gather(tf.gather(values, window), rank, batch_dims=1), 0)
        for values, rank in ((starts, pair // count), (ends, pair % count))
    )
    return _Spans(exists, first, last, tf.where(exists, score, 0.0))


def _locate(
    spans: _Spans, words: Words, pieces: tf.RaggedTensor, tokens: tf.Tensor, tokenizer: GraphTokenizer
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return each span's characters [start, end) in its context, int32 [B].

    As outputs.answers.answer_text.final_span does, this pairs the characters of tokenized words
    with the original characters. If that is impossible, the span is all of its words.

    Args:
        spans: the spans, as pieces.
        words: the contexts' words.
        pieces: the pieces of all words, [n, (pieces)].
        tokens: the vocabulary.
        tokenizer: the tokenizer.
    """
    counts = tf.cast(spans.exists, tf.int64)
    chosen = tf.gather(tf.pad(pieces.flat_values, [[0, 1]]), tf.ragged.range(spans.first, spans.last + counts))
    predicted = tf.strings.reduce_join(tf.gather(tokens, chosen), axis=1, separator=" ")
    predicted = tf.strings.regex_replace(tf.strings.regex_replace(predicted, " ##", ""), "##", "")
    piece_words = tf.pad(pieces.value_rowids(), [[0, 1]])
    first_words, last_words = tf.gather(piece_words, spans.first), tf.gather(piece_words, spans.last)
    numbers = tf.ragged.range(first_words, last_words + counts)
    texts = tf.gather(words.texts.flat_values, numbers)
    tokenized = tf.strings.reduce_join(
        tokenizer.words(tf.strings.reduce_join(texts, axis=1, separator=" ")), axis=1, separator=" "
    )

    def find(pair: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        parts = tf.strings.split(pair[:1], sep=pair[1])[0]
        return tf.cond(tf.size(parts) > 1, lambda: tf.strings.length(parts[0], unit="UTF8_CHAR"), lambda: -1)

    match_starts = tf.map_fn(find, tf.stack([tokenized, predicted], axis=1), fn_output_signature=tf.int32)
    # Indices of the first and last character, without spaces.
    heads = tf.strings.substr(tokenized, tf.zeros_like(match_starts), tf.maximum(match_starts, 0), unit="UTF8_CHAR")
    length = tf.strings.length(_without_spaces(predicted), unit="UTF8_CHAR")
    before = tf.strings.length(_without_spaces(heads), unit="UTF8_CHAR")
    starts = tf.gather(words.starts.flat_values, numbers)
    ends = starts + texts.with_flat_values(tf.strings.length(texts.flat_values, unit="UTF8_CHAR"))
    characters = tf.ragged.range(starts.flat_values, ends.flat_values)
    characters = tf.RaggedTensor.from_row_splits(characters, numbers.row_splits, validate=False).merge_dims(1, 2)
    num_characters = tf.cast(characters.row_lengths(), tf.int32)
    is_paired = (
        (match_starts >= 0)
        & (length > 0)
        & tf.equal(tf.strings.length(_without_spaces(tokenized), unit="UTF8_CHAR"), num_characters)
    )
    first = tf.where(is_paired, before, 0)
    last = tf.where(is_paired, before + length, num_characters) - 1
    flat, offsets = tf.pad(characters.flat_values, [[0, 1]]), tf.cast(characters.row_starts(), tf.int32)
    return tf.gather(flat, offsets + first), tf.gather(flat, offsets + tf.maximum(last, 0)) + 1


def _without_spaces(texts: tf.Tensor) -> tf.Tensor:
    return tf.strings.regex_replace(texts, " ", "")
