"""Choice of the best evaluation, for numbers that can be checked by hand."""

import math

import pytest

from bert_cli.base.errors import InputError
from bert_cli.metrics.classification import known_metrics
from bert_cli.metrics.selection import Selection, find_metric, is_better, lower_is_better, select
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.registry import problem_type
from tests.snapshots import raises

LABELS = LabelSet(("bad", "good"))


@pytest.mark.parametrize(
    ("name", "values", "best"),
    [
        ("eval_accuracy", [0.5], (1, 0.5, 0)),
        ("eval_accuracy", [0.5, 0.7, 0.6, 0.7], (2, 0.7, 2)),  # the first in a tie
        ("eval_loss", [0.5, 0.7, 0.4, 0.4], (3, 0.4, 1)),
        ("eval_rmse", [0.5, 0.4], (2, 0.4, 0)),
        ("eval_mcc", [math.nan, -0.2, math.nan], (2, -0.2, 1)),
        ("masked_lm_perplexity", [9.0, 8.0, 10.0], (2, 8.0, 1)),
    ],
)
def test_select_returns_the_best_and_its_age(name, values, best):
    assert select(name, list(enumerate(values, 1))) == Selection(*best)


def test_patience_counts_from_the_step_of_an_extended_run():
    evaluations = [(2, 0.9), (4, 0.8), (6, 0.7), (8, 0.6)]
    assert [select("eval_f1", evaluations, first).waited for first in (0, 2, 4, 6, 8)] == [3, 3, 2, 1, 0]
    assert select("eval_f1", []) is None


@pytest.mark.parametrize("name", ["eval_pearson", "eval_rmse"])
def test_nan_is_never_the_best(name):
    assert select(name, [(1, math.nan), (2, math.nan)]) is None
    assert select(name, [(1, math.nan), (2, -0.5), (3, math.nan)]) == Selection(2, -0.5, 1)


@pytest.mark.parametrize("name", ["loss", "eval_loss", "eval_rmse", "eval_mae_mm", "next_sentence_loss", "eval_brier"])
def test_lower_is_better(name):
    assert lower_is_better(name)
    assert is_better(name, 1.0, 2.0)
    assert not is_better(name, 2.0, 2.0)


@pytest.mark.parametrize(
    "name", ["eval_accuracy", "f1", "eval_f1_B-lossy", "exact_match", "eval_pearson", "eval_quadratic_kappa"]
)
def test_higher_is_better(name):
    assert not lower_is_better(name)
    assert is_better(name, 2.0, 1.0)


def test_find_metric_with_and_without_eval():
    metrics = known_metrics(problem_type("single_label").metrics.names(LABELS))
    assert [find_metric(name, metrics) for name in ("", "f1", "eval_mcc", "loss")] == [
        "eval_accuracy", "eval_f1", "eval_mcc", "loss",
    ]  # fmt: skip
    with raises(InputError, "--metric_for_best=F1: "):
        find_metric("F1", metrics)


@pytest.mark.parametrize("name", ["eval_macro_f1", "macro_f1", "eval_f1_macro", "f1_macro"])
def test_find_metric_takes_the_names_of_scikit_learn(name):
    assert find_metric(name, ("eval_f1", "eval_macro_f1")) == "eval_macro_f1"
    with pytest.raises(InputError, match="this run has eval_f1"):
        find_metric(name, ("eval_f1",))


def test_main_metric_comes_first():
    assert known_metrics(problem_type("single_label").metrics.names(LABELS), "mcc")[0] == "eval_mcc"
    assert known_metrics(problem_type("single_label").metrics.names(LABELS), "accuracy_f1")[0] == "eval_accuracy"
    assert known_metrics(problem_type("regression").metrics.names(LABELS), "pearson_spearman")[0] == "eval_pearson"
    assert known_metrics(problem_type("multi_label").metrics.names(LABELS))[0] == "eval_micro_f1"
