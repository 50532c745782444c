"""Curve over no-answer thresholds, with values checked by hand."""

import pytest

from bert_cli.report.evaluations import threshold_curve


def test_threshold_curve():
    rows = [
        {"null_odds": 2.0, "is_answerable": False, "best_exact": 0.0, "best_f1": 0.0},
        {"null_odds": -3.0, "is_answerable": True, "best_exact": 1.0, "best_f1": 1.0},
        {"null_odds": -1.0, "is_answerable": True, "best_exact": 0.0, "best_f1": 0.5},
        {"null_odds": None, "is_answerable": True, "best_exact": 1.0, "best_f1": 1.0},
    ]
    odds, exact, f1 = threshold_curve(rows)
    assert odds.tolist() == [-3.0, -1.0, 2.0]
    # Up to −3, the first question is answered and the question without an answer is not. At 2 it is
    # answered too.
    assert exact.tolist() == pytest.approx([200 / 3, 200 / 3, 100 / 3])
    assert f1.tolist() == pytest.approx([200 / 3, 250 / 3, 50.0])
