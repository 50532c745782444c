"""Windows `[CLS] question [SEP] context [SEP]` for SQuAD examples, as in Google's run_squad.py.

A context that is too long for one window gets several overlapping windows. Positions in a window
count from its [CLS].
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.examples.squad.records import Paragraph, SquadExample
from bert_cli.features.packing import CutCounts, check_doc_stride, doc_spans, measure_cuts
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP

FIRST_UNIQUE_ID = 1000000000  # the original's first window number


@dataclass(frozen=True)
class SquadFeatures:
    """n windows over the examples, in example order.

    An example has no window if its context has no word piece.

    Attributes:
        sequences: the token sequences.
        example_index: int32 [n], ascending.
        doc_span_index: int32 [n], the window's number within its example.
        query_lengths: int32 [n], word pieces of the question in the window.
        owned: int32 [n, 2], start and end (exclusive) of the positions that have the most context
            in this window.
        start_positions: int32 [n], first token of the answer. 0 in prediction, and if there is no
            answer or the window does not contain it completely.
        end_positions: int32 [n], last token of the answer, or 0.
        is_impossible: bool [n], whether the example has no answer.
        word_indices: int32, each word piece's word in its context, all contexts end to end.
        word_offsets: int64 [n], index in `word_indices` of the window's first context token.
        answer_lengths: int32 [num_examples], word pieces of each answer; 0 in prediction, and if
            there is no answer.
        is_training: whether answer positions were computed.
        num_examples: number of examples, including those without window.
        cuts: word pieces that questions lost to max_query_length; contexts lose none.
    """

    sequences: RaggedFeatures
    example_index: np.ndarray
    doc_span_index: np.ndarray
    query_lengths: np.ndarray
    owned: np.ndarray
    start_positions: np.ndarray
    end_positions: np.ndarray
    is_impossible: np.ndarray
    word_indices: np.ndarray
    word_offsets: np.ndarray
    answer_lengths: np.ndarray
    is_training: bool
    num_examples: int
    cuts: CutCounts

    def __len__(self) -> int:
        return len(self.sequences)

    def batch(self, rows: np.ndarray, width: int | None = None) -> dict[str, np.ndarray]:
        """Return spec.SQUAD for these windows, padded to `width` tokens or to the longest window."""
        inputs = self.sequences.pad(rows, width or self.sequences.longest(rows))
        return inputs | {name: getattr(self, name)[rows] for name in ("start_positions", "end_positions")}

    @property
    def doc_starts(self) -> np.ndarray:
        """Return the first context token's position in each window, int32 [n]."""
        return self.query_lengths + 2

    @property
    def doc_ends(self) -> np.ndarray:
        """Return the position after the last context token in each window, int64 [n]."""
        return self.sequences.lengths - 1

    def word_of(self, window: int, position: int) -> int:
        """Return the doc_tokens index of the word that contains the context token at a position."""
        return int(self.word_indices[self.word_offsets[window] + position - self.query_lengths[window] - 2])


class _Pieces(NamedTuple):
    """A context's word pieces, each word's first piece, and the context's offset in word_indices."""

    ids: array
    first_pieces: list[int]
    offset: int


def check_lengths(max_seq_length: int, doc_stride: int, max_query_length: int) -> None:
    """Raise InputError unless `doc_stride` is positive and windows have space for context.

    A context token must fit into `max_seq_length` after any question of `max_query_length` tokens.
    """
    if max_query_length < 0:
        raise InputError(f"--max_query_length: {max_query_length} is negative; give 0 or more")
    if max_seq_length <= max_query_length + 3:
        raise InputError(
            f"--max_seq_length: {max_seq_length} has no room for a context after a question of "
            f"{max_query_length} tokens and 3 special ones; give more than {max_query_length + 3}, "
            "or a smaller --max_query_length"
        )
    check_doc_stride(doc_stride)


def _context_pieces(paragraph: Paragraph, tokenizer: FullTokenizer, word_indices: array) -> _Pieces:
    """Encode a context word by word, and append each piece's word to `word_indices`."""
    pieces = _Pieces(array("i"), [], len(word_indices))
    for index, word in enumerate(paragraph.doc_tokens):
        pieces.first_pieces.append(len(pieces.ids))
        ids = tokenizer.encode(word)
        pieces.ids.extend(ids)
        word_indices.extend([index] * len(ids))
    return pieces


def _answer_pieces(example: SquadExample, pieces: _Pieces, tokenizer: FullTokenizer) -> tuple[int, int]:
    """Return the answer's first and last word piece.

    If the answer text alone is a run of pieces within the answer's words, that run is used. For
    example, only the pieces of "1895" in "(1895-1943)." are the answer 1895. The last piece may be
    before the first, if the answer's words have no pieces.
    """
    if example.start_position is None or example.end_position is None or example.answer_text is None:
        raise ValueError(f"the example {example.qas_id} was read without its answer")
    first = pieces.first_pieces[example.start_position]
    ends = [*pieces.first_pieces, len(pieces.ids)]
    last = ends[example.end_position + 1] - 1
    answer = array("i", tokenizer.encode(example.answer_text))
    if answer:
        for start in range(first, last - len(answer) + 2):
            # Take the first match, as the original does, even if the answer's words contain it
            # twice.
            if pieces.ids[start : start + len(answer)] == answer:
                return start, start + len(answer) - 1
    return first, last


def squad_features(
    examples: Sequence[SquadExample],
    tokenizer: FullTokenizer,
    max_seq_length: int,
    doc_stride: int,
    max_query_length: int,
    is_training: bool,
) -> SquadFeatures:
    """Cut the examples into windows with at most `max_seq_length` tokens.

    Args:
        examples: examples, with answer positions if `is_training`.
        max_seq_length: maximum tokens per window, including special tokens.
        doc_stride: distance between window starts in a context, in tokens.
        max_query_length: maximum tokens per question; longer questions are cut.
        is_training: whether to compute answer positions.

    Raises:
        InputError: the lengths are invalid (see check_lengths).
    """
    check_lengths(max_seq_length, doc_stride, max_query_length)
    cls_id, sep_id = tokenizer.ids[CLS], tokenizer.ids[SEP]
    token_ids = array("i")
    segment_ids = array("b")
    ends = array("q", [0])
    word_indices = array("i")
    numbers, word_offsets = array("i"), array("q")
    # A SQuAD context has about five questions, so tokenize it only once.
    context_pieces: dict[int, _Pieces] = {}  # keys are paragraph ids; the examples keep the paragraphs alive
    question_lengths, answer_lengths = array("i"), array("i")
    for index, example in enumerate(examples):
        pieces = context_pieces.get(id(example.paragraph))
        if pieces is None:
            pieces = context_pieces[id(example.paragraph)] = _context_pieces(example.paragraph, tokenizer, word_indices)
        query = tokenizer.encode(example.question)
        question_lengths.append(len(query))
        query = query[:max_query_length]
        head = array("i", [cls_id, *query, sep_id])
        answer = _answer_pieces(example, pieces, tokenizer) if is_training and not example.is_impossible else None
        answer_lengths.append(max(answer[1] - answer[0] + 1, 0) if answer else 0)
        for span_index, span in enumerate(doc_spans(len(pieces.ids), max_seq_length - len(query) - 3, doc_stride)):
            token_ids.extend(head)
            token_ids.extend(pieces.ids[span.start : span.end])
            token_ids.append(sep_id)
            segment_ids.frombytes(bytes(len(head)) + b"\1" * (span.end - span.start + 1))
            ends.append(len(token_ids))
            word_offsets.append(pieces.offset + span.start)
            shift = len(head) - span.start  # difference between a position and the context's word piece
            positions = (0, 0)
            # As in the original, an answer that the window cuts is not an answer.
            if answer is not None and span.start <= answer[0] and answer[1] < span.end:
                positions = (answer[0] + shift, answer[1] + shift)
            owned = (span.owned_start + shift, span.owned_end + shift)
            numbers.extend((index, span_index, len(query), *owned, *positions, example.is_impossible))
    # Copy the columns: a view would keep the whole table in memory.
    table = np.array(numbers, np.int32).reshape(-1, 8)
    return SquadFeatures(
        sequences=RaggedFeatures.of(token_ids, segment_ids, ends),
        example_index=table[:, 0].copy(),
        doc_span_index=table[:, 1].copy(),
        query_lengths=table[:, 2].copy(),
        owned=table[:, 3:5].copy(),
        start_positions=table[:, 5].copy(),
        end_positions=table[:, 6].copy(),
        is_impossible=table[:, 7].astype(bool),
        word_indices=np.array(word_indices, np.int32),
        word_offsets=np.array(word_offsets, np.int64),
        answer_lengths=np.array(answer_lengths, np.int32),
        is_training=is_training,
        num_examples=len(examples),
        cuts=measure_cuts(question_lengths, max_query_length),
    )


def window(
    features: SquadFeatures, examples: Sequence[SquadExample], tokenizer: FullTokenizer, max_seq_length: int, row: int
) -> dict[str, Any]:
    """Return one window as a dict that uses the original's names: padded ids, and maps by position.

    Args:
        features: the windows.
        examples: examples that the windows were made from.
        max_seq_length: length of the padded ids.
        row: number of the window.
    """
    padded = {name: values[0].tolist() for name, values in features.sequences.pad([row], max_seq_length).items()}
    doc = range(int(features.doc_starts[row]), int(features.doc_ends[row]))
    owned_start, owned_end = features.owned[row].tolist()
    index = int(features.example_index[row])
    result = {
        "unique_id": FIRST_UNIQUE_ID + row,
        "example_index": index,
        "doc_span_index": int(features.doc_span_index[row]),
        "qas_id": examples[index].qas_id,
        "tokens": tokenizer.convert_ids_to_tokens(padded["input_word_ids"][: features.sequences.lengths[row]]),
        "token_to_orig_map": {position: features.word_of(row, position) for position in doc},
        "token_is_max_context": {position: owned_start <= position < owned_end for position in doc},
        "input_ids": padded["input_word_ids"],
        "input_mask": padded["input_mask"],
        "segment_ids": padded["input_type_ids"],
    }
    if features.is_training:
        result["start_position"] = int(features.start_positions[row])
        result["end_position"] = int(features.end_positions[row])
        result["is_impossible"] = bool(features.is_impossible[row])
    return result


def format_features(
    features: SquadFeatures,
    examples: Sequence[SquadExample],
    tokenizer: FullTokenizer,
    count: int,
    has_ids: bool,
) -> list[str]:
    """Return the windows of the first examples as log lines, formatted as in the original.

    Args:
        features: the windows.
        examples: examples that the windows were made from.
        count: number of examples.
        has_ids: whether lines include ids; if not, only the tokens and, in training, the answer.
    """
    lines = []
    # example_index is ascending, so these rows are the windows of the first examples.
    for row in range(int(np.searchsorted(features.example_index, count))):
        fields = window(features, examples, tokenizer, features.sequences.longest([row]), row)
        tokens = f"tokens: {' '.join(fields['tokens'])}"
        lines += ["*** Example ***", *(_window_lines(fields, tokens) if has_ids else [tokens])]
        if features.is_training and fields["is_impossible"]:
            lines.append("impossible example")
        elif features.is_training:
            start, end = fields["start_position"], fields["end_position"]
            lines += [f"start_position: {start}", f"end_position: {end}"] if has_ids else []
            lines.append(f"answer: {' '.join(fields['tokens'][start : end + 1])}")
    return lines


def _window_lines(fields: dict, tokens: str) -> list[str]:
    lines = [f"{name}: {fields[name]}" for name in ("unique_id", "example_index", "doc_span_index")]
    lines.append(tokens)
    for name in ("token_to_orig_map", "token_is_max_context"):
        lines.append(f"{name}: {' '.join(f'{position}:{value}' for position, value in fields[name].items())}")
    return lines + [
        f"{name}: {' '.join(map(str, fields[name]))}" for name in ("input_ids", "input_mask", "segment_ids")
    ]
