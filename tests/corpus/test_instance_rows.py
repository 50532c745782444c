"""Instances as rows of numbers, and back as the arrays of records."""

import numpy as np
import pytest

from bert_cli.corpus.instance_rows import count_rows, pack_row, row_layout, row_typecode, row_width, rows_to_features
from bert_cli.corpus.instances import Instance

INSTANCES = [Instance([7, 8, 9, 5], 2, [1, 3], [20, 21], True, 100_000), Instance([7, 9], 2, [], [], False, 0)]


@pytest.mark.parametrize(("vocab_size", "typecode"), [(30_000, "H"), (65_535, "H"), (70_000, "I")])
def test_the_width_of_a_number(vocab_size, typecode):
    assert row_typecode(vocab_size, 128) == typecode


@pytest.mark.parametrize("typecode", ["H", "I"])
def test_rows_are_the_features_of_their_instances(typecode):
    layout = row_layout(typecode, 6, 3)
    data = b"".join(pack_row(instance, layout, 6, 3) for instance in INSTANCES)
    rows = np.frombuffer(data, typecode).reshape(2, row_width(6, 3))
    found = {name: values.tolist() for name, values in rows_to_features(rows, 6, 3).items()}
    assert found == {
        "input_ids": [[7, 8, 9, 5, 0, 0], [7, 9, 0, 0, 0, 0]],
        "input_mask": [[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]],
        "segment_ids": [[0, 0, 1, 1, 0, 0], [0] * 6],
        "masked_lm_positions": [[1, 3, 0], [0, 0, 0]],
        "masked_lm_ids": [[20, 21, 0], [0, 0, 0]],
        "masked_lm_weights": [[1, 1, 0], [0, 0, 0]],
        "next_sentence_labels": [[1], [0]],
    }
    assert count_rows(rows) == {
        "instances": 2, "instance_tokens": 6, "predictions": 2, "random_next": 1, "truncated_instances": 1,
        "dropped_tokens": 65_535,
    }  # fmt: skip
