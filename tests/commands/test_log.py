"""The log on standard error: --quiet, --verbose, and examples after the checks."""

import os
import pathlib
import pty
import signal
import subprocess
import sys

import pytest

from tests.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Examples and levels do not depend on the engine, and this one traces no graph.
ENGINE = "--engine=onnxruntime"


def test_folder_is_refused_before_any_example(trained, trained_flags, classify):
    outcome = classify(*trained_flags, f"--output_dir={trained}", "--random_seed=7")
    outcome.assert_refused("holds another run")
    assert "*** Example ***" not in outcome.err


def test_one_example_of_a_run_as_tokens_and_label(trained, classify):
    outcome = classify("--do_eval", "--do_predict", f"--output_dir={trained}", ENGINE)
    assert outcome.code == 0
    assert outcome.lines.count("*** Example ***") == 1
    first = outcome.lines.index("*** Example ***")
    assert [line.partition(":")[0] for line in outcome.lines[first + 1 : first + 4]] == ["guid", "tokens", "label"]
    assert "input_mask" not in outcome.err


def test_example_of_a_file_to_predict_has_no_label(trained, classify):
    outcome = classify("--do_predict", f"--output_dir={trained}", ENGINE)
    assert "label: none" in outcome.lines


def test_verbose_shows_examples_of_each_split_with_ids(trained, classify):
    outcome = classify("--do_eval", "--do_predict", f"--output_dir={trained}", ENGINE, "--verbose")
    assert outcome.code == 0
    assert outcome.lines.count("*** Example ***") == 10
    masks = [line for line in outcome.lines if line.startswith("input_mask: ")]
    assert len(masks) == 10
    assert all(set(line.removeprefix("input_mask: ").split()) == {"1"} for line in masks)


def test_quiet_leaves_warnings_and_results(trained, classify):
    outcome = classify("--do_eval", f"--output_dir={trained}", f"--init_checkpoint={trained.parent}", "--quiet")
    outcome.assert_refused(str(trained.parent))
    outcome = classify("--do_eval", f"--output_dir={trained}", ENGINE, "--quiet")
    assert outcome.code == 0
    results = (trained / "eval_results.txt").read_text(encoding="utf-8").splitlines()
    assert [line.strip() for line in outcome.lines[1 : len(results) + 1]] == results
    assert not any(text in outcome.err for text in ("Example", "devices", "evaluating", "wrote", "labels:"))


@pytest.mark.slow
def test_log_level_applies_to_one_call(trained, classify):
    assert "devices" not in classify("--do_eval", f"--output_dir={trained}", "--quiet").err
    assert "devices" in classify("--do_eval", f"--output_dir={trained}").err


def test_quiet_and_verbose(trained, classify):
    classify("--do_eval", f"--output_dir={trained}", "--quiet", "--verbose").assert_refused("--quiet and --verbose")


@pytest.fixture
def training(two_layer_flags, cola, tmp_path):
    """training(epochs) -> arguments of a command that trains into the directory `out`."""

    def words(epochs: int) -> list[str]:
        flags = [*two_layer_flags, "--do_train", "--task_name=cola", f"--data_dir={cola}", "--report=false"]
        flags = [flag for flag in flags if not flag.startswith("--num_train_epochs")]
        command = [sys.executable, "-m", "bert_cli.run_classifier", *flags, f"--num_train_epochs={epochs}"]
        return [*command, f"--output_dir={tmp_path / 'out'}"]

    return words


@pytest.mark.slow
@pytest.mark.parametrize(("signal_number", "exit_code"), [(signal.SIGHUP, 129), (signal.SIGTERM, 143)])
def test_a_training_is_saved_when_its_terminal_is_closed(training, tmp_path, signal_number, exit_code):
    ours, theirs = pty.openpty()
    # A command keeps ignoring a signal that nohup ignores, and the tests may run under nohup.
    reset = (
        f"import os, signal, sys; signal.signal({signal_number:d}, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", reset, *training(epochs=100_000), "--save_checkpoints_steps=1000000"]
    history = tmp_path / "out" / "history.jsonl"
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT) as process:
        os.close(theirs)
        shown = b""
        while b"training" not in shown:
            shown += os.read(ours, 65536)
        os.close(ours)
        try:
            wait_until(history.exists)
            size_bytes = history.stat().st_size
            wait_until(lambda: history.stat().st_size > size_bytes)  # the training continues without its terminal
            process.send_signal(signal_number)
            assert process.wait(60) == exit_code
        finally:
            process.kill()
    assert list((tmp_path / "out").glob("model.ckpt-*.index"))


@pytest.mark.slow
def test_training_continues_if_nobody_reads_its_log(training, tmp_path):
    with subprocess.Popen(training(epochs=60), stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        process.stderr.readline()
        process.stderr.close()
        assert process.wait(120) == 0
    assert (tmp_path / "out" / "run_report.json").exists()
