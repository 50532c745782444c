"""A model that learned nothing gets one warning, and a model that learned gets no warning."""

import logging
import math

import pytest

from bert_cli.runs.learning_checks import log_comparison, loss_warning
from bert_cli.runs.tasks.interface import BaselineComparison
from tests.snapshots import check_message

GUESS = math.log(2)


def history(losses, metrics=None):
    lines = [{"step": step, "loss": loss} for step, loss in enumerate(losses, 1)]
    return [*lines, {"step": len(losses), "metrics": metrics or {}}]


@pytest.mark.parametrize(
    ("losses", "warning"),
    [
        ([0.70, 0.70, *[0.69] * 10, *[0.71] * 10], "has not fallen after the warm-up: from 0.69 to 0.71"),
        ([*[0.7] * 10, *[0.6] * 10], ""),
        ([*[0.3] * 10, *[0.31] * 10], ""),  # learned during the warm-up, or before this run
        ([0.69, 0.69, 0.7, 0.7, 0.71], ""),  # too few lines
        ([0.7, 9.0, 9.0, 9.0], "the loss ends at 9, far above the 0.6931 of guessing"),
        ([0.7], ""),
        ([], ""),
    ],
)
def test_loss_warning(losses, warning):
    logged_warning = loss_warning(history(losses), 2, GUESS)
    assert warning in logged_warning if warning else logged_warning == ""


def test_loss_warning_ignores_the_warmup():
    """The loss may rise while the learning rate rises."""
    losses = [*[0.6] * 10, *[0.72] * 8, *[0.66] * 8]
    assert loss_warning(history(losses), 10, GUESS) == ""
    assert "has not fallen" in loss_warning(history(losses), 0, GUESS)


def log_messages(caplog, value, comparison, metric="eval_accuracy"):
    caplog.clear()
    caplog.set_level(logging.INFO)
    log_comparison("bert-classify", metric, {metric: value}, comparison)
    return caplog.messages


def test_a_model_that_learned_is_logged_with_its_baselines(caplog):
    comparison = BaselineComparison({"majority": {"accuracy": 0.5}, "tfidf": {"accuracy": 0.75}}, True, "", "")
    assert log_messages(caplog, 0.9, comparison) == [
        "accuracy: the model 0.9000, the majority class 0.5000, TF-IDF with logistic regression 0.7500"
    ]


def test_a_model_that_did_not_learn_gets_one_warning(caplog):
    comparison = BaselineComparison({"majority": {"accuracy": 0.5}}, True, "every row gets the label a", "")
    warnings = [line for line in log_messages(caplog, 0.5, comparison) if line.startswith("warning:")]
    assert len(warnings) == 1
    assert "every row gets the label a; the model is not better than the majority class; try another" in warnings[0]


def test_the_warning_has_the_advice_of_the_problem_type(caplog):
    lines = log_messages(caplog, 0.0, BaselineComparison({}, True, "no row gets a label", "--threshold=tuned helps"))
    check_message(lines, "--threshold=tuned")


def test_rows_with_one_label_get_no_warning(caplog):
    comparison = BaselineComparison({"majority": {"accuracy": 1.0}}, False, "", "")
    assert not any(line.startswith("warning:") for line in log_messages(caplog, 1.0, comparison))


def test_a_lower_error_is_better(caplog):
    comparison = BaselineComparison({"mean": {"rmse": 2.0}, "ridge": {"rmse": 1.0}}, True, "", "")
    assert not any(line.startswith("warning:") for line in log_messages(caplog, 1.5, comparison, "eval_rmse"))
    assert any("not better than the mean" in line for line in log_messages(caplog, 2.5, comparison, "eval_rmse"))


@pytest.mark.parametrize(("value", "warns"), [(0.4, False), (0.0, True), (-0.3, True)])
def test_a_correlation_is_compared_with_zero(caplog, value, warns):
    """The mean has no correlation with the labels, and the ridge regression is no constant."""
    comparison = BaselineComparison({"mean": {"rmse": 2.0}, "ridge": {"rmse": 1.0, "pearson": 0.9}}, True, "", "")
    lines = log_messages(caplog, value, comparison, "eval_pearson")
    assert any("not better than the mean" in line for line in lines) == warns
    check_message(lines[0], f"{value:.4f}")


@pytest.mark.parametrize(("rmse", "warns"), [(1.539, True), (1.532, True), (1.52, False)])
def test_a_regression_is_compared_with_the_error_of_the_mean(caplog, rmse, warns):
    """A model that learned nothing often has a small positive correlation."""
    caplog.set_level(logging.INFO)
    comparison = BaselineComparison({"mean": {"rmse": 1.532}, "ridge": {"rmse": 1.5}}, True, "", "", "eval_rmse")
    log_comparison("bert-classify", "eval_pearson", {"eval_pearson": 0.016, "eval_rmse": rmse}, comparison)
    warnings = [line for line in caplog.messages if line.startswith("warning:")]
    assert len(warnings) == warns
    assert not warns or f"not better than the mean (RMSE {rmse:.4g} against 1.532)" in warnings[0]


def test_a_better_linear_model_is_named_without_a_warning(caplog):
    comparison = BaselineComparison({"majority": {"micro_f1": 0.1}, "tfidf": {"micro_f1": 0.568}}, True, "", "")
    lines = log_messages(caplog, 0.259, comparison, "eval_micro_f1")
    assert lines[1:] == ["TF-IDF with logistic regression is better than the model"]


def test_the_f1_of_two_labels_names_its_label(caplog):
    caplog.set_level(logging.INFO)
    comparison = BaselineComparison({"majority": {"f1": 0.0}}, True, "", "")
    log_comparison("bert-classify", "eval_f1", {"eval_f1": 0.5}, comparison, "fake")
    check_message(caplog)


def test_loss_warning_can_have_advice_about_the_labels():
    rising = [0.70, 0.70, *[0.69] * 10, *[0.71] * 10]
    assert loss_warning(history(rising), 2, GUESS, "scale the targets").endswith("to 0.71; scale the targets")
    assert loss_warning(history([0.7, 9.0, 9.0, 9.0]), 2, GUESS, "scale the targets").endswith(
        "of guessing; scale the targets"
    )
