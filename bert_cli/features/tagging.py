"""Windows over tagged sentences; each word is predicted in the window with the most context.

words      Unaffable  Anna  left       a long sentence has windows of `max_seq_length` - 2 pieces
pieces     una ##ffa ##ble  anna left  windows start `doc_stride` pieces apart
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
    """w windows `[CLS] pieces [SEP]` over n examples, in order, with t tokens together.

    A word is predicted once, at its first piece. Words without pieces (a zero-width space, control
    characters) are not predicted. An example without any pieces has no window.

    Attributes:
        sequences: the windows.
        label_ids: int32 [t], label index for each trained piece, -1 for other tokens.
        word_ids: int32 [t], index in the sentence for each predicted word, -1 for other tokens.
        example_ids: int32 [w], each window's example.
        num_words: int32 [n], words in each example.
    """

    sequences: RaggedFeatures
    label_ids: np.ndarray
    word_ids: np.ndarray
    example_ids: np.ndarray
    num_words: np.ndarray

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.sequences)

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """Return spec.TAGGING for these windows, padded to `width` tokens or to the longest window."""
        width = width or self.sequences.longest(rows)
        labels = label_columns(padded_values(self.label_ids, self.sequences.offsets, rows, width, NOTHING))
        return self.sequences.pad(rows, width) | labels

    def take(self, examples: np.ndarray) -> "TaggingFeatures":
        """Return the windows of these examples; their numbers, int64 [n], must ascend."""
        # Select windows by example, because an example may have several windows or none.
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
        """Return the number of examples with more than one window."""
        return int((np.bincount(self.example_ids, minlength=1) > 1).sum())

    @property
    def num_words_without_pieces(self) -> int:
        return int(self.num_words.sum() - (self.word_ids != NOTHING).sum())


def label_columns(label_ids: np.ndarray) -> dict[str, np.ndarray]:
    """Return label_ids int32 [B, S] and label_weights float32 [B, S].

    The loss is a mean over the labeled pieces in the whole batch, on any number of devices. So
    labeled pieces have the weight 1 / (their number), and other pieces have weight 0.
    """
    # Use max: a batch with padding alone, such as one device's last batch, has no labeled piece.
    is_labelled = label_ids != NOTHING
    weights = (is_labelled / max(1, is_labelled.sum())).astype(np.float32)
    return {"label_ids": label_ids, "label_weights": weights}


@dataclass(frozen=True)
class TaggingStates:
    """A frozen encoder's states for the m labeled pieces in all windows.

    Attributes:
        states: float32 [m, W].
        label_ids: int32 [m].
        offsets: int64; window i has the pieces offsets[i]:offsets[i + 1].
    """

    states: np.ndarray
    label_ids: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.offsets) - 1

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """Return spec.TAGGING_STATES for these windows, padded to `width` pieces.

        If `width` is missing, the window with the most pieces decides.
        """
        # Only labeled pieces are stored, so this width is below the number of tokens.
        width = width or int(np.diff(self.offsets)[rows].max())
        labels = label_columns(padded_values(self.label_ids, self.offsets, rows, width, NOTHING))
        return labels | {"states": padded_values(self.states, self.offsets, rows, width, 0.0)}


class _Builder:
    """The growing flat arrays of TaggingFeatures.

    Attributes:
        size: pieces per window.
        stride: distance between window starts, in pieces.
    """

    def __init__(self, tokenizer: FullTokenizer, size: int, stride: int):
        self.cls_id, self.sep_id = tokenizer.ids[CLS], tokenizer.ids[SEP]
        self.size = size
        self.stride = stride
        self.token_ids, self.label_ids, self.word_ids = array("i"), array("i"), array("i")
        self.ends, self.example_ids = array("q", [0]), array("i")

    def add(self, example: int, pieces: Sequence[int], labels: Sequence[int], words: Sequence[int]) -> None:
        """Add a sentence as one window, or as several windows if it is too long.

        Windows that predict no word are skipped, for example in the middle of a very long word.

        Args:
            example: number of the sentence.
            pieces: word piece ids.
            labels: label id per piece.
            words: word index per piece.
        """
        if len(pieces) <= self.size:
            # Most sentences fit. Avoid NumPy arrays, which cost more than such a sentence itself.
            self._add_window(example, pieces, labels, words)
            return
        piece_ids, label_ids, word_ids = (np.array(values, np.int32) for values in (pieces, labels, words))
        # All pieces of a word belong to its first piece's window.
        first_pieces = np.maximum.accumulate(np.where(word_ids != NOTHING, np.arange(len(words)), 0))
        for span in doc_spans(len(pieces), self.size, self.stride):
            span_range = slice(span.start, span.end)
            is_owned = (first_pieces[span_range] >= span.owned_start) & (first_pieces[span_range] < span.owned_end)
            owned_words = np.where(is_owned, word_ids[span_range], NOTHING)
            if (owned_words != NOTHING).any():
                owned_labels = np.where(is_owned, label_ids[span_range], NOTHING)
                self._add_window(example, piece_ids[span_range].tolist(), owned_labels.tolist(), owned_words.tolist())

    def _add_window(self, example: int, pieces: Sequence[int], labels: Sequence[int], words: Sequence[int]) -> None:
        self.token_ids.extend([self.cls_id, *pieces, self.sep_id])
        self.label_ids.extend([NOTHING, *labels, NOTHING])
        self.word_ids.extend([NOTHING, *words, NOTHING])
        self.ends.append(len(self.token_ids))
        self.example_ids.append(example)

    def features(self, num_words: Sequence[int]) -> TaggingFeatures:
        # Tagged sentences are single texts, so all segments are 0.
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
    """Cut words into pieces, and pieces into windows with at most `max_seq_length` tokens.

    Args:
        examples: sentences; their tags must be BIO and in `labels` (see check_labels).
        labels: label names, in the order of label ids.
        max_seq_length: maximum tokens per window, including special tokens.
        doc_stride: distance between window starts in pieces, at most a window's length.
        label_all_pieces: for training, whether later pieces get the I- form of the word's tag. If
            not, only the first piece has a label.

    Raises:
        InputError: `max_seq_length` is below 3, or `doc_stride` is below 1.
    """
    check_max_seq_length(max_seq_length, pairs=False)
    check_doc_stride(doc_stride)
    index = {label: number for number, label in enumerate(labels)}
    # A tag's label id for the first piece, and for later pieces. Without a tag, as in prediction,
    # nothing is trained.
    label_ids: dict[str | None, tuple[int, int]] = {None: (NOTHING, NOTHING)}
    for label in labels:
        label_ids[label] = (index[label], index[_inside(label)] if label_all_pieces else NOTHING)
    builder = _Builder(tokenizer, max_seq_length - 2, doc_stride)
    ids_by_word: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        pieces: list[int] = []
        piece_labels: list[int] = []
        piece_words: list[int] = []
        tags = example.tags or itertools.repeat(None)
        for position, (word, tag) in enumerate(zip(example.words, tags, strict=False)):
            ids = ids_by_word.get(word)
            if ids is None:
                ids = ids_by_word[word] = tokenizer.encode(word)
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
    """Return windows as log lines.

    In the line of labels, `-` is used for a piece that is not trained, and "none" for a window
    without tags.

    Args:
        features: the windows.
        labels: label names, in the order of label ids.
        count: number of windows.
    """
    lines = []
    for window in range(min(count, len(features))):
        tokens_range = slice(*features.sequences.offsets[window : window + 2].tolist())
        tokens = tokenizer.convert_ids_to_tokens(features.sequences.token_ids[tokens_range].tolist())
        label_ids = features.label_ids[tokens_range].tolist()
        has_tags = any(label != NOTHING for label in label_ids)
        tags = ["-" if label == NOTHING else labels[label] for label in label_ids] if has_tags else ["none"]
        lines += [
            "*** Example ***",
            f"example: {features.example_ids[window]}",
            f"tokens: {' '.join(tokens)}",
            f"labels: {' '.join(tags)}",
        ]
    return lines
