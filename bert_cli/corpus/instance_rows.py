"""Instances as rows of equal width, small enough for the disk between making and shuffling them.

    tokens | segment start | predictions | random next | dropped | token ids … 0 | positions … 0 |
    labels … 0

One number has two bytes, or four where the vocabulary or the sequence is larger than 65536.
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
    """The form of all rows of a corpus. typecode: of the numbers of a row, for struct and NumPy."""

    max_seq_length: int
    max_predictions_per_seq: int
    typecode: str

    @staticmethod
    def of(sampling: Sampling) -> "RowFormat":
        """The narrowest form that holds the instances of a sampling."""
        masking = sampling.masking
        largest = max(len(masking.is_inside), sampling.max_seq_length)
        return RowFormat(sampling.max_seq_length, masking.max_predictions_per_seq, "H" if largest < 1 << 16 else "I")

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return _HEAD + self.max_seq_length + 2 * self.max_predictions_per_seq

    @functools.cached_property
    def _layout(self) -> struct.Struct:
        return struct.Struct(f"={self.width}{self.typecode}")

    @property
    def size(self) -> int:
        """Bytes of a row."""
        return self._layout.size

    def pack(self, instance: Instance) -> bytes:
        """An instance as a row. Of dropped tokens, 65535 are counted at most."""
        token_ids, segment_start, positions, labels, is_random_next, num_dropped = instance
        padding = [0] * (self.max_seq_length - len(token_ids))
        no_labels = [0] * (self.max_predictions_per_seq - len(positions))
        # A row holds 65535 at most; a document cut by more is as cut as can be.
        head = (len(token_ids), segment_start, len(positions), is_random_next, min(num_dropped, _MOST_DROPPED))
        return self._layout.pack(*head, *token_ids, *padding, *positions, *no_labels, *labels, *no_labels)

    def unpack(self, data: bytes | bytearray) -> np.ndarray:
        """Packed rows as an array [n, width]."""
        return np.frombuffer(data, self.typecode).reshape(-1, self.width)

    def features(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Rows as the arrays of spec.pretraining_features: int64 or float32 [n, length of the
        feature].
        """
        tokens, starts, predictions, is_random_next = (rows[:, column, None] for column in range(4))
        # Mask and segments follow from two numbers, so that a row is not three times as long.
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
    """Return totals over rows of a RowFormat.

    instance_tokens are without padding. inside_predictions, the predicted pieces that begin with
    "##", are counted if whole words are masked.
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
    if masking.whole_word:
        # Labels, not tokens: a random replacement may be any piece of the vocabulary.
        is_label = np.arange(masking.max_predictions_per_seq) < predictions[:, None]
        labels = rows[:, -masking.max_predictions_per_seq :][is_label]
        counts["inside_predictions"] = int(np.frombuffer(masking.is_inside, np.uint8)[labels].sum())
    return counts
