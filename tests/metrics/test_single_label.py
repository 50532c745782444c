"""The table of metrics for one label per text, compared with scikit-learn, with and without weights."""

import warnings

import numpy as np
import pytest
import sklearn.metrics

from bert_cli.metrics.single_label import (
    METRICS,
    ScoredRows,
    SingleLabelMetric,
    classification_metrics,
    metric_names,
    undefined_scores,
)

TABLE = {metric.name: metric for metric in METRICS}


def random_rows(seed, names, positive=None, count=60, has_weights=True):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(len(names)), count).round(2).astype(np.float32)  # rounded, for ties
    weights = rng.random(count) + 0.1 if has_weights else None
    return ScoredRows(rng.integers(0, len(names), count), probabilities, names, positive, weights)


def expected_scores(rows):
    """Return scikit-learn's metrics of rows."""
    labels, probabilities, predicted = rows.label_ids, rows.probabilities.astype(np.float64), rows.predicted
    weights = {"sample_weight": rows.weights}
    classes = range(probabilities.shape[1]) if rows.positive is None else [rows.positive]
    one_hot = np.eye(probabilities.shape[1])[labels]

    def f1(average, classes=None):
        return sklearn.metrics.f1_score(labels, predicted, average=average, labels=classes, **weights)

    def mean(score):
        return np.mean([score(labels == label, probabilities[:, label], **weights) for label in classes])

    return {
        "eval_accuracy": sklearn.metrics.accuracy_score(labels, predicted, **weights),
        "eval_mcc": sklearn.metrics.matthews_corrcoef(labels, predicted, **weights),
        "eval_f1": f1("macro", None if rows.positive is None else [rows.positive]),
        "eval_macro_f1": f1("macro"),
        "eval_weighted_f1": f1("weighted"),
        "eval_roc_auc": mean(sklearn.metrics.roc_auc_score),
        "eval_average_precision": mean(sklearn.metrics.average_precision_score),
        "eval_balanced_accuracy": sklearn.metrics.balanced_accuracy_score(labels, predicted, **weights),
        "eval_kappa": sklearn.metrics.cohen_kappa_score(labels, predicted, **weights),
        "eval_brier": sklearn.metrics.brier_score_loss(labels, probabilities[:, 1], **weights)
        if probabilities.shape[1] == 2
        else np.average(((probabilities - one_hot) ** 2).sum(axis=1), weights=rows.weights),
    }


@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize(("names", "positive"), [(("no", "yes"), 1), (("no", "yes"), 0), (tuple("abcdefg"), None)])
@pytest.mark.parametrize("seed", range(5))
def test_scores_of_scikit_learn(seed, names, positive, has_weights):
    rows = random_rows(seed, names, positive, has_weights=has_weights)
    expected = expected_scores(rows)
    assert {name: TABLE[name].compute(rows) for name in expected} == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize("names", [("1", "2", "3", "4"), ("5", "1", "-2"), ("0", "10", "3")])
def test_quadratic_kappa_has_the_distances_of_the_numbers(names, has_weights):
    rows = random_rows(1, names, has_weights=has_weights)
    numbers = np.array(list(map(int, names)))
    every = range(numbers.min(), numbers.max() + 1)  # scikit-learn takes the index of a label as its number
    expected = sklearn.metrics.cohen_kappa_score(
        numbers[rows.label_ids], numbers[rows.predicted], labels=every, weights="quadratic", sample_weight=rows.weights
    )
    assert TABLE["eval_quadratic_kappa"].compute(rows) == pytest.approx(expected)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_top_k_accuracy(k):
    rng = np.random.default_rng(k)
    rows = ScoredRows(rng.integers(0, 8, 50), rng.dirichlet(np.ones(8), 50), tuple("abcdefgh"), None, rng.random(50))
    expected = sklearn.metrics.top_k_accuracy_score(
        rows.label_ids, rows.probabilities, k=k, sample_weight=rows.weights, labels=range(8)
    )
    assert TABLE[f"eval_top{k}_accuracy"].compute(rows) == pytest.approx(expected)


def test_in_a_tie_the_first_classes_are_the_top_ones():
    rows = ScoredRows(np.arange(4), np.full((4, 4), 0.25), tuple("abcd"))
    assert [TABLE[name].compute(rows) for name in ("eval_accuracy", "eval_top2_accuracy", "eval_top3_accuracy")] == [
        0.25, 0.5, 0.75,
    ]  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_whole_weights_are_repeated_rows(name):
    """So a mean over weighted rows is a mean over a larger file."""
    metric: SingleLabelMetric = TABLE[name]
    names = ("1", "2", "3", "4", "5", "6")
    rows = random_rows(3, names)
    counts = np.arange(len(rows.label_ids)) % 4
    weighted = ScoredRows(rows.label_ids, rows.probabilities, names, None, counts.astype(float))
    repeated = ScoredRows(rows.label_ids.repeat(counts), rows.probabilities.repeat(counts, axis=0), names)
    assert metric.compute(weighted) == pytest.approx(metric.compute(repeated))


@pytest.mark.parametrize(
    ("names", "more"),
    [
        (("no", "yes"), set()),
        (("0", "1"), set()),
        (("a", "b", "3"), {"eval_top2_accuracy"}),
        (("1", "2", "3"), {"eval_top2_accuracy", "eval_quadratic_kappa"}),
        (tuple("123456"), {"eval_top2_accuracy", "eval_top3_accuracy", "eval_top5_accuracy", "eval_quadratic_kappa"}),
    ],
)
def test_labels_decide_which_metrics_there_are(names, more):
    rows = random_rows(2, names)
    metrics = classification_metrics(rows.label_ids, np.zeros(60), rows.probabilities, names, 8)
    assert {name for name in metrics if "top" in name or "quadratic" in name} == more
    assert {*metric_names(names)} == metrics.keys() - {"eval_examples"}


@pytest.mark.parametrize("names", [("no", "yes"), ("1", "2", "3")])
def test_equal_labels_leave_out_metrics_without_a_warning(names):
    labels, probabilities = np.zeros(4, np.int32), np.full((4, len(names)), 1 / len(names))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metrics = classification_metrics(labels, np.zeros(4), probabilities, names, 8)
    undefined = undefined_scores(labels, names, None)
    assert {"eval_mcc", "eval_kappa", "eval_roc_auc", "eval_average_precision"} <= undefined.keys()
    assert not undefined.keys() & metrics.keys()
    assert metrics["eval_balanced_accuracy"] == 1
