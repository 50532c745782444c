"""Trackers of --report_to, with the real packages if they are installed."""

import pathlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.outputs.history import History
from bert_cli.runs.callbacks import trackers
from bert_cli.runs.callbacks.observers import Observation
from bert_cli.runs.callbacks.recording import HistoryCallback
from bert_cli.runs.callbacks.trackers import check_trackers, make_trackers
from bert_cli.settings.training import read_trackers

FLAGS = {"learning_rate": "0.0001", "train_batch_size": "8"}


def track(name: str, folder: pathlib.Path) -> None:
    """Send the history of a run with 4 steps and an evaluation."""
    observers = make_trackers([name], str(folder), FLAGS)
    history = History(str(folder), 0)
    recorders = [HistoryCallback(history, 2, 4, 8, writes=False), Observation(observers, history, 4)]
    for recorder in recorders:
        recorder.on_start()
    for step, loss in ((2, 0.75), (4, 0.5)):
        for recorder in recorders:
            recorder.on_log(step, loss, 1e-4)
    for recorder in recorders:
        recorder.on_evaluation(4, {"eval_accuracy": 0.875})
    observers[0].on_end({"global_step": 4})


def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    track("mlflow", tmp_path / "out")
    assert mlflow.active_run() is None
    run = mlflow.MlflowClient().get_run(mlflow.last_active_run().info.run_id)
    assert run.data.params == FLAGS
    assert run.data.metrics["loss"] == 0.5
    assert run.data.metrics["eval_accuracy"] == 0.875
    points = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
    assert [(point.step, point.value) for point in points] == [(2, 0.75), (4, 0.5)]


def test_wandb(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    track("wandb", tmp_path / "out")
    (log,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    content = log.read_bytes()
    assert b"learning_rate" in content
    assert b"eval_accuracy" in content


@pytest.mark.parametrize(
    ("text", "names"),
    [("", ()), ("none", ()), ("mlflow", ("mlflow",)), ("wandb, mlflow,wandb", ("wandb", "mlflow"))],
)
def test_names(text, names):
    assert read_trackers(text) == names


@pytest.mark.parametrize(
    ("text", "advice"),
    [("tensorboard", "--tensorboard writes the history for TensorBoard"), ("comet", "mlflow, wandb")],
)
def test_other_names_are_refused(text, advice):
    with pytest.raises(InputError, match=f"--report_to={text}: {text} is none of .*{advice}"):
        read_trackers(text)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(trackers.importlib.util, "find_spec", lambda name: None)
    check_trackers([])
    with pytest.raises(InputError, match="--report_to=wandb: needs the package wandb; pip install"):
        check_trackers(["wandb"])
