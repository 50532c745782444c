"""Batch columns for problem types."""

import pytest

from bert_cli.base.spec import ENCODER
from bert_cli.problem_types.registry import PROBLEM_TYPES


@pytest.mark.parametrize(
    ("name", "token_shape", "label_shape", "dtype"),
    [
        ("single_label", ("B", "S"), ("B",), "int32"),
        ("multi_label", ("B", "S"), ("B", "L"), "float32"),
        ("regression", ("B", "S"), ("B",), "float32"),
        ("multiple_choice", ("B", "K", "S"), ("B",), "int32"),
    ],
)
def test_batches(name, token_shape, label_shape, dtype):
    *tokens, label_ids = PROBLEM_TYPES[name].batch_columns
    assert [column.name for column in tokens] == [column.name for column in ENCODER]
    assert {column.shape for column in tokens} == {token_shape}
    assert (label_ids.name, label_ids.shape, label_ids.dtype) == ("label_ids", label_shape, dtype)
