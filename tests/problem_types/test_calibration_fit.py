"""Calibration, computed by hand, and the error limit of --abstain_error on random rows."""

import numpy as np
import pytest
from scipy.stats import binom

from bert_cli.problem_types import calibration
from bert_cli.problem_types.calibration import choose_abstention, fit_temperature, reliability


def test_reliability_by_hand():
    confidence, is_right = np.array([0.55, 0.59, 0.95, 1.0]), np.array([True, False, True, True])
    curve = reliability(confidence, is_right, bins=10)
    assert curve.confidence.tolist() == pytest.approx([0.57, 0.975])
    assert curve.accuracy.tolist() == [0.5, 1.0]
    assert curve.rows.tolist() == [2, 2]
    assert curve.error == pytest.approx((0.07 + 0.025) / 2)


def test_fit_temperature_recovers_the_true_temperature():
    """Labels are drawn from softmax(logits / 2), so that softmax(logits) is overconfident."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 4, 20_000)  # difference between two labels
    is_first = rng.random(20_000) < 1 / (1 + np.exp(-logits / 2))
    signed = np.where(is_first, logits, -logits)
    temperature = fit_temperature(lambda t: float(np.logaddexp(0, -signed / t).mean()), 20_000)
    assert temperature == pytest.approx(2, rel=0.05)
    assert temperature == float(f"{temperature:.6g}")


def test_fit_temperature_is_finite_if_all_are_right():
    temperature = fit_temperature(lambda t: float(np.logaddexp(0, -3 / t)), 10)
    assert 0.1 < temperature < 1


def test_choose_abstention_by_hand():
    """The 600 most certain rows have no errors, and every other row of the rest is wrong."""
    uncertainty = np.repeat([0.01, 0.02, 0.4], [300, 300, 400])
    is_wrong = np.concatenate([np.zeros(600, bool), np.arange(400) % 2 == 0])
    order = np.random.default_rng(0).permutation(1000)
    abstention = choose_abstention(uncertainty[order], is_wrong[order], 0.02)
    assert (abstention.uncertainty, abstention.answered) == (0.4, 0.6)


def test_critical_errors_limit_the_probability_over_all_counts():
    """A Monte Carlo simulation gives a probability of at most 5 percent, and not much less."""
    rows = np.array([100, 300, 600, 1000])
    critical = calibration._critical_errors(rows, 0.05)
    counts = np.cumsum(np.random.default_rng(0).binomial(np.diff(rows, prepend=0), 0.05, (200_000, 4)), axis=1)
    probability = (counts <= critical).any(axis=1).mean()
    assert 0.03 < probability < 0.0515
    # A single count gives the exact binomial test.
    [single_count] = calibration._critical_errors(np.array([1000]), 0.02)
    assert binom.cdf(single_count, 1000, 0.02) <= 0.05 < binom.cdf(single_count + 1, 1000, 0.02)


def test_choose_abstention_keeps_the_error_limit():
    """Errors have probability r³/2 for uniform r, so that rows below a limit r have the mean error r³/8."""
    rng = np.random.default_rng(0)
    num_above_limit = answered = 0
    for _ in range(100):
        uncertainty = rng.random(1000) ** 3 / 2
        abstention = choose_abstention(uncertainty, rng.random(1000) < uncertainty, 0.05)
        share = (2 * abstention.uncertainty) ** (1 / 3)
        num_above_limit += share**3 / 8 > 0.05
        answered += share / 0.4 ** (1 / 3)  # relative to an oracle
    assert num_above_limit <= 5
    assert answered / 100 > 0.8


def test_choose_abstention_reports_needed_rows():
    abstention = choose_abstention(np.linspace(0, 1, 50), np.zeros(50, bool), 0.02)
    assert (abstention.uncertainty, abstention.answered) == (0.0, 0.0)
    assert abstention.needed is not None
    assert 200 <= abstention.needed <= 300  # ln(0.0125) / ln(0.98) = 217 if there is no error
    always_abstains = choose_abstention(np.linspace(0, 1, 500), np.arange(500) % 2 == 0, 0.02)
    assert (always_abstains.uncertainty, always_abstains.needed) == (0.0, None)
