"""Main metric of a run, and its best step."""

import pytest

from bert_cli.report.main_metric import best_step, display_name, main_metric


@pytest.mark.parametrize(
    ("names", "manifest", "metric"),
    [
        (("eval_accuracy", "eval_mcc", "eval_loss"), {"task_name": "cola"}, "eval_mcc"),
        (("eval_accuracy", "eval_mcc", "eval_loss"), {}, "eval_accuracy"),
        (("eval_accuracy", "eval_f1"), {"command": "bert-tag"}, "eval_f1"),
        (("best_f1", "f1", "exact"), {"command": "bert-squad"}, "f1"),
        (("eval_accuracy", "eval_mcc"), {"metric_for_best": "eval_mcc"}, "eval_mcc"),
        (("eval_accuracy", "eval_macro_f1"), {"metric_for_best": "f1_macro"}, "eval_macro_f1"),
        ((), {"task_name": "cola"}, ""),
    ],
)
def test_main_metric(names, manifest, metric):
    assert main_metric(dict.fromkeys(names, 0.5), manifest) == metric


@pytest.mark.parametrize(
    ("metric", "label", "name"),
    [
        ("eval_f1", "spam", "F1 of spam"),
        ("eval_f1", "", "F1"),
        ("eval_macro_f1", "spam", "macro F1"),
        ("eval_accuracy", "1", "accuracy"),
    ],
)
def test_display_name(metric, label, name):
    assert display_name(metric, label) == name


def test_the_best_step():
    evaluations = [
        (10, {"eval_mcc": 0.5, "eval_loss": 0.3}),
        (20, {"eval_mcc": 0.7, "eval_loss": 0.3}),
        (30, {"eval_mcc": 0.7}),
    ]
    assert best_step(evaluations, "eval_mcc")[:2] == (20, 0.7)
    assert best_step(evaluations, "eval_loss")[:2] == (10, 0.3)
    assert best_step(evaluations, "eval_f1") is None
