"""Facts about a trained model."""

import pytest
from bert_cli.runs.loading.trained import has_text_pairs, merge_labels

from bert_cli.base.errors import InputError
from tests.snapshots import raises


def test_labels_from_flag_and_model():
    assert merge_labels(("a", "b"), None, "m") == merge_labels(None, ("a", "b"), "m") == ("a", "b")
    assert merge_labels(None, None, "m") is None
    with raises(InputError, "--labels=b,a: "):
        merge_labels(("b", "a"), ("a", "b"), "m")


@pytest.mark.parametrize(
    ("saved", "expected"),
    [
        ({"task_name": "mrpc"}, True),
        ({"task_name": "cola", "text_b_column": "1"}, False),
        ({"text_b_column": "1"}, True),
        ({}, False),
    ],
)
def test_tasks_decide_about_pairs(saved, expected):
    assert has_text_pairs(saved) is expected
