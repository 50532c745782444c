"""Early stopping, best/ and a run's length, decided by the history; without TensorFlow."""

import contextlib
import logging
from fractions import Fraction

import pytest

from bert_cli.base.errors import InputError
from bert_cli.outputs.history import History
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.run_directory.manifest import is_longer, schedule_start, schedule_warmup
from bert_cli.runs.callbacks.evaluation import (
    BestCheckpoint,
    BestEvaluation,
    EarlyStopping,
    EvaluationCallback,
    evaluation_interval,
)
from bert_cli.runs.callbacks.recording import HistoryCallback
from bert_cli.settings.training import read_eval_every
from bert_cli.weights.path import find_checkpoint, model_folder
from tests.snapshots import check_message, raises


def make_best(folder, values, patience=0, first_step=0, metric="accuracy"):
    """Return a BestEvaluation after evaluations at every second step."""
    history = History(str(folder), 0)
    history.open(writes=True)
    for number, value in enumerate(values, 1):
        history.add_evaluation(2 * number, {"eval_accuracy": value, "eval_loss": 1 - value})
    return BestEvaluation(f"eval_{metric}", Fraction(2), patience, first_step, history)


def settle(folder, values):
    BestCheckpoint(make_best(folder, values), engine=None, directory=RunDirectory(str(folder))).settle()


@pytest.mark.parametrize(
    ("values", "patience", "stopped"),
    [
        ([0.5, 0.6, 0.6], 2, False),
        ([0.5, 0.6, 0.6, 0.5], 2, True),
        ([0.5, 0.4], 1, True),
        ([0.5, 0.4, 0.3, 0.2], 0, False),
        ([0.5, 0.4, 0.6, 0.5], 2, False),
        ([], 1, False),
    ],
)
def test_a_run_stops_after_its_patience(tmp_path, values, patience, stopped):
    assert make_best(tmp_path, values, patience).is_stopped == stopped


def test_an_extended_run_starts_its_patience_again(tmp_path):
    assert make_best(tmp_path, [0.5, 0.4, 0.3], 2).is_stopped
    assert not make_best(tmp_path, [0.5, 0.4, 0.3], 2, first_step=6).is_stopped
    assert make_best(tmp_path, [0.5, 0.4, 0.3, 0.2, 0.1], 2, first_step=6).is_stopped


def test_the_metric_decides_the_direction(tmp_path):
    assert make_best(tmp_path, [0.3, 0.5, 0.4], metric="loss").find().step == 4
    with raises(InputError, "--metric_for_best=eval_f1: "):
        make_best(tmp_path, [0.5], metric="f1").find()


def make_best_correlation(folder, values, patience=0):
    """Return a BestEvaluation by Pearson's correlation; None stands for equal predictions."""
    history = History(str(folder), 0)
    history.open(writes=True)
    for number, value in enumerate(values, 1):
        metrics = {"eval_rmse": 1.0} if value is None else {"eval_pearson": value, "eval_rmse": 1.0}
        history.add_evaluation(2 * number, metrics)
    return BestEvaluation("eval_pearson", Fraction(2), patience, 0, history)


def test_an_undefined_correlation_is_never_the_best(tmp_path):
    assert make_best_correlation(tmp_path, [None, -0.5, None, -0.2, None]).find().step == 8
    assert make_best_correlation(tmp_path, [None, None]).find() is None


@pytest.mark.parametrize(("values", "stopped"), [([None] * 2, False), ([None] * 3, True), ([None, -0.5, None], False)])
def test_undefined_correlations_use_up_the_patience(tmp_path, values, stopped):
    assert make_best_correlation(tmp_path, values, patience=2).is_stopped == stopped


def test_a_training_without_a_defined_correlation_keeps_its_last_checkpoint(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    (tmp_path / "run.json").write_text('{"config": {}}')
    write_checkpoint(tmp_path / "best", 2)
    RunDirectory(str(tmp_path)).best.prepare()
    best = make_best_correlation(tmp_path, [None, None])
    keeper = BestCheckpoint(best, FakeEngine(), RunDirectory(str(tmp_path)))
    keeper.on_evaluation(4, {"eval_rmse": 1.0})
    keeper.settle()
    assert not keeper.has_best
    assert keeper.load() is None
    assert not (tmp_path / "best").exists()
    check_message(caplog.messages[0])
    assert "the best so far" not in caplog.text
    check_message(caplog.messages[-1])


def write_checkpoint(folder, step):
    folder.mkdir(exist_ok=True)
    for ending in ("index", "data-00000-of-00001"):
        (folder / f"model.ckpt-{step}.{ending}").write_text("")


class FakeEngine:
    """A replacement for an engine and its predictor, which computes and saves nothing."""

    is_chief = False

    def __init__(self):
        self.is_quiet = False

    @contextlib.contextmanager
    def quietly(self):
        self.is_quiet = True
        yield
        self.is_quiet = False

    def weights(self, step):
        return {"step": step}

    def set_weights(self, values):
        self.loaded = values


def test_evaluations_go_to_all_listeners_and_stop_the_training(tmp_path):
    best, engine = make_best(tmp_path, [], patience=1), FakeEngine()
    values = iter([0.5, 0.7, 0.6])
    keeper = BestCheckpoint(best, engine, RunDirectory(str(tmp_path)))
    recorder = HistoryCallback(best.history, log_steps=0, steps=8, batch_size=1, writes=True)

    def evaluate():
        assert engine.is_quiet
        return {"eval_accuracy": next(values)}

    callback = EvaluationCallback(best, evaluate, engine, [recorder, keeper, EarlyStopping(best, steps=8)])
    assert [callback.on_step(step) for step in (2, 4, 6)] == [False, False, True]
    assert best.history.evaluations == [
        (2, {"eval_accuracy": 0.5}),
        (4, {"eval_accuracy": 0.7}),
        (6, {"eval_accuracy": 0.6}),
    ]
    assert keeper.facts(keeper.load()) == {"step": 4, "metric": "eval_accuracy", "value": 0.7}
    assert engine.loaded == {"step": 4}


def test_settling_keeps_only_the_best_checkpoint(tmp_path):
    """A killed run may have left a later checkpoint, which is removed."""
    values = [0.5, 0.7, 0.6]
    with raises(InputError, "best: "):
        settle(tmp_path, values)
    for step in (2, 4, 8):
        write_checkpoint(tmp_path / "best", step)
    write_checkpoint(tmp_path, 6)
    settle(tmp_path, values)
    best = find_checkpoint(str(tmp_path))
    assert (best.folder, best.location) == (str(tmp_path / "best"), str(tmp_path / "best" / "model.ckpt-4"))
    assert sorted(path.name for path in (tmp_path / "best").glob("*.index")) == ["model.ckpt-4.index"]
    assert find_checkpoint(str(tmp_path / "model.ckpt-6")).folder == str(tmp_path)


def test_without_an_evaluation_there_is_no_best_checkpoint(tmp_path):
    write_checkpoint(tmp_path / "best", 2)
    (tmp_path / "run.json").write_text('{"config": {}}')
    RunDirectory(str(tmp_path)).best.prepare()
    RunDirectory(str(tmp_path)).best.write_choice({})
    (tmp_path / "best" / "notes.txt").write_text("mine")
    settle(tmp_path, [])
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["notes.txt"]
    assert model_folder(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize(
    "text", ['{"folder": "../best"}', '{"folder": ".."}', '{"folder": 7}', "{}", '{"folder": "/"}']
)
def test_a_best_json_with_a_path_outside_is_ignored(tmp_path, text):
    (tmp_path / "best.json").write_text(text)
    assert model_folder(str(tmp_path)) == str(tmp_path)


def test_a_missing_best_directory_is_an_error(tmp_path):
    (tmp_path / "best.json").write_text('{"folder": "run-3"}')
    with raises(InputError, "best.json: "):
        model_folder(str(tmp_path))
    (tmp_path / "run-3" / "best").mkdir(parents=True)
    (tmp_path / "run-3" / "best.json").write_text('{"folder": "best"}')
    assert model_folder(str(tmp_path)) == str(tmp_path / "run-3" / "best")


def test_intervals():
    assert evaluation_interval("epoch", 25, 4) == Fraction(25, 4)
    assert evaluation_interval("7", 0, 4) == 7
    for text in ("0", "-1", "2.5", "epochs", "1e3"):
        with raises(InputError, f"--eval_every={text}: "):
            read_eval_every(text)


@pytest.mark.parametrize(
    ("before", "steps", "done", "longer", "start"),
    [
        ({"steps": 30, "plan_from": 0}, 36, 30, True, 30),
        ({"steps": 30, "plan_from": 0}, 36, 20, False, 0),  # killed half-way
        ({"steps": 30, "plan_from": 0}, 30, 30, False, 0),
        ({"steps": 36, "plan_from": 30}, 36, 32, False, 30),  # made longer, then killed
        ({"steps": 36, "plan_from": 30}, 40, 36, True, 36),
        ({"steps": 54, "stopped_at": 28}, 72, 28, True, 28),
        ({"steps": 54, "stopped_at": 28}, 40, 28, False, 0),
        ({}, 36, 30, False, 0),  # a run.json from an older version has no length
    ],
)
def test_a_longer_run_has_a_new_schedule(before, steps, done, longer, start):
    assert is_longer(before, steps, done) == longer
    assert schedule_start(before, steps, done) == start


def test_the_warmup_keeps_its_share():
    assert schedule_warmup(3, 30, 0) == 3
    assert schedule_warmup(6, 60, 30) == 3
    assert schedule_warmup(10000, 30, 20) == 3333
