"""A training's columns, from flags.txt or as they were detected."""

import types

import pytest

from bert_cli.api.inputs.frames import TextColumns
from bert_cli.api.inputs.trained_columns import trained_columns


@pytest.mark.parametrize(
    ("flags", "guesses", "columns"),
    [
        ({"text_column": "review", "label_column": "stars"}, {}, TextColumns("review", None, ("stars",))),
        ({}, {"text_column": "q", "text_b_column": "a", "label_column": "y"}, TextColumns("q", "a", ("y",))),
        ({"text_column": "review"}, {"text_column": "x", "label_column": "y"}, TextColumns("review")),
        ({"text_column": "t", "label_column": 'fun,"a, b"'}, {}, TextColumns("t", None, ("fun", "a, b"))),
        # Numbers are columns without names.
        ({"text_column": "3", "label_column": "1"}, {}, TextColumns()),
        ({}, {}, TextColumns()),
    ],
)
def test_columns_with_names(flags, guesses, columns):
    assert trained_columns(types.SimpleNamespace(saved_flags=flags, guesses=guesses)) == columns
