"""Packing of instances into rows, and the features and counts read from rows."""

import numpy as np
import pytest

from bert_cli.corpus.instance_rows import RowFormat, count_rows
from bert_cli.corpus.instances import Instance, Sampling, make_masking

INSTANCES = [Instance([7, 8, 9, 5], 2, [1, 3], [20, 21], True, 100_000), Instance([7, 9], 2, [], [], False, 0)]


def masking(whole_word, inside):
    """Return masking rules for 30 tokens; tokens with an id in `inside` begin with ##."""
    tokens = {f"{'##' if number in inside else ''}{number}": number for number in range(30)}
    return make_masking(tokens | {"[CLS]": 1, "[SEP]": 2, "[MASK]": 3}, 3, 0.15, whole_word)


@pytest.mark.parametrize(("vocab_size", "typecode"), [(30_000, "H"), (65_535, "H"), (70_000, "I")])
def test_typecode_fits_the_vocabulary(vocab_size, typecode):
    masking_rules = make_masking({"[CLS]": 0, "[SEP]": 1, "[MASK]": vocab_size - 1}, 3, 0.15)
    assert RowFormat.of(Sampling(128, 0.1, masking_rules)) == RowFormat(128, 3, typecode)


@pytest.mark.parametrize("typecode", ["H", "I"])
def test_rows_unpack_to_features_and_counts(typecode):
    form = RowFormat(6, 3, typecode)
    rows = form.unpack(b"".join(map(form.pack, INSTANCES)))
    assert (rows.shape, form.size) == ((2, 17), 17 * np.dtype(typecode).itemsize)
    features = {name: values.tolist() for name, values in form.features(rows).items()}
    assert features == {
        "input_ids": [[7, 8, 9, 5, 0, 0], [7, 9, 0, 0, 0, 0]],
        "input_mask": [[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]],
        "segment_ids": [[0, 0, 1, 1, 0, 0], [0] * 6],
        "masked_lm_positions": [[1, 3, 0], [0, 0, 0]],
        "masked_lm_ids": [[20, 21, 0], [0, 0, 0]],
        "masked_lm_weights": [[1, 1, 0], [0, 0, 0]],
        "next_sentence_labels": [[1], [0]],
    }
    counts = {
        "instances": 2, "instance_tokens": 6, "predictions": 2, "random_next": 1, "truncated_instances": 1,
        "dropped_tokens": 65_535,
    }  # fmt: skip
    assert count_rows(rows, masking(whole_word=False, inside=(20, 21))) == counts
    assert count_rows(rows, masking(whole_word=True, inside=(21, 5, 0))) == counts | {"inside_predictions": 1}
    assert count_rows(rows, masking(whole_word=True, inside=(7, 8, 9, 0)))["inside_predictions"] == 0
