"""Calibration: answers by hand, and the promise of --abstain_error on drawn rows."""

import numpy as np
import pytest
from scipy.stats import binom

from bert_cli.metrics import calibration
from bert_cli.metrics.calibration import choose_abstention, fit_temperature, reliability


def test_reliability():
    confidence, is_right = np.array([0.55, 0.59, 0.95, 1.0]), np.array([True, False, True, True])
    found = reliability(confidence, is_right, bins=10)
    assert found.confidence.tolist() == pytest.approx([0.57, 0.975])
    assert found.accuracy.tolist() == [0.5, 1.0]
    assert found.rows.tolist() == [2, 2]
    assert found.error == pytest.approx((0.07 + 0.025) / 2)


def test_fit_temperature_finds_the_one_of_the_draw():
    """Labels drawn from softmax(logits / 2), whose own probabilities are too extreme."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 4, 20_000)  # of two labels, their difference
    is_first = rng.random(20_000) < 1 / (1 + np.exp(-logits / 2))
    signed = np.where(is_first, logits, -logits)
    found = fit_temperature(lambda t: float(np.logaddexp(0, -signed / t).mean()), 20_000)
    assert found == pytest.approx(2, rel=0.05)
    assert found == float(f"{found:.6g}")


def test_fit_temperature_stays_finite_where_all_are_right():
    found = fit_temperature(lambda t: float(np.logaddexp(0, -3 / t)), 10)
    assert 0.1 < found < 1


def test_choose_abstention_of_rows_by_hand():
    """The 600 most certain rows have no error, the others have one of two; ties are on one side of the cut."""
    uncertainty = np.repeat([0.01, 0.02, 0.4], [300, 300, 400])
    is_wrong = np.concatenate([np.zeros(600, bool), np.arange(400) % 2 == 0])
    order = np.random.default_rng(0).permutation(1000)
    found = choose_abstention(uncertainty[order], is_wrong[order], 0.02)
    assert (found.uncertainty, found.answered) == (0.4, 0.6)


def test_critical_errors_hold_the_chance_of_all_counts_together():
    """Against a Monte Carlo of the sums, and not much below 5 %."""
    rows = np.array([100, 300, 600, 1000])
    critical = calibration._critical_errors(rows, 0.05)
    counts = np.cumsum(np.random.default_rng(0).binomial(np.diff(rows, prepend=0), 0.05, (200_000, 4)), axis=1)
    chance = (counts <= critical).any(axis=1).mean()
    assert 0.03 < chance < 0.0515
    # One count alone is the exact binomial test.
    [alone] = calibration._critical_errors(np.array([1000]), 0.02)
    assert binom.cdf(alone, 1000, 0.02) <= 0.05 < binom.cdf(alone + 1, 1000, 0.02)


def test_choose_abstention_keeps_its_promise():
    """The true error of the answered part, exact: of r³/2 below a cut r, with r uniform, the mean is r³/8."""
    rng = np.random.default_rng(0)
    broken = answered = 0
    for _ in range(100):
        uncertainty = rng.random(1000) ** 3 / 2
        found = choose_abstention(uncertainty, rng.random(1000) < uncertainty, 0.05)
        share = (2 * found.uncertainty) ** (1 / 3)
        broken += share**3 / 8 > 0.05
        answered += share / 0.4 ** (1 / 3)  # of what an oracle would answer
    assert broken <= 5
    assert answered / 100 > 0.8


def test_choose_abstention_asks_for_rows():
    few = choose_abstention(np.linspace(0, 1, 50), np.zeros(50, bool), 0.02)
    assert (few.uncertainty, few.answered) == (0.0, 0.0)
    assert few.needed is not None
    assert 200 <= few.needed <= 300  # ln(0.0125) / ln(0.98) = 217 without an error
    bad = choose_abstention(np.linspace(0, 1, 500), np.arange(500) % 2 == 0, 0.02)
    assert (bad.uncertainty, bad.needed) == (0.0, None)
