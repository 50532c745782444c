"""Main metric of a run, and its best step."""

import json

import pytest

from bert_cli.report.main_metric import baseline_tiles, best_step, display_name, main_metric
from bert_cli.report.page import run_page
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.report.reader import Reader


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


def test_baselines_are_next_to_the_result(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    baselines = {"majority": {"accuracy": 0.5}, "tfidf": {"accuracy": 0.625, "mcc": float("nan")}}
    folders.write(
        folder, "run_report.json", json.loads((folder / "run_report.json").read_text()) | {"baselines": baselines}
    )
    text = Reader(run_page(read_run(str(folder)))).text
    head = text.partition("Training")[0].rpartition("}")[2]
    for expected in ("0.7500", "0.5000", "the majority class", "0.6250", "TF-IDF with logistic regression"):
        assert expected in head
    assert "1 min 15 s" not in head  # the tiles are for the result


def test_an_undefined_metric_has_no_tile(tmp_path):
    """A constant prediction has no correlation."""
    folder = folders.one_label(tmp_path / "run")
    report = json.loads((folder / "run_report.json").read_text()) | {
        "baselines": {"majority": {"mcc": None}, "tfidf": {}}
    }
    folders.write(folder, "run_report.json", report)
    assert baseline_tiles([read_run(str(folder))], "eval_mcc") == []
    assert baseline_tiles([], "eval_mcc") == []
