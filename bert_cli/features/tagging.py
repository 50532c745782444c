"""TaggingExample records -> windows of pieces, each word predicted in the window that gives its
first piece most context.

words      Unaffable  Anna  left       in a long sentence: windows of `max_seq_length` - 2 pieces
pieces     una ##ffa ##ble  anna left  each `doc_stride` pieces further on
label_ids  3   -1    -1     1    0     in the window that predicts the word, -1 everywhere else
word_ids   0   -1    -1     1    2     at the first piece, in the window that predicts the word
"""

import itertools
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bert_cli.base.names import OUTSIDE
from bert_cli.examples.tag_schemes import join_tag, split_tag
from bert_cli.examples.tagging import TaggingExample
from bert_cli.features.packing import check_doc_stride, check_max_seq_length, doc_spans
from bert_cli.features.ragged import RaggedFeatures, padded_values, take_ranges
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP

NOTHING = -1


@dataclass(frozen=True)
class TaggingFeatures:
    """w windows of n examples, in order: `[CLS] pieces [SEP]`, t tokens in all.

    sequences    the windows
    label_ids    int32 [t], index in the label list of a piece that is trained, -1 of all others
    word_ids     int32 [t], index in its sentence of the word that is predicted here, -1 at all other tokens
    example_ids  int32 [w], the example each window is of
    num_words    int32 [n], words in each example

    A word is predicted at its first piece, once. Words without pieces (a zero-width space, control
    characters) are predicted nowhere; an example that has no others has no window.
    """

    sequences: RaggedFeatures
    label_ids: np.ndarray
    word_ids: np.ndarray
    example_ids: np.ndarray
    num_words: np.ndarray

    def __len__(self) -> int:
        """The number of windows."""
        return len(self.sequences)

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """spec.TAGGING of these windows, padded to `width` tokens; None for as many as the longest
        has.
        """
        width = width or self.sequences.longest(rows)
        labels = label_columns(padded_values(self.label_ids, self.sequences.offsets, rows, width, NOTHING))
        return self.sequences.padded(rows, width) | labels

    def take(self, examples: np.ndarray) -> "TaggingFeatures":
        """The windows of the examples of these numbers, which rise: int64 [n]."""
        # An example has several windows or none, so windows are chosen by their example.
        windows = np.flatnonzero(np.isin(self.example_ids, examples))
        indices, _ = take_ranges(self.sequences.offsets, windows)
        return TaggingFeatures(
            sequences=self.sequences.take(windows),
            label_ids=self.label_ids[indices],
            word_ids=self.word_ids[indices],
            example_ids=np.searchsorted(examples, self.example_ids[windows]).astype(np.int32),
            num_words=self.num_words[examples],
        )

    @property
    def num_split(self) -> int:
        """Examples in more than one window."""
        return int((np.bincount(self.example_ids, minlength=1) > 1).sum())

    @property
    def num_words_without_pieces(self) -> int:
        return int(self.num_words.sum() - (self.word_ids != NOTHING).sum())


def label_columns(label_ids: np.ndarray) -> dict[str, np.ndarray]:
    """label_ids int32 [B, S], and label_weights float32 [B, S].

    The loss is a mean over the labelled pieces of the whole batch, however it is divided over
    devices: each weighs one through their number, all others nothing.
    """
    # max: a batch of padding alone, as the last one of several devices, has no labelled piece.
    is_labelled = label_ids != NOTHING
    weights = (is_labelled / max(1, is_labelled.sum())).astype(np.float32)
    return {"label_ids": label_ids, "label_weights": weights}


@dataclass(frozen=True)
class TaggingStates:
    """What a frozen encoder says of the m labelled pieces of all windows.

    states float32 [m, W], label_ids int32 [m]; window i has offsets[i]:offsets[i + 1].
    """

    states: np.ndarray
    label_ids: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        """The number of windows."""
        return len(self.offsets) - 1

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """spec.TAGGING_STATES of these windows, padded to `width` pieces; None for as many as the
        longest has.
        """
        # Labelled pieces alone are stored, so this width is below the number of tokens.
        width = width or int(np.diff(self.offsets)[rows].max())
        labels = label_columns(padded_values(self.label_ids, self.offsets, rows, width, NOTHING))
        return labels | {"states": padded_values(self.states, self.offsets, rows, width, 0.0)}


class _Builder:
    """The growing flat arrays of TaggingFeatures; size: pieces in a window, stride: from one window
    to the next.
    """

    def __init__(self, tokenizer: FullTokenizer, size: int, stride: int):
        self.cls_id, self.sep_id = tokenizer.ids[CLS], tokenizer.ids[SEP]
        self.size = size
        self.stride = stride
        self.token_ids, self.label_ids, self.word_ids = array("i"), array("i"), array("i")
        self.ends, self.example_ids = array("q", [0]), array("i")

    def add(self, example: int, pieces: Sequence[int], labels: Sequence[int], words: Sequence[int]) -> None:
        """Add a sentence, in windows where it is too long for one.

        Windows in which no word is predicted, as in the midst of a word of very many pieces, are
        left out.
        """
        if len(pieces) <= self.size:
            # Most sentences: without arrays of NumPy, which cost more than such a sentence itself.
            self._add_window(example, pieces, labels, words)
            return
        piece_ids, label_ids, word_ids = (np.array(values, np.int32) for values in (pieces, labels, words))
        # All pieces of a word belong to the window of its first.
        first_pieces = np.maximum.accumulate(np.where(word_ids != NOTHING, np.arange(len(words)), 0))
        for span in doc_spans(len(pieces), self.size, self.stride):
            part = slice(span.start, span.end)
            is_own = (first_pieces[part] >= span.owned_start) & (first_pieces[part] < span.owned_end)
            own_words = np.where(is_own, word_ids[part], NOTHING)
            if (own_words != NOTHING).any():
                own_labels = np.where(is_own, label_ids[part], NOTHING)
                self._add_window(example, piece_ids[part].tolist(), own_labels.tolist(), own_words.tolist())

    def _add_window(self, example: int, pieces: Sequence[int], labels: Sequence[int], words: Sequence[int]) -> None:
        self.token_ids.extend([self.cls_id, *pieces, self.sep_id])
        self.label_ids.extend([NOTHING, *labels, NOTHING])
        self.word_ids.extend([NOTHING, *words, NOTHING])
        self.ends.append(len(self.token_ids))
        self.example_ids.append(example)

    def features(self, num_words: Sequence[int]) -> TaggingFeatures:
        # Tags are of single texts, so all segments are the first.
        segment_ids = array("b", bytes(len(self.token_ids)))
        return TaggingFeatures(
            sequences=RaggedFeatures.of(self.token_ids, segment_ids, self.ends),
            label_ids=np.array(self.label_ids, np.int32),
            word_ids=np.array(self.word_ids, np.int32),
            example_ids=np.array(self.example_ids, np.int32),
            num_words=np.array(num_words, np.int32),
        )


def tagging_features(
    examples: Sequence[TaggingExample],
    labels: Sequence[str],
    tokenizer: FullTokenizer,
    max_seq_length: int,
    doc_stride: int,
    label_all_pieces: bool = False,
) -> TaggingFeatures:
    """Cut the words of all examples into pieces, and these into windows of at most `max_seq_length`
    tokens.

    Tags must be in BIO and among `labels`, which `check_labels` sees to. A word's first piece gets
    its tag as label; with `label_all_pieces` the others get the I- form of the tag, for training
    alone. `doc_stride`: pieces from the start of a window to the start of the next; more than a
    window holds counts as just that. Each word is labelled in one window alone. InputError for a
    `max_seq_length` below 3 or a `doc_stride` below 1.
    """
    check_max_seq_length(max_seq_length, pairs=False)
    check_doc_stride(doc_stride)
    index = {label: number for number, label in enumerate(labels)}
    # What a tag gives to a first piece and to each further piece; without a tag, as in prediction,
    # nothing is trained.
    label_ids: dict[str | None, tuple[int, int]] = {None: (NOTHING, NOTHING)}
    for label in labels:
        label_ids[label] = (index[label], index[_inside(label)] if label_all_pieces else NOTHING)
    builder = _Builder(tokenizer, max_seq_length - 2, doc_stride)
    known: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        pieces: list[int] = []
        piece_labels: list[int] = []
        piece_words: list[int] = []
        tags = example.tags or itertools.repeat(None)
        for position, (word, tag) in enumerate(zip(example.words, tags, strict=False)):
            ids = known.get(word)
            if ids is None:
                ids = known[word] = tokenizer.encode(word)
            if not ids:
                continue
            first, further = label_ids[tag]
            rest = len(ids) - 1
            pieces += ids
            piece_labels += [first] + [further] * rest
            piece_words += [position] + [NOTHING] * rest
        if pieces:
            builder.add(number, pieces, piece_labels, piece_words)
    return builder.features([len(example.words) for example in examples])


def _inside(tag: str) -> str:
    return tag if tag == OUTSIDE else join_tag("I", split_tag(tag)[1])


def format_features(
    features: TaggingFeatures, labels: Sequence[str], tokenizer: FullTokenizer, count: int
) -> list[str]:
    """The first `count` windows as lines for the log.

    In the line of labels `-` is a piece that is not trained, and "none" a window without tags.
    """
    lines = []
    for window in range(min(count, len(features))):
        part = slice(*features.sequences.offsets[window : window + 2].tolist())
        tokens = tokenizer.convert_ids_to_tokens(features.sequences.token_ids[part].tolist())
        label_ids = features.label_ids[part].tolist()
        has_tags = any(label != NOTHING for label in label_ids)
        tags = ["-" if label == NOTHING else labels[label] for label in label_ids] if has_tags else ["none"]
        lines += [
            "*** Example ***",
            f"example: {features.example_ids[window]}",
            f"tokens: {' '.join(tokens)}",
            f"labels: {' '.join(tags)}",
        ]
    return lines
