"""Means, deviations and tables for several runs, checked by hand."""

import pytest

from bert_cli.outputs.sweep import (
    RunRow,
    best_row,
    defined_metric,
    format_runs_table,
    mean_and_deviation,
    metrics_of,
    write_runs_table,
)

RUNS = [
    RunRow("run-1", {"random_seed": 7}, {"eval_accuracy": 0.5, "eval_loss": 0.9, "eval_examples": 10}, {}),
    RunRow("run-2", {"random_seed": 8}, {"eval_accuracy": 0.7, "eval_loss": 0.4, "eval_examples": 10}, {}),
    RunRow("run-3", {"random_seed": 9}, {"eval_accuracy": 0.9, "eval_loss": 0.5, "eval_examples": 10}, {}),
]


def test_mean_and_standard_deviation():
    """The mean of 0.5, 0.7 and 0.9 is 0.7, and their deviation is √((0.04 + 0 + 0.04) / 2) = 0.2."""
    means, deviations = mean_and_deviation([row.metrics for row in RUNS])
    assert means == {"eval_accuracy": 0.7, "eval_loss": 0.6, "eval_examples": 10}
    assert deviations == {"eval_accuracy": 0.2, "eval_loss": pytest.approx(0.07**0.5, abs=1e-7)}
    assert mean_and_deviation([RUNS[0].metrics])[1] == {"eval_accuracy": 0.0, "eval_loss": 0.0}


def test_best():
    assert best_row(RUNS, "eval_accuracy").folder == "run-3"
    assert best_row(RUNS, "eval_loss").folder == "run-2"
    assert best_row(RUNS, "eval_examples").folder == "run-1"  # the first run wins a tie


def test_metrics_of():
    report = {"eval": {"eval_accuracy": 0.90909093618, "global_step": 5, "eval_examples": 11, "classes": {}, "x": None}}
    assert metrics_of(report) == {"eval_accuracy": 0.9090909, "eval_examples": 11}


def test_runs_tsv(tmp_path):
    write_runs_table(str(tmp_path / "runs.tsv"), RUNS, has_mean=True)
    assert (tmp_path / "runs.tsv").read_text().splitlines() == [
        "folder\trandom_seed\teval_accuracy\teval_loss\teval_examples",
        "run-1\t7\t0.5\t0.9\t10",
        "run-2\t8\t0.7\t0.4\t10",
        "run-3\t9\t0.9\t0.5\t10",
        "mean\t\t0.7\t0.6\t10",
        "std\t\t0.2\t0.2645751\t",
    ]


def test_grid_tsv_with_several_runs_per_cell(tmp_path):
    rows = [
        RunRow("grid-a", {"learning_rate": 5e-5, "num_train_epochs": 2.0}, {"f1": 80.0, "total": 9}, {"f1": 1.5}),
        RunRow("grid-b", {"learning_rate": 3e-5, "num_train_epochs": 2.0}, {"f1": 81.0, "total": 9}, {"f1": 0.5}),
    ]
    write_runs_table(str(tmp_path / "grid.tsv"), rows, has_mean=False)
    assert (tmp_path / "grid.tsv").read_text().splitlines() == [
        "folder\tlearning_rate\tnum_train_epochs\tf1\tf1_std\ttotal",
        "grid-a\t5e-05\t2.0\t80.0\t1.5\t9",
        "grid-b\t3e-05\t2.0\t81.0\t0.5\t9",
    ]
    assert [line.split() for line in format_runs_table(rows, "f1", "grid-b", has_mean=False)] == [
        ["folder", "learning_rate", "f1"],
        ["grid-a", "5e-05", "80.0000", "±", "1.5000"],
        ["grid-b", "*", "3e-05", "81.0000", "±", "0.5000"],
    ]


def test_a_metric_that_a_run_lacks_is_omitted(tmp_path):
    """A fold's held-out part may, for example, not contain an entity type."""
    rows = [RunRow("fold-1", {}, {"f1": 80.0, "f1_x": 1.0}, {}), RunRow("fold-2", {}, {"f1": 82.0}, {})]
    write_runs_table(str(tmp_path / "folds.tsv"), rows, has_mean=True)
    assert (tmp_path / "folds.tsv").read_text().splitlines()[:2] == ["folder\tf1", "fold-1\t80.0"]
    lines = [line.split() for line in format_runs_table(rows, "f1", None, has_mean=True)]
    assert lines[0] == ["folder", "f1"]
    assert lines[-1][-3:] == ["81.0000", "±", "1.4142"]


def test_a_run_without_the_main_metric_is_never_the_best(tmp_path):
    """Equal predictions have no correlation, which ranks below a negative one."""
    rows = [
        RunRow("run-1", {"random_seed": 1}, {"eval_rmse": 0.1}, {}),
        RunRow("run-2", {"random_seed": 2}, {"eval_pearson": -0.25, "eval_rmse": 2.0}, {}),
        RunRow("run-3", {"random_seed": 3}, {"eval_pearson": -0.5, "eval_rmse": 1.0}, {}),
    ]
    assert defined_metric(rows, "eval_pearson") == "eval_pearson"
    assert defined_metric(rows[:1], "eval_pearson") == "eval_rmse"
    assert best_row(rows, "eval_pearson").folder == "run-2"
    lines = [line.split() for line in format_runs_table(rows, "eval_pearson", "run-2", has_mean=True)]
    assert lines[0] == ["folder", "random_seed", "eval_pearson", "eval_rmse"]
    assert lines[1] == ["run-1", "1", "undefined", "0.1000"]
    assert lines[-1][-4:] == ["undefined", "1.0333", "±", "0.9504"]
    write_runs_table(str(tmp_path / "runs.tsv"), rows, has_mean=False, metric="eval_pearson")
    assert (tmp_path / "runs.tsv").read_text().splitlines()[:2] == [
        "folder\trandom_seed\teval_rmse\teval_pearson",
        "run-1\t1\t0.1\t",
    ]


def test_a_diverged_run_is_only_listed(tmp_path):
    rows = [
        RunRow("a", {"learning_rate": 9.0}, {}, {}),
        *(run._replace(settings={"learning_rate": 1.0}) for run in RUNS),
    ]
    write_runs_table(str(tmp_path / "grid.tsv"), rows, has_mean=True)
    header, first, *remaining = [line.split("\t") for line in (tmp_path / "grid.tsv").read_text().splitlines()]
    assert first == ["a", "9.0", *[""] * (len(header) - 2)]
    write_runs_table(str(tmp_path / "without.tsv"), rows[1:], has_mean=True)
    assert remaining == [line.split("\t") for line in (tmp_path / "without.tsv").read_text().splitlines()][1:]
    metric = next(iter(RUNS[0].metrics))
    assert best_row(rows, metric) == best_row(rows[1:], metric)
    shown = format_runs_table(rows, metric, None, has_mean=True)
    assert shown[1].split() == ["a", "9", "diverged"]
