"""Confidence intervals, compared with SciPy's bootstrap and with a plain loop."""

import numpy as np
import pytest
import scipy.stats

from bert_cli.metrics.bootstrap import Intervals, bootstrap, is_end

VALUES = np.random.default_rng(1).normal(3, 2, 200)


def mean(rows):
    return {"eval_mean": VALUES[rows].mean(), "eval_median": np.median(VALUES[rows])}


def test_a_plain_loop_gives_the_same_ends():
    rng = np.random.default_rng(7)
    means = [VALUES[rng.integers(0, 200, 200)].mean() for _ in range(300)]
    interval = bootstrap(mean, ["eval_mean"], 200, 300, seed=7)["eval_mean"]
    assert (interval.low, interval.high) == tuple(np.percentile(means, [2.5, 97.5]).astype(np.float32))
    assert (interval.samples, interval.undefined) == (300, 0)


@pytest.mark.parametrize("name", ["eval_mean", "eval_median"])
def test_scipy_has_nearly_the_same_interval(name):
    """Other random samples move the ends by some hundredths of the interval."""
    interval = bootstrap(mean, [name], 200, 4000, seed=1)[name]
    statistic = {"eval_mean": np.mean, "eval_median": np.median}[name]
    expected = scipy.stats.bootstrap(
        (VALUES,), statistic, n_resamples=4000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    width = expected.high - expected.low
    assert interval.low == pytest.approx(expected.low, abs=0.08 * width)
    assert interval.high == pytest.approx(expected.high, abs=0.08 * width)


def test_a_seed_repeats_the_intervals():
    first, again, other = (bootstrap(mean, ["eval_mean"], 200, 100, seed) for seed in (1, 1, 2))
    assert first == again != other


def test_samples_that_do_not_define_a_metric_are_counted():
    """A quarter of the samples begins with row 0. A metric that most samples lack has no interval."""

    def measure(rows):
        return {"any": 1.0} if rows[0] else {"rare": 1.0}

    intervals = bootstrap(measure, ["any", "rare", "missing"], 4, 1000, 0)
    assert list(intervals) == ["any"]
    interval = intervals["any"]
    assert 200 < interval.undefined < 300
    assert Intervals(any=interval).lines()[1] == f"any  1.0000 to 1.0000  (undefined in {interval.undefined} samples)"


def test_names_of_the_ends():
    intervals = bootstrap(mean, ["eval_mean"], 200, 100, 1)
    results = intervals.results()
    assert list(results) == ["eval_mean_low", "eval_mean_high"]
    assert is_end("eval_mean_low", {"eval_mean", "eval_mean_low"})
    assert not is_end("eval_f1_high", {"eval_f1_high"})  # an entity type may be named so
    assert Intervals().lines() == []
