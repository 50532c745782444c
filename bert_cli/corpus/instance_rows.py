"""Instances as rows of equal width, small enough for the disk between making and shuffling them.

    tokens | segment start | predictions | random next | dropped | token ids … 0 | positions … 0 | labels … 0

One number has two bytes, or four where the vocabulary or the sequence is larger than 65536.
"""

import struct

import numpy as np

from bert_cli.corpus.instances import Instance

_HEAD = 5
_MOST_DROPPED = (1 << 16) - 1


def row_typecode(vocab_size: int, max_seq_length: int) -> str:
    """Type of the numbers of a row, for struct and NumPy."""
    return "H" if max(vocab_size, max_seq_length) < 1 << 16 else "I"


def row_width(max_seq_length: int, max_predictions_per_seq: int) -> int:
    """Numbers in a row."""
    return _HEAD + max_seq_length + 2 * max_predictions_per_seq


def row_layout(typecode: str, max_seq_length: int, max_predictions_per_seq: int) -> struct.Struct:
    """How a row is packed into bytes."""
    return struct.Struct(f"={row_width(max_seq_length, max_predictions_per_seq)}{typecode}")


def pack_row(instance: Instance, layout: struct.Struct, max_seq_length: int, max_predictions_per_seq: int) -> bytes:
    """An instance as a row. Of dropped tokens, 65535 are counted at most."""
    token_ids, segment_start, positions, labels, is_random_next, num_dropped = instance
    padding = [0] * (max_seq_length - len(token_ids))
    no_labels = [0] * (max_predictions_per_seq - len(positions))
    head = (len(token_ids), segment_start, len(positions), is_random_next, min(num_dropped, _MOST_DROPPED))
    return layout.pack(*head, *token_ids, *padding, *positions, *no_labels, *labels, *no_labels)


def rows_to_features(rows: np.ndarray, max_seq_length: int, max_predictions_per_seq: int) -> dict[str, np.ndarray]:
    """Rows [n, row_width] as the arrays of spec.pretraining_features: int64 or float32 [n, length of the feature]."""
    tokens, starts, predictions, is_random_next = (rows[:, column, None] for column in range(4))
    slots = np.arange(max_seq_length)
    inside = slots < tokens
    ids, positions, labels = np.split(
        rows[:, _HEAD:], [max_seq_length, max_seq_length + max_predictions_per_seq], axis=1
    )
    return {
        "input_ids": ids.astype(np.int64),
        "input_mask": inside.astype(np.int64),
        "segment_ids": (inside & (slots >= starts)).astype(np.int64),
        "masked_lm_positions": positions.astype(np.int64),
        "masked_lm_ids": labels.astype(np.int64),
        "masked_lm_weights": (np.arange(max_predictions_per_seq) < predictions).astype(np.float32),
        "next_sentence_labels": is_random_next.astype(np.int64),
    }


def count_rows(rows: np.ndarray) -> dict[str, int]:
    """Totals over rows [n, row_width]: instances, tokens (without padding), predictions, random next, cut, dropped."""
    tokens, _, predictions, is_random_next, dropped = (rows[:, column].astype(np.int64) for column in range(_HEAD))
    return {
        "instances": len(rows),
        "instance_tokens": int(tokens.sum()),
        "predictions": int(predictions.sum()),
        "random_next": int(is_random_next.sum()),
        "truncated_instances": int((dropped > 0).sum()),
        "dropped_tokens": int(dropped.sum()),
    }
