"""One line of warning for a training that learned nothing, and none for one that did."""

import logging
import math

import pytest

from bert_cli.runs.learning_checks import log_comparison, loss_warning
from bert_cli.runs.tasks.interface import Comparison

GUESS = math.log(2)


def history(losses, metrics=None):
    lines = [{"step": step, "loss": loss} for step, loss in enumerate(losses, 1)]
    return [*lines, {"step": len(losses), "metrics": metrics or {}}]


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ([0.70, 0.70, *[0.69] * 10, *[0.71] * 10], "has not fallen after the warm-up: from 0.69 to 0.71"),
        ([*[0.7] * 10, *[0.6] * 10], ""),
        ([*[0.3] * 10, *[0.31] * 10], ""),  # learned during the warm-up, or before this run
        ([0.69, 0.69, 0.7, 0.7, 0.71], ""),  # too few to tell
        ([0.7, 9.0, 9.0, 9.0], "the loss ends at 9, far above the 0.6931 of guessing"),
        ([0.7], ""),
        ([], ""),
    ],
)
def test_loss_doubt(losses, said):
    found = loss_warning(history(losses), 2, GUESS)
    assert said in found if said else found == ""


def test_loss_doubt_looks_behind_the_warmup():
    """A rise of the loss while the rate rises is no doubt."""
    losses = [*[0.6] * 10, *[0.72] * 8, *[0.66] * 8]
    assert loss_warning(history(losses), 10, GUESS) == ""
    assert "has not fallen" in loss_warning(history(losses), 0, GUESS)


def logged(caplog, value, compared, metric="eval_accuracy"):
    caplog.clear()
    caplog.set_level(logging.INFO)
    log_comparison("bert-classify", metric, {metric: value}, compared)
    return caplog.messages


def test_log_comparison_of_a_model_that_learned(caplog):
    compared = Comparison({"majority": {"accuracy": 0.5}, "tfidf": {"accuracy": 0.75}}, True, "", "")
    assert logged(caplog, 0.9, compared) == [
        "accuracy: the model 0.9000, the majority class 0.5000, TF-IDF with logistic regression 0.7500"
    ]


def test_log_comparison_warns_once(caplog):
    compared = Comparison({"majority": {"accuracy": 0.5}}, True, "every row gets the label a", "")
    warnings = [line for line in logged(caplog, 0.5, compared) if line.startswith("warning:")]
    assert len(warnings) == 1
    assert "every row gets the label a; the model is not better than the majority class; try another" in warnings[0]


def test_log_comparison_has_the_advice_of_the_problem_type(caplog):
    lines = logged(caplog, 0.0, Comparison({}, True, "no row gets a label", "--threshold=tuned helps"))
    assert lines == ["warning: no row gets a label; --threshold=tuned helps"]


def test_log_comparison_of_rows_with_one_label_warns_of_nothing(caplog):
    compared = Comparison({"majority": {"accuracy": 1.0}}, False, "", "")
    assert not any(line.startswith("warning:") for line in logged(caplog, 1.0, compared))


def test_log_comparison_of_an_error_is_better_where_it_is_less(caplog):
    compared = Comparison({"mean": {"rmse": 2.0}, "ridge": {"rmse": 1.0}}, True, "", "")
    assert not any(line.startswith("warning:") for line in logged(caplog, 1.5, compared, "eval_rmse"))
    assert any("not better than the mean" in line for line in logged(caplog, 2.5, compared, "eval_rmse"))


@pytest.mark.parametrize(("value", "warns"), [(0.4, False), (0.0, True), (-0.3, True)])
def test_a_correlation_is_compared_with_that_of_no_connection(caplog, value, warns):
    """The mean has no correlation with the labels, and the ridge regression is no constant."""
    compared = Comparison({"mean": {"rmse": 2.0}, "ridge": {"rmse": 1.0, "pearson": 0.9}}, True, "", "")
    lines = logged(caplog, value, compared, "eval_pearson")
    assert any("not better than the mean" in line for line in lines) == warns
    assert lines[0] == f"Pearson's correlation: the model {value:.4f}, TF-IDF with ridge regression 0.9000"


def test_the_losses_have_the_advice_about_the_labels():
    rising = [0.70, 0.70, *[0.69] * 10, *[0.71] * 10]
    assert loss_warning(history(rising), 2, GUESS, "scale the targets").endswith("to 0.71; scale the targets")
    assert loss_warning(history([0.7, 9.0, 9.0, 9.0]), 2, GUESS, "scale the targets").endswith(
        "of guessing; scale the targets"
    )
