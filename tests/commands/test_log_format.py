"""Flags --log_format and --log_level of every command."""

import importlib
import json
import os
import pty
import subprocess
import sys

import pytest

from bert_cli.__main__ import COMMANDS
from tests.commands import helpers

every_command = pytest.mark.parametrize("command", COMMANDS)


def call(capfd, command, *flags):
    return helpers.call(capfd, command, importlib.import_module(f"bert_cli.{COMMANDS[command][0]}").main, *flags)


@every_command
@pytest.mark.parametrize("format_flag", [("--log_format=json",), ("--log_format", "json")])
def test_error_about_flags_is_a_json_line(command, format_flag, capfd):
    outcome = call(capfd, command, "--no_such_flag=1", *format_flag)
    (line,) = (json.loads(line) for line in outcome.err.splitlines())
    assert (line["level"], line["command"], line["exit_code"]) == ("error", command, outcome.code)
    assert "no_such_flag" in line["message"]


@every_command
def test_error_is_plain_text_by_default(command, capfd):
    call(capfd, command, "--log_format=json", "--no_such_flag=1")
    outcome = call(capfd, command, "--no_such_flag=1")
    assert outcome.err.startswith(f"{command}: error: ")


@every_command
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--log_level=loud"], "--log_level=loud"),
        (["--log_format=xml"], "--log_format=xml"),
    ],
)
def test_wrong_values_are_refused(command, flags, message, capfd):
    call(capfd, command, *flags).assert_refused(message)


def evaluate(classify, trained, *flags):
    outcome = classify("--do_eval", f"--output_dir={trained}", "--noreport", *flags)
    assert outcome.code == 0
    return outcome.err


def test_json_lines_have_the_messages_of_text_lines(trained, classify):
    text_lines = evaluate(classify, trained, "--quiet").splitlines()
    lines = [json.loads(line) for line in evaluate(classify, trained, "--log_format=json", "--verbose").splitlines()]
    notices = [line["message"] for line in lines if line["level"] == "notice"]
    assert "\n".join(notices).splitlines() == text_lines
    assert {"info", "notice"} <= {line["level"] for line in lines}
    (progress,) = (line for line in lines if "position" in line)
    assert progress["message"].startswith(f"evaluating {progress['position']}/{progress['total']}")
    (results,) = (line for line in lines if line["message"] == "***** Eval results *****")
    report = json.loads((trained / "run_report.json").read_text("utf-8"))
    assert {name: results[name] for name in ("eval_accuracy", "eval_loss", "global_step")} == {
        name: report["eval"][name] for name in ("eval_accuracy", "eval_loss", "global_step")
    }
    (table,) = (line for line in lines if "rows: label, columns: prediction" in line["message"])
    assert table["confusion_matrix"] == report["eval"]["confusion_matrix"]
    assert table["classes"] == report["eval"]["classes"]


def test_log_level_selects_the_lines(trained, classify):
    def log(flag):
        # Unlike TensorFlow, onnxruntime traces no graph in each run.
        return evaluate(classify, trained, "--engine=onnxruntime", flag)

    assert log("--log_level=notice") == log("--quiet")
    assert log("--log_level=warning") == ""
    assert "*** Example ***" in log("--log_level=debug")


def test_terminal_gets_json_lines_without_a_progress_bar(trained, tmp_path):
    """Lines of TensorFlow's C++ are JSON too."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bert_cli.run_classifier", "--do_predict", f"--output_dir={trained}"]
    # Log one of TensorFlow's C++ files, so that there are few lines.
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "placer=1"}
    with subprocess.Popen([*command, "--log_format=json"], stderr=theirs, cwd=tmp_path, env=environment) as process:
        os.close(theirs)
        written = b""
        while chunk := read_terminal(ours):
            written += chunk
        assert process.wait() == 0
    os.close(ours)
    lines = [json.loads(line) for line in written.decode().splitlines()]
    assert all(line["time"] for line in lines)
    assert any("placer.cc:" in line["message"] for line in lines)
    assert any(line["message"].startswith("predicting ") for line in lines)


def read_terminal(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the process has ended
        return b""


@pytest.mark.slow  # thousands of lines
@pytest.mark.parametrize("flags", [["--do_eval"], ["--do_eval", "--engine=tensorflow"]])
def test_lines_of_tensorflow_are_json(trained, tmp_path, flags):
    command = [sys.executable, "-m", "bert_cli.run_classifier", *flags, f"--output_dir={trained}", "--log_format=json"]
    # TensorFlow's C++ logs at this level, and Python's logger with it.
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_MAX_VLOG_LEVEL": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    messages = [json.loads(line)["message"] for line in done.stderr.splitlines()]
    assert any("tensorflow" in message or ".cc:" in message for message in messages)
