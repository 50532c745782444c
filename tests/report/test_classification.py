"""Figures for classifiers: calibration and ROC curves, with values checked by hand."""

import numpy as np
import pytest

from bert_cli.report.classification import CHARTS, roc_curve


def test_roc():
    """Two of the three best rows have the label. Equal probabilities give a single step."""
    has, probability = np.array([True, False, True, True, False]), np.array([0.9, 0.8, 0.7, 0.2, 0.2])
    x, y = roc_curve(has, probability)
    assert x.tolist() == pytest.approx([0, 0, 1 / 2, 1 / 2, 1])
    assert y.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 1])


def test_calibration_shows_both_curves():
    """A probability of 0.75 at temperature 2 was 0.9 before: 3² to 1."""
    rows = [{"label": label, "probabilities": [0.75, 0.25]} for label in (0, 0, 0, 1)]
    [plain] = CHARTS["calibration"]({}, rows)
    [card] = CHARTS["calibration"]({"temperature": 2.0}, rows)
    assert "before calibration" not in str(plain)
    assert "before calibration" in str(card)
    assert "temperature 2" in card.note
    assert "the mean distance is 0.0 %" in card.note
    assert "it was 15.0 %" in card.note
