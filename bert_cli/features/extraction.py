"""Tokenizer of lines for feature extraction, in chunks that limit memory.

A line becomes one sequence, cut at its end, or several windows if long texts are kept. A token in
several windows counts only in the window that gives it the most context.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bert_cli.base.pooling import LAST, MEAN_SQRT_LEN, SMALLEST_TOTAL, WEIGHTED_MEAN
from bert_cli.examples.text_lines import LineWord, TextLine, split_line_words
from bert_cli.features.packing import CutCounts, DocSpan, doc_spans, pack
from bert_cli.features.ragged import RaggedFeatures, padded_values
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP


class WordSpan(NamedTuple):
    """A word `line[start:end]`, with its word pieces: tokens `first` to `last` (exclusive)."""

    text: str
    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True)
class ExtractionFeatures:
    """n lines as w windows, with T tokens in all lines together.

    w is n unless long texts have several windows.

    Attributes:
        first_line: number of the first line.
        sequences: the w windows.
        positions: int32 [tokens in all windows], a token's position in its line, or -1 if the token
            counts in another window.
        window_lines: int64 [w], each window's line, counted from 0 in this chunk; ascending.
        offsets: int64 [n + 1]; line i has the tokens offsets[i]:offsets[i + 1].
        token_ids: int32 [T].
        words: WordSpan records per line, None if they were not requested.
        num_cut: int64 [n], tokens that each line lost to the maximum length.
        cuts: counts of these losses.
        num_skipped: number of tokens at the start of each line, such as a prompt, that pooling
            leaves out; int64 [n], or None to use all tokens.
    """

    first_line: int
    sequences: RaggedFeatures
    positions: np.ndarray
    window_lines: np.ndarray
    offsets: np.ndarray
    token_ids: np.ndarray
    words: list[list[WordSpan]] | None
    num_cut: np.ndarray
    cuts: CutCounts
    num_skipped: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def pooling_weights(self, mode: str, rows: np.ndarray, width: int) -> np.ndarray:
        """Return the weights of tokens in these windows, float32 [len(rows), width].

        A token that pooling does not use has the weight 0.

        Args:
            mode: one of base.pooling.MODES.
            rows: window numbers.
            width: tokens per window, with padding.
        """
        positions = padded_values(self.positions, self.sequences.offsets, rows, width, -1)
        return self._weigh(mode, positions, self.window_lines[rows][:, np.newaxis])

    def first_used(self, rows: np.ndarray) -> np.ndarray:
        """Return the index of each window's first token that pooling uses, int64 [len(rows)]."""
        if self.num_skipped is None:
            return np.zeros(len(rows), np.int64)
        starts, skipped = self.sequences.offsets[rows], self.num_skipped[self.window_lines[rows]]
        # A later window of a long line begins with a [CLS] without a position in the line.
        is_first_window = self.positions[starts] == 0
        fits = skipped < self.sequences.lengths[rows]
        return np.where(is_first_window & fits, skipped, 0)

    def pooling_totals(self, mode: str) -> np.ndarray:
        """Return what each line's weighted sum is divided by, float32 [n]."""
        lines = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        positions = np.arange(len(self.token_ids)) - self.offsets[lines]
        weights = self._weigh(mode, positions, lines)
        totals = np.add.reduceat(weights, self.offsets[:-1])
        totals = np.maximum(totals, np.float32(SMALLEST_TOTAL))
        return np.sqrt(totals) if mode == MEAN_SQRT_LEN else totals

    def _weigh(self, mode: str, positions: np.ndarray, lines: np.ndarray) -> np.ndarray:
        """Return the weights of tokens by their positions in their lines."""
        is_used = positions >= (0 if self.num_skipped is None else self.num_skipped[lines])
        is_used &= positions >= 0
        if mode == LAST:
            is_used = positions == np.diff(self.offsets)[lines] - 1
        weights = is_used.astype(np.float32)
        return weights * (positions + 1).astype(np.float32) if mode == WEIGHTED_MEAN else weights


def long_windows(length_a: int, length_b: int, max_seq_length: int) -> list[tuple]:
    """Return the windows over a text or a pair that is too long: [(span of a, span of b), …].

    Windows over a single text start half a window apart. In a pair, the shorter text uses at most
    half of the space. Both texts advance together, and the shorter one repeats its last span.

    Args:
        length_a: tokens in the first text.
        length_b: tokens in the second text. For 0 there is no second text, and no second span
            (None).
        max_seq_length: maximum tokens per window, including special tokens.
    """
    if not length_b:
        space = max_seq_length - 2
        return [(span, None) for span in doc_spans(length_a, space, max(1, space // 2))]
    space = max_seq_length - 3
    shorter = min(length_a, length_b, space // 2)
    # The longer text gets the space that the shorter text leaves.
    space_a, space_b = (shorter, space - shorter) if length_a < length_b else (space - shorter, shorter)
    spans_a = doc_spans(length_a, space_a, max(1, space_a // 2)) if length_a else ()
    spans_b = doc_spans(length_b, space_b, max(1, space_b // 2))
    count = max(len(spans_a), len(spans_b))
    return [
        (spans_a[min(i, len(spans_a) - 1)] if spans_a else None, spans_b[min(i, len(spans_b) - 1)])
        for i in range(count)
    ]


def _positions(span: DocSpan | None, index: int, spans: list, offset: int) -> list[int]:
    """Return the line positions of a span's tokens, -1 for tokens that count in another window."""
    if span is None:
        return []
    # A pair's shorter text is in several windows, and counts in the first.
    if index and spans[index - 1] == span:
        return [-1] * (span.end - span.start)
    return [
        offset + token if span.owned_start <= token < span.owned_end else -1 for token in range(span.start, span.end)
    ]


class _Chunk:
    """A group of lines that grows until it becomes ExtractionFeatures."""

    def __init__(self, first_line: int, tokenizer: FullTokenizer, max_seq_length: int, long_text: bool, words: bool):
        self.first_line = first_line
        self.tokenizer = tokenizer
        self.max_seq_length = max_seq_length
        self.long_text = long_text
        self.cls_id, self.sep_id = tokenizer.ids[CLS], tokenizer.ids[SEP]
        self.ids = array("i")
        self.segments = array("b")
        self.ends = array("q", [0])
        self.positions = array("i")
        self.window_lines, self.offsets, self.token_ids = array("q"), array("q", [0]), array("i")
        self.words: list | None = [] if words else None
        self.num_tokens = 0
        self.num_cut = array("q")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def add(self, line: TextLine) -> int:
        """Add a line and return its number of tokens."""
        words_a: list[LineWord] = []
        words_b: list[LineWord] = []
        if self.words is None:
            ids_a = self.tokenizer.encode(line.text_a)
            ids_b = None if line.text_b is None else self.tokenizer.encode(line.text_b)
        else:
            words_a = split_line_words(line.text_a, line.start_a, self.tokenizer)
            words_b = split_line_words(line.text_b or "", line.start_b, self.tokenizer)
            ids_a, ids_b = ([piece for word in words for piece in word.pieces] for words in (words_a, words_b))
        self.num_tokens += len(ids_a) + len(ids_b or ())
        packed = pack(ids_a, ids_b, self.max_seq_length, self.cls_id, self.sep_id)
        if packed.num_cut and self.long_text:
            tokens = self._add_windows(ids_a, ids_b or [])
            self.num_cut.append(0)
        else:
            self._add_window(packed.token_ids, packed.segment_ids, range(len(packed.token_ids)))
            # Cut as the original does; with long_text no token is lost.
            self.num_cut.append(packed.num_cut)
            tokens = packed.token_ids
        if self.words is not None:
            # Exclude the [SEP] at the end, which also has segment 1.
            kept_b = sum(packed.segment_ids) - 1 if ids_b else 0
            if len(tokens) != len(packed.token_ids):
                kept_b = len(ids_b or [])
            kept_a = len(tokens) - (kept_b + 3 if ids_b else 2)
            spans = _word_spans(words_a, 1, kept_a) + _word_spans(words_b, kept_a + 2, kept_b)
            self.words.append(spans)
        self.token_ids.extend(tokens)
        self.offsets.append(len(self.token_ids))
        return len(tokens)

    def _add_window(self, ids: Sequence[int], segments: Iterable[int], positions: Iterable[int]) -> None:
        self.window_lines.append(len(self))
        self.ids.extend(ids)
        self.segments.extend(segments)
        self.positions.extend(positions)
        self.ends.append(len(self.ids))

    def _add_windows(self, ids_a: list[int], ids_b: list[int]) -> list[int]:
        """Add windows over texts that are too long, and return the line's token ids.

        [CLS] counts in the first window, and each [SEP] in the window that contains its text's end.
        """
        windows = long_windows(len(ids_a), len(ids_b), self.max_seq_length)
        spans_a, spans_b = [span for span, _ in windows], [span for _, span in windows]
        end_a = next((i for i, span in enumerate(spans_a) if span is None or span.end == len(ids_a)), 0)
        end_b = next((i for i, span in enumerate(spans_b) if span is None or span.end == len(ids_b)), 0)
        sep_a, sep_b = len(ids_a) + 1, len(ids_a) + len(ids_b) + 2
        for index, (span_a, span_b) in enumerate(windows):
            piece_a = ids_a[span_a.start : span_a.end] if span_a else []
            ids = [self.cls_id, *piece_a, self.sep_id]
            segments = [0] * len(ids)
            positions = [
                0 if index == 0 else -1,
                *_positions(span_a, index, spans_a, 1),
                sep_a if index == end_a else -1,
            ]
            if span_b:
                ids += [*ids_b[span_b.start : span_b.end], self.sep_id]
                segments += [1] * (len(ids) - len(segments))
                positions += [*_positions(span_b, index, spans_b, sep_a + 1), sep_b if index == end_b else -1]
            self._add_window(ids, segments, positions)
        return [self.cls_id, *ids_a, self.sep_id, *([*ids_b, self.sep_id] if ids_b else [])]

    def features(self) -> ExtractionFeatures:
        num_cut = np.array(self.num_cut, np.int64)
        return ExtractionFeatures(
            self.first_line,
            RaggedFeatures.of(self.ids, self.segments, self.ends),
            np.array(self.positions, np.int32),
            np.array(self.window_lines, np.int64),
            np.array(self.offsets, np.int64),
            np.array(self.token_ids, np.int32),
            self.words,
            num_cut,
            CutCounts(len(self), int(np.count_nonzero(num_cut)), self.num_tokens, int(num_cut.sum())),
        )


def _word_spans(words: Iterable[LineWord], offset: int, kept: int) -> list[WordSpan]:
    """Return spans for words with a piece among the first `kept` ones, which start at `offset`."""
    spans = []
    first = 0
    for word in words:
        last = first + len(word.pieces)
        if first < min(last, kept):
            spans.append(WordSpan(word.text, word.start, word.end, offset + first, offset + min(last, kept)))
        first = last
    return spans


def extraction_chunks(
    lines: Iterable[TextLine],
    tokenizer: FullTokenizer,
    max_seq_length: int,
    long_text: bool = False,
    words: bool = False,
    max_lines: int = 4096,
    cost: Callable[[int], int] = lambda tokens: 0,
    max_cost: int = 1,
    first_lines: int | None = None,
) -> Iterator[ExtractionFeatures]:
    """Yield all lines as features, in order and in chunks.

    Args:
        lines: lines to tokenize.
        max_seq_length: maximum tokens per window, including special tokens.
        long_text: whether long lines become windows; if not, they are cut as in the original.
        words: whether to return word spans.
        max_lines: number of lines that ends a chunk.
        cost: function from a line's number of tokens to its cost.
        max_cost: total cost that ends a chunk.
        first_lines: number of lines that ends the first chunk; None for max_lines.
    """
    chunk = None
    spent = 0
    most_lines = max_lines if first_lines is None else min(first_lines, max_lines)
    for line in lines:
        # Create the chunk late: no chunk may be empty when the lines end.
        chunk = chunk or _Chunk(line.number, tokenizer, max_seq_length, long_text, words)
        spent += cost(chunk.add(line))
        if len(chunk) >= most_lines or spent >= max_cost:
            yield chunk.features()
            chunk = None
            spent = 0
            most_lines = max_lines
    if chunk:
        yield chunk.features()
