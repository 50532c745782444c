"""Learning curves: means and deviations by hand, in the file and in the log."""

import math

import pytest

from bert_cli.outputs.learning_curve import MeanAndDeviation, curve_point, format_curve, write_curve


def run_report(score, baseline=None):
    baselines = {} if baseline is None else {"tfidf": {"accuracy": baseline}}
    return {"eval": {"eval_accuracy": score}, "baselines": baselines}


def test_points_by_hand(tmp_path):
    reports = [run_report(0.5, 0.4), run_report(0.7, math.nan)]
    point = curve_point({"rows_per_label": 8}, reports, "eval_accuracy")
    assert (point.runs, point.score.mean, point.baseline) == (2, pytest.approx(0.6), MeanAndDeviation(0.4, 0.0))
    assert point.score.deviation == pytest.approx(math.sqrt(0.02))
    alone = curve_point({"rows_per_label": 16}, [run_report(0.75)], "eval_accuracy")
    assert (alone.score, alone.baseline) == (MeanAndDeviation(0.75, 0.0), None)
    path = tmp_path / "learning_curve.tsv"
    write_curve(str(path), [point, alone], "eval_accuracy")
    assert path.read_text("utf-8").splitlines() == [
        "rows_per_label\truns\teval_accuracy\teval_accuracy_std\ttfidf_eval_accuracy\ttfidf_eval_accuracy_std",
        "8\t2\t0.6\t0.1414214\t0.4\t0",
        "16\t1\t0.75\t0\t\t",
    ]
    assert [line.split() for line in format_curve([point, alone], "eval_accuracy")] == [
        ["rows_per_label", "eval_accuracy", "TF-IDF"],
        ["8", "0.6000", "±", "0.1414", "0.4000", "±", "0.0000"],
        ["16", "0.7500", "±", "0.0000"],
    ]


def test_runs_without_the_metric_are_no_point():
    assert curve_point({}, [{"eval": {}}, {}], "eval_accuracy") is None
