"""Significance tests, compared with SciPy, statsmodels and samples drawn by hand."""

import numpy as np
import pytest
import scipy.stats

from bert_cli.metrics.significance import mcnemar, paired_bootstrap


def outcomes(both, only_first, only_second, none):
    counts = (both, only_first, only_second, none)
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 0), (3, 0), (1, 9), (6, 6), (30, 70)])
def test_mcnemar_is_the_exact_test(only_first, only_second):
    test = mcnemar(*outcomes(20, only_first, only_second, 5))
    count = only_first + only_second
    expected = min(1.0, 2 * scipy.stats.binom.cdf(min(only_first, only_second), count, 0.5)) if count else 1.0
    assert (test.only_first, test.only_second) == (only_first, only_second)
    assert test.p_value == pytest.approx(expected)
    assert test.is_different == (test.p_value < 0.05)


def test_mcnemar_of_statsmodels():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    assert mcnemar(*outcomes(20, 4, 15, 6)).p_value == pytest.approx(tables.mcnemar([[20, 4], [15, 6]]).pvalue)


def test_paired_bootstrap():
    """The second model has larger scores by 0.5, with some noise, and equal ones in another metric."""
    rng = np.random.default_rng(0)
    scores, noise = rng.normal(size=100), rng.normal(0.5, 1, size=100)
    first, second = ({"a": scores, "b": scores}, {"a": scores + noise, "b": scores})
    measures = [lambda rows, s=s: {name: values[rows].mean() for name, values in s.items()} for s in (first, second)]
    a, b = paired_bootstrap(*measures, ["a", "b", "missing"], 100)
    expected = scipy.stats.bootstrap((noise,), np.mean, method="percentile", rng=np.random.default_rng(1))
    assert (a.low, a.high) == pytest.approx(tuple(expected.confidence_interval), abs=0.04)
    assert (a.is_different, b.is_different) == (True, False)
    assert (b.low, b.high) == (0, 0)
