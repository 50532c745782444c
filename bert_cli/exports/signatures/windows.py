"""Graph version of features.packing.doc_spans: windows over texts that are too long."""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Windows:
    """w windows over B texts; a text without pieces has an empty one.

    Attributes:
        texts: each window's text, int64 [w], ascending.
        starts, ends: its range of pieces in the text, int64 [w].
        counts: number of windows per text, int64 [B].
        size, stride: pieces per window and from start to start: a number, or int64 [B].
        num_pieces: pieces per text, int64 [B].
    """

    texts: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    counts: tf.Tensor
    size: tf.Tensor
    stride: tf.Tensor
    num_pieces: tf.Tensor

    def take(self, pieces: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the windows' pieces, [w, (pieces)], of the texts' pieces, [B, (pieces)]."""
        offsets = tf.gather(pieces.row_starts(), self.texts)
        indices = tf.ragged.range(offsets + self.starts, offsets + self.ends)
        return tf.gather(pieces.flat_values, indices)

    def owners(self, texts: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
        """Return the window with the most context for each of n pieces, int64 [n].

        Args:
            texts: the pieces' texts, int64 [n].
            positions: their indices in the texts, int64 [n].
        """
        numbers = tf.range(tf.reduce_max(tf.pad(self.counts, [[0, 1]])))
        size, stride = (tf.gather(values, texts)[:, tf.newaxis] for values in (self.size, self.stride))
        starts = numbers * stride  # [n, windows]
        ends = tf.minimum(starts + size, tf.gather(self.num_pieces, texts)[:, tf.newaxis])
        place = positions[:, tf.newaxis]
        context = tf.cast(tf.minimum(place - starts, ends - 1 - place), tf.float64)
        context += 0.01 * tf.cast(ends - starts, tf.float64)
        is_inside = (place >= starts) & (place < ends) & (numbers < tf.gather(self.counts, texts)[:, tf.newaxis])
        # In a tie, the first window owns a piece.
        best = tf.argmax(tf.where(is_inside, context, -1.0), axis=1)
        return tf.gather(tf.cumsum(self.counts, exclusive=True), texts) + best


def make_text_windows(num_pieces: tf.Tensor, size: tf.Tensor | int, stride: int) -> Windows:
    """Return the windows over texts; use them for texts of any length.

    Args:
        num_pieces: pieces per text, int64 [B].
        size: maximum pieces per window, a number or int64 [B].
        stride: pieces from start to start.
    """
    sizes = tf.zeros_like(num_pieces) + tf.cast(size, tf.int64)
    strides = tf.minimum(sizes, stride)
    rest = tf.maximum(num_pieces - sizes, 0)
    counts = 1 + (rest + strides - 1) // strides
    texts = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)
    starts = tf.ragged.range(counts).flat_values * tf.gather(strides, texts)
    ends = tf.minimum(starts + tf.gather(sizes, texts), tf.gather(num_pieces, texts))
    return Windows(texts, starts, ends, counts, sizes, strides, num_pieces)
