"""Facts about a trained model."""

import pytest

from bert_cli.opening.trained import has_text_pairs


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
