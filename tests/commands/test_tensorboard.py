"""--tensorboard: the event file has the scalars of history.jsonl, also after resuming."""

import json
import pathlib
import time

import pytest

from bert_cli.base.names import EVENTS
from bert_cli.outputs.history import History, read_history
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.callbacks.recording import HistoryCallback, TensorBoardCallback

TRAINING = {"training/loss", "training/learning_rate", "training/examples_per_second"}


def events(folder: pathlib.Path) -> list:
    """Return the events in a directory, read by TensorFlow."""
    import tensorflow as tf

    records = tf.data.TFRecordDataset(str(folder / EVENTS)).as_numpy_iterator()
    return [tf.compat.v1.Event.FromString(record) for record in records]


def scalars(folder: pathlib.Path) -> list[tuple[int, dict[str, float]]]:
    first, *other_events = events(folder)
    assert first.file_version == "brain.Event:2"
    return [(event.step, {value.tag: value.simple_value for value in event.summary.value}) for event in other_events]


def start(folder, step):
    """Return both recorders of a run that starts or resumes at a step of 20, with batches of 32."""
    history = History(str(folder), step)
    recorders = [
        HistoryCallback(history, 10, 20, 32, writes=True),
        TensorBoardCallback(RunDirectory(str(folder)), history),
    ]
    for recorder in recorders:
        recorder.on_start()
    return recorders


@pytest.fixture(scope="module")
def twice(tmp_path_factory) -> pathlib.Path:
    """A directory with a history that reached step 20 and was resumed from step 10."""
    folder = tmp_path_factory.mktemp("run")
    recorders = start(folder, 0)
    for recorder in recorders:
        recorder.on_log(10, 0.75, 5e-4)
        recorder.on_evaluation(10, {"eval_accuracy": 0.5})
        recorder.on_log(15, 77.0, 5e-4)  # only the progress bar shows it
        recorder.on_log(20, 99.0, 5e-4)
    assert [step for step, _ in scalars(folder)] == [10, 10, 20]
    for recorder in start(folder, 10):
        recorder.on_log(20, 0.25, 2.5e-4)
    return folder


def test_scalars_equal_the_history(twice):
    (loss_step, loss), (metrics_step, metrics), (last, after) = scalars(twice)
    assert (loss_step, metrics_step, last) == (10, 10, 20)
    assert loss.keys() == after.keys() == TRAINING
    assert (loss["training/loss"], after["training/loss"]) == (0.75, 0.25)
    assert metrics == {"evaluation/eval_accuracy": 0.5}
    told = [entry["seconds"] for entry in read_history(str(twice))]
    times = [event.wall_time for event in events(twice)]
    assert [later - times[0] for later in times[1:]] == pytest.approx(told, abs=1e-3)
    assert abs(times[-1] - time.time()) < 60


def test_a_process_that_is_not_the_chief_writes_no_history(tmp_path):
    recorder = HistoryCallback(History(str(tmp_path), 0), 10, 20, 32, writes=False)
    recorder.on_start()
    recorder.on_log(10, 0.5, 1e-3)
    assert list(tmp_path.iterdir()) == []


def test_tensorboard_reads_the_events(twice):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    accumulated = accumulator.EventAccumulator(str(twice)).Reload()
    assert set(accumulated.Tags()["scalars"]) == TRAINING | {"evaluation/eval_accuracy"}
    assert [(event.step, event.value) for event in accumulated.Scalars("training/loss")] == [(10, 0.75), (20, 0.25)]


@pytest.mark.slow
def test_run_writes_and_owns_the_event_file(classify, flags, tmp_path):
    """The package tensorboard is not needed; a restarted run without the flag removes the file."""
    out = tmp_path / "out"
    short = [*flags, "--num_train_epochs=1", "--log_steps=3", f"--output_dir={out}", "--do_train", "--do_eval"]
    done = classify(*short, "--tensorboard")
    assert done.code == 0, done.err
    expected = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    actual = scalars(out)
    assert [step for step, _ in actual] == [entry["step"] for entry in expected] == [3, 6, 6]
    assert actual[0][1]["training/loss"] == pytest.approx(expected[0]["loss"])
    assert actual[-1][1]["evaluation/eval_accuracy"] == pytest.approx(expected[-1]["metrics"]["eval_accuracy"])
    assert EVENTS in json.loads((out / "run.json").read_text())["files"]
    assert classify(*short, "--overwrite_output_dir", "--num_train_epochs=0.2").code == 0
    assert not (out / EVENTS).exists()
