"""Figures of a classifier: calibration and ROC, on rows small enough to check by hand."""

import numpy as np
import pytest

from bert_cli.report.classification import reliability, roc_curve


def test_calibration():
    confidence, is_right = np.array([0.55, 0.59, 0.95, 1.0]), np.array([True, False, True, True])
    means, rights, counts, error = reliability(confidence, is_right)
    assert means == pytest.approx([0.57, 0.975])
    assert rights == [0.5, 1.0]
    assert counts == [2, 2]
    assert error == pytest.approx((0.07 + 0.025) / 2)


def test_roc():
    """Two of the best three have the label; equal probabilities are one step."""
    has, probability = np.array([True, False, True, True, False]), np.array([0.9, 0.8, 0.7, 0.2, 0.2])
    x, y = roc_curve(has, probability)
    assert x.tolist() == pytest.approx([0, 0, 1 / 2, 1 / 2, 1])
    assert y.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 1])
