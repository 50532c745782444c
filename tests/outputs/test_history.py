"""history.jsonl: its lines, and truncation if a run resumes."""

import json

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.outputs.history import History, logging_intervals, read_history


def steps(folder):
    return [(entry["step"], "metrics" in entry) for entry in read_history(str(folder))]


@pytest.fixture
def history(tmp_path):
    history = History(str(tmp_path), 0)
    history.open(writes=True)
    history.add_training(10, 0.123456789, 5e-05, 32)
    history.add_evaluation(10, {"eval_accuracy": np.float32(0.9), "eval_examples": 11})
    history.add_training(20, 0.5, 0.0, 32)
    history.add_evaluation(20, {"eval_accuracy": np.float32(0.8), "eval_examples": 11})
    return history


def test_lines(history, tmp_path):
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [list(line) for line in lines[:2]] == [
        ["step", "loss", "learning_rate", "examples_per_second", "seconds"],
        ["step", "metrics", "seconds"],
    ]
    assert lines[0] | {"examples_per_second": 0, "seconds": 0} == {
        "step": 10, "loss": 0.1234568, "learning_rate": 5e-05, "examples_per_second": 0, "seconds": 0,
    }  # fmt: skip
    assert lines[0]["examples_per_second"] > 0
    assert lines[1]["metrics"] == {"eval_accuracy": 0.9, "eval_examples": 11}
    assert history.evaluations == [(10, lines[1]["metrics"]), (20, lines[3]["metrics"])]


@pytest.mark.parametrize(
    ("log_steps", "steps", "intervals"),
    [
        (0, 10_000, (100, 100)),
        (0, 2_500, (100, 100)),
        (0, 2_499, (100, 50)),
        (0, 999, (50, 25)),
        (0, 62, (4, 2)),
        (0, 9, (1, 1)),
        (0, 150, (10, 5)),
        (0, 20, (2, 1)),
        (3, 6, (3, 3)),
    ],
)
def test_intervals_of_short_trainings(log_steps, steps, intervals):
    assert logging_intervals(log_steps, steps) == intervals


def test_a_step_is_evaluated_once(history, tmp_path):
    history.add_evaluation(20, {"eval_accuracy": 0.1})
    assert steps(tmp_path) == [(10, False), (10, True), (20, False), (20, True)]
    assert history.evaluations[-1][1]["eval_accuracy"] == 0.8


def test_a_resumed_run_truncates_the_history(history, tmp_path):
    """An incomplete line, which a killed run left, is ignored."""
    path = tmp_path / "history.jsonl"
    path.write_text(path.read_text() + '{"step": 25, "lo')
    resumed = History(str(tmp_path), 19)
    assert path.read_text().endswith('"lo')  # `open` makes the first change
    resumed.open(writes=True)
    assert steps(tmp_path) == [(10, False), (10, True)]
    before = resumed.entries[-1]["seconds"]
    resumed.add_training(20, 0.5, 0.0, 32)
    assert steps(tmp_path) == [(10, False), (10, True), (20, False)]
    assert resumed.entries[-1]["seconds"] >= before  # seconds continue


def test_a_new_run_starts_an_empty_history(history, tmp_path):
    History(str(tmp_path), 0).open(writes=True)
    assert (tmp_path / "history.jsonl").read_text() == ""


def test_only_the_chief_writes(tmp_path):
    history = History(str(tmp_path), 0)
    history.open(writes=False)
    history.add_evaluation(5, {"loss": 1.0})
    assert history.evaluations == [(5, {"loss": 1.0})]
    assert list(tmp_path.iterdir()) == []


def test_pauses_do_not_count_for_the_rate(tmp_path, monkeypatch):
    clock = iter([0.0, 0.0, 1.0, 9.0, 10.0, 10.0])  # constructed, opened, a pause from 1 to 9, the line and its seconds
    monkeypatch.setattr("bert_cli.outputs.history.time.monotonic", lambda: next(clock))
    history = History(str(tmp_path), 0)
    history.open(writes=True)
    with history.pausing():
        pass
    history.add_training(4, 1.0, 0.1, 8)
    assert history.paused == 8.0
    assert history.entries[0]["examples_per_second"] == 16.0  # 4 · 8 examples in 2 of 10 seconds
    assert history.entries[0]["seconds"] == 10.0


@pytest.mark.parametrize(
    ("line", "message"), [("mine", "is not JSON"), ('{"a": 1}', 'has no "step"'), ("[]", "an object is needed")]
)
def test_a_damaged_line_is_reported(history, tmp_path, line, message):
    path = tmp_path / "history.jsonl"
    path.write_text(f"{path.read_text().splitlines()[0]}\n{line}\n")
    with pytest.raises(InputError, match=rf"history\.jsonl:2: .*{message}"):
        History(str(tmp_path), 20)
