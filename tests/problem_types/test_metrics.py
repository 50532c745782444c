"""Lines about metrics that are left out."""

from bert_cli.problem_types.metrics import format_undefined


def test_metrics_with_the_same_reason_share_a_line():
    assert format_undefined({"a": "x is 0", "b": "y is 0", "c": "x is 0"}) == [
        "left out, as x is 0: a, c",
        "left out, as y is 0: b",
    ]
    assert format_undefined({}) == []
