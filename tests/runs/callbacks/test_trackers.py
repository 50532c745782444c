"""Trackers of --report_to: the real packages if they are installed, and a server that stops answering."""

import http.server
import importlib.util
import json
import pathlib
import threading
import urllib.request

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.outputs.history import History
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.callbacks import services, trackers
from bert_cli.runs.callbacks.observers import ObserverCallback, end_observers
from bert_cli.runs.callbacks.recording import HistoryCallback
from bert_cli.runs.callbacks.services import TrackingService
from bert_cli.runs.callbacks.sweep_trackers import SweepTrackers, make_trackers
from bert_cli.runs.callbacks.trackers import check_trackers
from bert_cli.runtime.signals import Stopped
from bert_cli.settings.training import Saving, read_trackers
from tests.snapshots import check_message, raises

FLAGS = {"learning_rate": "0.0001", "train_batch_size": "8"}
METRICS = {"eval_accuracy": 0.875, "eval_loss": 0.25, "loss": 0.26}
REPORT = {
    "global_step": 4, "train_seconds": 2.5, "eval": {**METRICS, "global_step": 4, "confusion_matrix": [[1]]},
    "baselines": {"majority": {"accuracy": 0.5, "pearson": None}}, "train_data_digest": "abcd", "versions": {"bert_cli": "1"},
}  # fmt: skip


def saving(name: str, report_model: bool = False) -> Saving:
    return Saving(1000, 5, "newest", 0, False, (name,), report_model)


def track(name, folder, parents=None, is_resumed=False, report_model=False):
    """Send a run with 4 steps and an evaluation, like the driver."""
    folder.mkdir(exist_ok=True, parents=True)
    history = History(str(folder), 0)
    directory = RunDirectory(str(folder))
    (tracker,) = make_trackers(saving(name, report_model), directory, FLAGS, parents, is_resumed, history.entries)
    with tracker:
        tracker.open()
        train(tracker, history)
    end_observers([tracker], REPORT)


def train(tracker, history, steps=4):
    recorders = [HistoryCallback(history, 1, steps, 8, writes=True), ObserverCallback([tracker], history, steps)]
    for recorder in recorders:
        recorder.on_start()
    for step in range(1, steps + 1):
        for recorder in recorders:
            recorder.on_log(step, 1 / step, 1e-4)
    for recorder in recorders:
        recorder.on_evaluation(steps, METRICS)


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    module = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    module.set_tracking_uri((tmp_path / "mlruns").as_uri())
    return module


def test_mlflow(tmp_path, mlflow):
    folder = tmp_path / "out"
    track("mlflow", folder)
    track("mlflow", folder, is_resumed=True)
    assert mlflow.active_run() is None
    client = mlflow.MlflowClient()
    (run,) = client.search_runs(["0"])  # the resumed run is the same
    assert run.data.params == FLAGS
    assert run.data.metrics["eval_loss"] == 0.25
    assert run.data.metrics["final_eval_accuracy"] == 0.875
    assert run.data.metrics["baseline_majority_accuracy"] == 0.5
    assert "loss" not in run.data.metrics
    assert run.data.tags["train_data_digest"] == "abcd"
    points = client.get_metric_history(run.info.run_id, "train_loss")
    assert [(point.step, point.value) for point in points] == [(1, 1.0), (2, 0.5), (3, pytest.approx(1 / 3)), (4, 0.25)]
    assert "history.jsonl" in [file.path for file in client.list_artifacts(run.info.run_id)]


def test_mlflow_has_a_run_per_sweep(tmp_path, mlflow):
    outer = SweepTrackers(saving("mlflow"), RunDirectory(str(tmp_path)), FLAGS)
    with outer, SweepTrackers(saving("mlflow"), RunDirectory(str(tmp_path / "cell")), FLAGS, outer) as cell:
        for name in ("run-1", "run-2"):
            track("mlflow", tmp_path / "cell" / name, cell)
        cell.end({"std": {"eval_accuracy": 0.1}})
    outer.end(REPORT)
    runs = {pathlib.Path(run.info.run_name).name: run for run in mlflow.MlflowClient().search_runs(["0"])}
    assert len(runs) == 4
    parents = {name: run.data.tags.get("mlflow.parentRunId") for name, run in runs.items()}
    cell_id = runs["cell"].info.run_id
    assert parents == {
        tmp_path.name: None, "cell": runs[tmp_path.name].info.run_id, "run-1": cell_id, "run-2": cell_id,
    }  # fmt: skip
    assert {run.info.status for run in runs.values()} == {"FINISHED"}


def test_wandb(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    track("wandb", tmp_path / "out")
    (log,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    content = log.read_bytes()
    assert b"train_loss" in content
    assert b"final_eval_accuracy" in content


class Server:
    """HTTP server that keeps all requests, and may be stopped and started again at the same port."""

    def __init__(self):
        self.received: list[list] = []
        self.port = 0
        self.start()

    def start(self):
        received = self.received

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format, *args):
                """Do not print."""

        self._server = http.server.HTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class HttpService(TrackingService):
    """Service that posts JSON to a server, as MLflow's client does."""

    name, can_add_earlier_steps, server = "mlflow", True, None

    @property
    def address(self):
        return f"http://user:secret@127.0.0.1:{self.server.port}"

    def _post(self, *content):
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.port}", json.dumps(content).encode())
        try:
            urllib.request.urlopen(request, timeout=5).close()
        except OSError as error:
            raise ConnectionError(str(error)) from error

    def start(self, run):
        self._post("start", run.known_id)
        return "id-1"

    def log(self, step, metrics):
        self._post("log", step, sorted(metrics))

    def send_results(self, numbers, tags):
        self._post("results", sorted(numbers), dict(tags))

    def send_files(self, paths, directory):
        self._post("files", [pathlib.Path(path).name for path in paths], directory)

    def finish(self, status):
        self._post("finish", status)


@pytest.fixture
def server(monkeypatch):
    running = Server()
    monkeypatch.setattr(HttpService, "server", running)
    monkeypatch.setitem(services.SERVICES, "mlflow", HttpService)
    yield running
    running.stop()


def opened(folder):
    """Return a tracker of a new run, opened, and the run's history."""
    folder.mkdir()
    history = History(str(folder), 0)
    (tracker,) = make_trackers(saving("mlflow"), RunDirectory(str(folder)), FLAGS, None, False, history.entries)
    tracker.open()
    return tracker, history


def test_what_is_sent_and_under_which_names(server, tmp_path):
    (tmp_path / "out" / "best").mkdir(parents=True)
    for name in ("report.html", "best/model.ckpt-4.index", "best/model.ckpt-4.data-00000-of-00001", "best/vocab.txt"):
        (tmp_path / "out" / name).write_text("", encoding="utf-8")
    (tmp_path / "out" / "best" / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-4"\n', encoding="utf-8")
    (tmp_path / "out" / "best.json").write_text('{"folder": "best"}', encoding="utf-8")
    track("mlflow", tmp_path / "out", report_model=True)
    training = ["learning_rate", "train_examples_per_second", "train_loss"]
    assert server.received == [
        ["start", ""],
        *(["log", step, training] for step in (1, 2, 3, 4)),
        ["log", 4, ["eval_accuracy", "eval_loss"]],
        [
            "results",
            [
                "baseline_majority_accuracy", "final_eval_accuracy", "final_eval_loss", "final_global_step",
                "final_train_seconds",
            ],
            {"train_data_digest": "abcd", "bert_cli_version": "1"},
        ],
        ["files", ["report.html", "history.jsonl", "best.json"], ""],
        ["files", ["model.ckpt-4.data-00000-of-00001", "model.ckpt-4.index", "vocab.txt"], "model"],
        ["finish", "FINISHED"],
    ]  # fmt: skip
    assert json.loads((tmp_path / "out" / "trackers.json").read_text("utf-8")) == {"mlflow": "id-1"}
    track("mlflow", tmp_path / "out", is_resumed=True)
    assert server.received.count(["start", "id-1"]) == 1


def test_a_server_that_does_not_answer_at_the_start_refuses_the_run(server, tmp_path):
    server.stop()
    with pytest.raises(
        InputError, match=r"^--report_to=mlflow: http://127.0.0.1:\d+ does not answer; start the server, "
    ):
        opened(tmp_path / "out")
    server.start()


def test_a_server_that_stops_for_good_is_one_warning_and_the_steps_are_named(server, tmp_path, caplog):
    tracker, history = opened(tmp_path / "out")
    server.stop()
    train(tracker, history)
    end_observers([tracker], REPORT)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 2
    assert "does not answer; the run goes on, and what is missing is sent later" in warnings[0]
    assert "the numbers of steps 1 to 4 were not sent; history.jsonl has them" in warnings[1]
    assert "secret" not in caplog.text
    server.start()


def test_a_server_that_comes_back_gets_what_it_missed(server, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(trackers, "_FIRST_DELAY", 0.0)
    caplog.set_level("INFO", logger=LOG.name)
    tracker, history = opened(tmp_path / "out")
    server.stop()
    train(tracker, history)
    server.start()
    end_observers([tracker], REPORT)
    assert [content[1] for content in server.received if content[0] == "log"] == [1, 2, 3, 4, 4]
    assert server.received[-1] == ["finish", "FINISHED"]
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    assert "answers again" in caplog.text


def test_a_server_that_is_gone_is_not_asked_at_each_step(server, tmp_path, monkeypatch):
    tracker, history = opened(tmp_path / "out")
    attempts = []

    def log(service, step, metrics):
        attempts.append(step)
        raise ConnectionError("gone")

    monkeypatch.setattr(HttpService, "log", log)
    train(tracker, history, steps=50)
    assert attempts == [1]


def test_later_runs_of_a_sweep_go_on_without_the_server(server, tmp_path, caplog):
    sweep = SweepTrackers(saving("mlflow"), RunDirectory(str(tmp_path)), FLAGS)
    track("mlflow", tmp_path / "run-1", sweep)
    server.stop()
    track("mlflow", tmp_path / "run-2", sweep)
    check_message(caplog)
    server.start()
    sweep.end(REPORT)
    assert server.received[-1] == ["finish", "FINISHED"]


@pytest.mark.parametrize(("error", "status"), [(LookupError("a bug"), "FAILED"), (Stopped(15), "KILLED")])
def test_a_training_that_ends_with_an_error_ends_its_run(server, tmp_path, error, status):
    tracker, _ = opened(tmp_path / "out")
    with pytest.raises(type(error)), tracker:
        raise error
    assert server.received == [["start", ""], ["finish", status]]


def test_labels_in_names_of_metrics_have_plain_characters(server, tmp_path):
    tracker, _ = opened(tmp_path / "out")
    tracker.on_evaluate(1, {"eval_f1_R&D": 1.0, "eval_f1_Öl": 0.5, "loss": 0.25, "global_step": 1})
    assert server.received[-1] == ["log", 1, ["eval_f1_R_D", "eval_f1_Öl", "eval_loss"]]


@pytest.mark.parametrize(
    ("text", "names"),
    [("", ()), ("none", ()), ("mlflow", ("mlflow",)), ("wandb, mlflow,wandb", ("wandb", "mlflow"))],
)
def test_names(text, names):
    assert read_trackers(text) == names


@pytest.mark.parametrize("text", ["tensorboard", "comet"])
def test_other_names_are_refused(text):
    with raises(InputError, f"--report_to={text}: "):
        read_trackers(text)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    check_trackers([])
    with raises(InputError, "--report_to=wandb needs"):
        check_trackers(["wandb"])
