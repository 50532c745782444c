"""Reading a run's directory for a report."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.snapshots import raises


def test_a_finished_run(tmp_path):
    run = read_run(str(folders.one_label(tmp_path / "run-1")))
    assert (run.name, run.command, run.data_set) == ("run-1", "bert-classify", "run-1")
    assert run.flags == {"max_seq_length": "32", "null_score_diff_threshold": "0.0"}
    assert run.results == {"eval_accuracy": 0.75, "eval_mcc": 0.577, "eval_loss": 0.6, "loss": 0.6}
    assert run.series("learning_rate")[0] == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    steps, values = run.metric_values("eval_accuracy")
    assert steps == [30, 60, 90]
    assert values == pytest.approx([0.6, 0.9, 0.6])
    assert len(run.examples.rows) == 4


def test_an_unfinished_run_has_only_run_json(tmp_path):
    folders.write(tmp_path, "run.json", {"command": "bert-tag", "config": {}})
    run = read_run(str(tmp_path))
    assert (run.report, run.flags, run.results, run.history, run.evaluations, run.examples) == (
        {},
        {},
        {},
        [],
        [],
        None,
    )


@pytest.mark.parametrize(
    ("flags", "task", "expected"),
    [
        ("--train_file=/a/train.csv", "cola", "train.csv"),
        ("--input_file=/a/b.txt", "", "b.txt"),
        ("--data_dir=/a/CoLA/", "cola", "cola"),
        ("--data_dir=/a/data/", "unknown", "data"),
        ("", "", "run"),
    ],
)
def test_the_data_set_has_the_most_specific_name(tmp_path, flags, task, expected):
    folder = tmp_path / "run"
    folder.mkdir()
    folders.write(folder, "run.json", {"config": {}, "task_name": task})
    folders.write(folder, "flags.txt", f"{flags}\n")
    assert read_run(str(folder)).data_set == expected


def test_numbers_in_results(tmp_path):
    folders.write(tmp_path, "run.json", {"config": {}})
    folders.write(tmp_path, "eval_results.txt", "a = 3\nb = 3.0\nc = text\nd = 1e-3\n")
    results = read_run(str(tmp_path)).results
    assert results == {"a": 3, "b": 3.0, "d": 0.001}
    assert [type(value) for value in results.values()] == [int, float, float]


def test_the_positive_label_and_the_best_step(tmp_path):
    folders.write(tmp_path, "run.json", {"config": {}})
    assert (read_run(str(tmp_path)).positive_label, read_run(str(tmp_path)).best) == ("", None)
    folders.write(tmp_path, "run_report.json", {"positive_label": "1"})
    folders.write(tmp_path, "best.json", {"folder": "best", "step": 9, "metric": "loss", "value": 0.5})
    run = read_run(str(tmp_path))
    assert (run.positive_label, run.best) == ("1", (9, "loss", 0.5))
    # The best run of several has no step.
    folders.write(tmp_path, "best.json", {"folder": "run-1", "metric": "loss", "value": 0.5})
    assert read_run(str(tmp_path)).best is None


def test_other_directories_are_refused(tmp_path):
    with raises(InputError, "/missing: "):
        read_run(str(tmp_path / "missing"))
    with raises(InputError):
        read_run(str(tmp_path))
    folders.write(tmp_path, "run.json", {"config": None})
    with raises(InputError, "run.json: "):
        read_run(str(tmp_path))
