"""History lines, and the same numbers for TensorBoard."""

import pytest
import tensorflow as tf

from bert_cli.outputs.history import History, read_history
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.callbacks.recording import HistoryCallback, TensorBoardCallback, scalars


def test_tags():
    assert scalars({"step": 3, "loss": 0.5, "learning_rate": 1, "seconds": 2.0}) == {
        "training/loss": 0.5,
        "training/learning_rate": 1.0,
    }
    assert scalars({"step": 3, "metrics": {"eval_f1": 0.25}}) == {"evaluation/eval_f1": 0.25}


@pytest.mark.parametrize("writes", [True, False])
def test_lines_are_added_at_intervals_and_at_the_end(tmp_path, writes):
    callback = HistoryCallback(History(str(tmp_path), 0), log_steps=2, steps=5, batch_size=4, writes=writes)
    callback.on_start()
    for step in range(1, 6):
        callback.on_log(step, 0.5, 0.1)
    callback.on_evaluation(5, {"eval_loss": 0.25})
    lines = [(line["step"], line.get("metrics")) for line in read_history(str(tmp_path))]
    assert lines == ([(2, None), (4, None), (5, None), (5, {"eval_loss": 0.25})] if writes else [])


def events_in(folder) -> list[tuple[int, dict[str, float]]]:
    (path,) = folder.glob("*tfevents*")
    events = [tf.compat.v1.Event.FromString(record.numpy()) for record in tf.data.TFRecordDataset(str(path))]
    assert events[0].file_version == "brain.Event:2"
    return [(event.step, {value.tag: value.simple_value for value in event.summary.value}) for event in events[1:]]


def test_event_files_have_the_history(tmp_path):
    history = History(str(tmp_path), 0)
    lines = HistoryCallback(history, log_steps=1, steps=2, batch_size=4, writes=True)
    events = TensorBoardCallback(RunDirectory(str(tmp_path)), history)
    for callback in (lines, events):
        callback.on_start()
    for callback in (lines, events):
        callback.on_log(1, 0.5, 0.25)
    for callback in (lines, events):
        callback.on_evaluation(1, {"eval_f1": 0.75})
    (first, training), (second, evaluation) = events_in(tmp_path)
    assert (first, second) == (1, 1)
    assert (training["training/loss"], training["training/learning_rate"]) == (0.5, 0.25)
    assert evaluation == {"evaluation/eval_f1": 0.75}
