"""A second call on the same output_dir resumes, reports a finished run, refuses or starts again."""

import json
import subprocess
import sys

import pytest
import tensorflow as tf

from bert_cli.run_directory.directory import RunDirectory
from tests.commands.helpers import assert_same_tensors, interrupted_after
from tests.snapshots import check_message
from tests.waiting import wait_until


def test_same_run_again_is_already_finished(trained, trained_flags, classify, snapshot):
    before = {name: stat for name, stat in snapshot(trained).items() if "ckpt" in name or name == "checkpoint"}
    results = (trained / "test_results.tsv").read_bytes()
    outcome = classify(*trained_flags, f"--output_dir={trained}")
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "30 steps")
    assert {name: stat for name, stat in snapshot(trained).items() if name in before} == before
    assert (trained / "test_results.tsv").read_bytes() == results


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--num_train_epochs=4", "num_train_epochs was 5.0, is now 4.0"),
        ("--random_seed=7", "random_seed was 12345, is now 7"),
        ("--labels=1,0", "labels was 0,1, is now 1,0"),
        ("--learning_rate=0.02", "learning_rate was 0.003, is now 0.02"),
        ("--train_batch_size=8", "train_batch_size was 4, is now 8"),
        ("--max_seq_length=5", "max_seq_length was 32, is now 5"),
    ],
)
def test_another_run_does_not_touch_the_folder(flag, message, trained, trained_flags, classify, snapshot):
    before = snapshot(trained)
    outcome = classify(*trained_flags, f"--output_dir={trained}", flag)
    outcome.assert_refused(f"error: {trained}: holds another run: ", message, "--overwrite_output_dir")
    assert snapshot(trained) == before


def test_other_data_is_another_run(trained, trained_flags, cola, classify, snapshot):
    before = snapshot(trained)
    train = cola / "train.tsv"
    train.write_text(train.read_text(encoding="utf-8").replace("old farmer", "young farmer"), encoding="utf-8")
    outcome = classify(*trained_flags, f"--output_dir={trained}", f"--data_dir={cola}")
    outcome.assert_refused()
    assert snapshot(trained) == before


def test_interrupted_run_ends_with_the_same_weights(trained_once, trained_flags, tmp_path, classify, run_folder):
    output_dir = tmp_path / "out"
    with interrupted_after("model.ckpt-20"):
        outcome = classify(*trained_flags, f"--output_dir={output_dir}")
    assert outcome.code == 130
    check_message(outcome.last_line, "bert-classify: ")
    assert run_folder(output_dir).checkpoints() == [10, 20]
    (output_dir / ".writing-half_9ab").mkdir()  # as after a kill while saving

    outcome = classify(*trained_flags, "--report", f"--output_dir={output_dir}")
    assert outcome.code == 0, outcome.err
    assert f"resuming from {output_dir / 'model.ckpt-20'}" in outcome.err
    assert run_folder(output_dir).names() == run_folder(trained_once[0]).names()
    assert_same_tensors(run_folder(output_dir).tensors(30), run_folder(trained_once[0]).tensors(30))
    for name in ("test_results.tsv", "predictions.tsv", "eval_results.txt"):
        assert (output_dir / name).read_bytes() == (trained_once[0] / name).read_bytes()


def test_overwriting_resumes_its_interrupted_run_and_starts_a_finished_one_again(
    trained, trained_flags, classify, run_folder
):
    """The same command must not delete the checkpoint from which it promised to resume."""
    names = ("notes.txt", "model.ckpt-best.txt", "events.out.tfevents.1", "predictions.json")
    other_files = dict.fromkeys(names, "mine")
    for name, text in other_files.items():
        (trained / name).write_text(text, encoding="utf-8")
    (trained / "sub").mkdir()
    (trained / ".writing-x1_y2z3k").mkdir()
    flags = (*trained_flags, f"--output_dir={trained}", "--overwrite_output_dir", "--num_train_epochs=2")
    flags = (*flags, "--nodo_eval", "--nodo_predict", "--keep_moments=all")  # checkpoints stay unchanged
    with interrupted_after("model.ckpt-10"):
        outcome = classify(*flags)
    advice = "interrupted; the same command without --overwrite_output_dir goes on from model.ckpt-10"
    assert outcome.last_line == f"bert-classify: {advice}"
    begun = (trained / "model.ckpt-10.index").stat().st_mtime_ns
    outcome = classify(*flags)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "--overwrite_output_dir")
    assert "remove the folder to start over" in outcome.err
    assert f"resuming from {trained / 'model.ckpt-10'}" in outcome.err
    assert (trained / "model.ckpt-10.index").stat().st_mtime_ns == begun
    assert run_folder(trained).checkpoints() == [10, 12]
    # The run has ended, so the flag starts it again.
    outcome = classify(*flags)
    assert outcome.code == 0, outcome.err
    assert "resuming" not in outcome.err
    assert (trained / "model.ckpt-10.index").stat().st_mtime_ns != begun

    assert {name: (trained / name).read_text(encoding="utf-8") for name in other_files} == other_files
    assert (trained / "sub").is_dir()
    assert run_folder(trained).checkpoints() == [10, 12]
    old = {"eval_results.txt", "test_results.tsv", "predictions.tsv", ".writing-x1_y2z3k"}
    assert run_folder(trained).names().isdisjoint(old)
    assert "overwrite_output_dir" not in (trained / "flags.txt").read_text(encoding="utf-8")
    # A result that this run did not write belongs to the user.
    listed = json.loads((trained / "run.json").read_text(encoding="utf-8"))["files"]
    assert "test_results.tsv" not in listed  # no prediction was made
    (trained / "test_results.tsv").write_text("mine", encoding="utf-8")
    classify(*flags).assert_refused(f"{trained / 'test_results.tsv'}: would be written over")
    assert (trained / "test_results.tsv").read_text(encoding="utf-8") == "mine"


def test_an_interruption_before_training_promises_no_checkpoint(trained, trained_flags, classify, monkeypatch):
    """The checkpoints in the directory belong to the previous run."""

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("bert_cli.runs.driver.open_and_train", interrupt)
    outcome = classify(*trained_flags, f"--output_dir={trained}", "--overwrite_output_dir")
    assert (outcome.code, outcome.last_line) == (130, "bert-classify: interrupted; give the same command again")


def test_a_newest_checkpoint_without_index_is_reported(trained, trained_flags, classify, run_folder):
    last = run_folder(trained).checkpoints()[-1]
    (trained / f"model.ckpt-{last}.index").unlink()
    lost = f"warning: {trained / f'model.ckpt-{last}'}.index does not exist: model.ckpt-"
    outcome = classify("--do_predict", f"--output_dir={trained}", "--precision=float32")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count(lost) == 1
    outcome = classify("--do_predict", f"--output_dir={trained}", "--precision=float32", "--strict")
    outcome.assert_refused(f"model.ckpt-{last}.index: ")


@pytest.mark.slow  # test_classify_model_errors.py resumes before a damaged checkpoint
def test_training_resumes_before_a_checkpoint_without_index(trained, trained_flags, classify, run_folder):
    last = run_folder(trained).checkpoints()[-1]
    (trained / f"model.ckpt-{last}.index").unlink()
    outcome = classify(*trained_flags, f"--output_dir={trained}")
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, trained / f"model.ckpt-{last}")
    assert f"steps 21 to {last} are lost" in outcome.err
    assert run_folder(trained).checkpoints()[-1] == last  # trained again


def test_checkpoints_without_any_index_are_not_overwritten(trained, trained_flags, classify):
    for path in trained.glob("model.ckpt-*.index"):
        path.unlink()
    outcome = classify(*trained_flags, f"--output_dir={trained}")
    outcome.assert_refused(".index: ")
    assert list(trained.glob("model.ckpt-*.data-*"))


@pytest.mark.slow  # tests/features/test_row_batches.py checks the number of steps and the warning
def test_fewer_rows_than_a_batch_are_one_step(trained_flags, tmp_path, classify, run_folder):
    flags = ("--train_batch_size=64", "--num_train_epochs=1", "--nodo_eval", "--nodo_predict")
    outcome = classify(*trained_flags, f"--output_dir={tmp_path / 'out'}", *flags)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "24 examples")
    assert run_folder(tmp_path / "out").checkpoints() == [1]


def test_folder_of_a_running_command_is_a_temporary_error(trained_flags, tmp_path, classify):
    """A scheduler then starts the command again."""
    folder = str(tmp_path / "out")
    with RunDirectory(folder).lock("auto").hold("bert-tag"):
        outcome = classify(*trained_flags, f"--output_dir={folder}")
    assert (outcome.code, outcome.out) == (75, "")
    check_message(outcome.last_line, f"bert-classify: error: {folder}: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_killed_run_ends_with_the_same_weights(trained_flags, tmp_path, run_folder):
    """The run is killed by SIGKILL while it writes a checkpoint.

    All runs are in separate processes with the same TensorFlow setup.
    """
    flags = [*trained_flags, "--num_train_epochs=25", "--nodo_eval", "--nodo_predict"]
    command = [sys.executable, "-m", "bert_cli.run_classifier", *flags]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, f"--output_dir={killed}"], stderr=subprocess.DEVNULL)
    wait_until((killed / "model.ckpt-20.index").exists)
    wait_until(lambda: process.poll() is not None or list(killed.glob(".writing-*")))
    process.kill()
    process.wait()
    assert 20 <= max(run_folder(killed).checkpoints()) < 150

    done = subprocess.run([*command, f"--output_dir={killed}"], capture_output=True, text=True, check=True)
    assert "resuming from" in done.stderr
    subprocess.run([*command, f"--output_dir={whole}"], capture_output=True, check=True)
    assert run_folder(killed).names() == run_folder(whole).names()
    assert_same_tensors(run_folder(killed).tensors(150), run_folder(whole).tensors(150))


@pytest.mark.slow
def test_fractional_epochs_and_the_number_of_checkpoints_kept(trained_flags, tmp_path, classify, run_folder):
    flags = ("--nodo_eval", "--nodo_predict", "--num_train_epochs=0.7", "--save_checkpoints_steps=1")
    assert classify(*trained_flags, *flags, "--keep_checkpoint_max=2", f"--output_dir={tmp_path / 'out'}").code == 0
    assert run_folder(tmp_path / "out").checkpoints() == [3, 4]  # int(24 / 4 · 0.7) = 4 steps
    state = tf.train.get_checkpoint_state(str(tmp_path / "out"))
    assert state.model_checkpoint_path == str(tmp_path / "out" / "model.ckpt-4")
    assert list(state.all_model_checkpoint_paths) == [str(tmp_path / "out" / f"model.ckpt-{n}") for n in (3, 4)]


def test_flags_txt_repeats_the_run(trained, classify, snapshot):
    before = snapshot(trained)
    outcome = classify(
        f"--flagfile={trained / 'flags.txt'}", f"--output_dir={trained}", "--nodo_eval", "--nodo_predict"
    )
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "30 steps")
    changed = {name for name, stat in snapshot(trained).items() if before.get(name) != stat}
    assert changed <= {"run_report.json", "."}
