"""Instances as compact rows of equal width, stored on disk until they are shuffled.

    tokens | segment start | predictions | random next | dropped | token ids … 0 | positions … 0 | labels … 0

A number has two bytes, or four if the vocabulary or the sequence is larger than 65536.
"""

import dataclasses
import functools
import struct

import numpy as np

from bert_cli.corpus.instances import Instance, Masking, Sampling

_HEAD = 5
_MOST_DROPPED = (1 << 16) - 1


@dataclasses.dataclass(frozen=True)
class RowFormat:
    """Format used for all rows in a corpus; `typecode` is the number type for struct and NumPy."""

    max_seq_length: int
    max_predictions_per_seq: int
    typecode: str

    @staticmethod
    def of(sampling: Sampling) -> "RowFormat":
        """Return the narrowest format for instances from this sampling."""
        masking = sampling.masking
        largest = max(len(masking.is_inside), sampling.max_seq_length)
        return RowFormat(sampling.max_seq_length, masking.max_predictions_per_seq, "H" if largest < 1 << 16 else "I")

    @property
    def width(self) -> int:
        """Return the number of values in a row."""
        return _HEAD + self.max_seq_length + 2 * self.max_predictions_per_seq

    @functools.cached_property
    def _layout(self) -> struct.Struct:
        return struct.Struct(f"={self.width}{self.typecode}")

    @property
    def size(self) -> int:
        """Return the number of bytes in a row."""
        return self._layout.size

    def pack(self, instance: Instance) -> bytes:
        """Return an instance as a row, with at most 65535 as the number of dropped tokens."""
        token_ids, segment_start, positions, labels, is_random_next, num_dropped = instance
        padding = [0] * (self.max_seq_length - len(token_ids))
        no_labels = [0] * (self.max_predictions_per_seq - len(positions))
        # The limit loses nothing: a document that is cut by more is as cut as can be.
        head = (len(token_ids), segment_start, len(positions), is_random_next, min(num_dropped, _MOST_DROPPED))
        return self._layout.pack(*head, *token_ids, *padding, *positions, *no_labels, *labels, *no_labels)

    def unpack(self, data: bytes | bytearray) -> np.ndarray:
        """Return packed rows as an array [n, width]."""
        return np.frombuffer(data, self.typecode).reshape(-1, self.width)

    def features(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return rows as the arrays of spec.pretraining_features, int64 or float32 [n, length]."""
        tokens, starts, predictions, is_random_next = (rows[:, column, None] for column in range(4))
        # Derive mask and segments from two numbers: storing them would make rows three times as
        # long.
        slots = np.arange(self.max_seq_length)
        inside = slots < tokens
        ids, positions, labels = np.split(
            rows[:, _HEAD:], [self.max_seq_length, self.max_seq_length + self.max_predictions_per_seq], axis=1
        )
        return {
            "input_ids": ids.astype(np.int64),
            "input_mask": inside.astype(np.int64),
            "segment_ids": (inside & (slots >= starts)).astype(np.int64),
            "masked_lm_positions": positions.astype(np.int64),
            "masked_lm_ids": labels.astype(np.int64),
            "masked_lm_weights": (np.arange(self.max_predictions_per_seq) < predictions).astype(np.float32),
            "next_sentence_labels": is_random_next.astype(np.int64),
        }


def count_rows(rows: np.ndarray, masking: Masking) -> dict[str, int]:
    """Return totals over rows in a RowFormat.

    instance_tokens excludes padding. inside_predictions counts predicted pieces that begin with
    "##", and exists only if whole words are masked and no ids were marked.
    Otherwise unmasked_instances counts rows in which every word has too many tokens to be predicted.
    """
    tokens, _, predictions, is_random_next, dropped = (rows[:, column].astype(np.int64) for column in range(_HEAD))
    counts = {
        "instances": len(rows),
        "instance_tokens": int(tokens.sum()),
        "predictions": int(predictions.sum()),
        "random_next": int(is_random_next.sum()),
        "truncated_instances": int((dropped > 0).sum()),
        "dropped_tokens": int(dropped.sum()),
    }
    if masking.whole_word and not masking.mark:
        # Count labels, not tokens: a random replacement may be any piece in the vocabulary.
        is_label = np.arange(masking.max_predictions_per_seq) < predictions[:, None]
        labels = rows[:, -masking.max_predictions_per_seq :][is_label]
        counts["inside_predictions"] = int(np.frombuffer(masking.is_inside, np.uint8)[labels].sum())
    if masking.mark:
        counts["unmasked_instances"] = int((predictions == 0).sum())
    return counts
