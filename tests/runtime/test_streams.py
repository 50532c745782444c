"""Commands with standard streams that are closed, full or not in UTF-8."""

import errno
import io
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.writing import ESCAPE
from bert_cli.runtime.streams import StandardOutput, print_text, reserve_descriptor, stderr_as_json
from tests.snapshots import check_message, raises

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_shell(command: str, **variables: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHON": sys.executable, "PYTHONPATH": str(ROOT)} | variables
    script = f'python() {{ "$PYTHON" "$@"; }}\n{command}'  # the path may have blanks
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)


def failing_stream(error: Exception) -> io.TextIOWrapper:
    class Raw(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            raise error

    return io.TextIOWrapper(Raw(), encoding="utf-8", write_through=True)


def test_a_full_disk_is_reported_in_one_line(monkeypatch):
    monkeypatch.setattr(sys, "stdout", failing_stream(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    with raises(InputError):
        print_text("an answer")


def test_a_closed_pipe_is_not_an_input_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", failing_stream(BrokenPipeError()))
    with pytest.raises(BrokenPipeError):
        StandardOutput().write("an answer")


def test_an_open_descriptor_is_kept(tmp_path):
    with open(tmp_path / "answers.txt", "w", encoding="utf-8") as file:
        assert not reserve_descriptor(file.fileno(), os.O_WRONLY)
        file.write("an answer")
    assert (tmp_path / "answers.txt").read_text() == "an answer"


@pytest.mark.parametrize(
    ("encoding", "text", "expected"),
    [
        ("ascii", "möchte 東京 😀", "m\\u00f6chte \\u6771\\u4eac \\ud83d\\ude00"),
        ("latin-1", "möchte 東京", "möchte \\u6771\\u4eac"),
        ("cp1252", "… €", "… €"),
        ("utf-8", "half \ud800 of a pair", "half \\ud800 of a pair"),
    ],
)
def test_characters_that_an_encoding_lacks_are_escaped_as_in_json(encoding, text, expected):
    encoded = json.dumps(text, ensure_ascii=False).encode(encoding, ESCAPE)
    assert encoded.decode(encoding) == f'"{expected}"'
    assert json.loads(encoded.decode(encoding)) == text


STREAMS = {
    # Redirection -> exit code, whether there is output, standard error.
    "2>&-": (0, True, ""),
    "2>/dev/full": (0, True, ""),
    "<&-": (0, True, ""),
    ">&-": (1, False, "bert-tokenize: error: standard output: cannot be written: Bad file descriptor\n"),
    ">/dev/full": (1, False, "bert-tokenize: error: standard output: cannot be written: No space left on device\n"),
    ">&- 2>&- <&-": (1, False, ""),
}


@pytest.mark.parametrize("redirection", STREAMS)
def test_a_command_with_a_stream_that_is_closed_or_full(redirection):
    exit_code, has_output, err = STREAMS[redirection]
    done = run_shell(f"python -m bert_cli.tokenize_text 'a film' --format=jsonl {redirection}")
    assert (done.returncode, done.stderr) == (exit_code, err)
    assert bool(done.stdout) == has_output
    if has_output:
        assert json.loads(done.stdout)["tokens"] == ["[CLS]", "a", "film", "[SEP]"]


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_an_unwritable_error_sets_the_exit_code(redirection):
    done = run_shell(f"python -m bert_cli.tokenize_text --no_such_flag {redirection}")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_the_log_is_not_written_to_a_file_opened_later(tmp_path):
    """The first opened file would get the descriptor of a closed standard error."""
    code = (
        "import sys; from bert_cli.runtime.streams import repair_streams\n"
        "repair_streams(); file = open(sys.argv[1], 'w'); from bert_cli.base.log import StderrHandler, LOG\n"
        "LOG.addHandler(StderrHandler()); LOG.warning('a line'); file.write('an answer'); print(file.fileno() > 2)"
    )
    path = tmp_path / "answers.txt"
    done = run_shell(f'python -c "{code}" {path} 2>&-')
    assert (done.stdout, path.read_text()) == ("True\n", "an answer")


def test_the_log_is_not_written_to_a_file_opened_before(tmp_path):
    code = (
        "import sys; file = open(sys.argv[1], 'w'); from bert_cli.runtime.streams import repair_streams\n"
        "repair_streams(); print('a line', file=sys.stderr, flush=True); file.write('an answer'); print(file.fileno())"
    )
    path = tmp_path / "answers.txt"
    done = run_shell(f'python -c "{code}" {path} 2>&-')
    assert (done.stdout, path.read_text()) == ("2\n", "an answer")


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.skipif(
    not __file__.isascii(), reason="Python reads the .pth file with the checkout's path in the locale's encoding"
)
def test_an_ascii_locale_accepts_and_prints_all_texts():
    done = run_shell("python -m bert_cli.tokenize_text 'möchte 東' --format=jsonl", **ASCII)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["tokens"][1:4] == ["m", "##och", "##te"]
    table = run_shell("python -m bert_cli.tokenize_text '東'", **ASCII)
    assert "[UNK]  <- \\u6771" in table.stdout


@pytest.mark.parametrize("module", ["run_classifier", "tokenize_text", pytest.param("serve", marks=pytest.mark.slow)])
def test_help_in_ascii(module):
    done = run_shell(f"python -m bert_cli.{module} --helpfull", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_list_of_commands_on_a_full_disk():
    done = run_shell("python -m bert_cli --help >/dev/full")
    assert (done.returncode, done.stdout) == (1, "")
    check_message(done.stderr, "bert: ")


CONVERTED = """
import logging, os, sys
from bert_cli.base.log import LOG, StderrHandler, set_log_format
from bert_cli.runtime.streams import stderr_as_json
LOG.addHandler(StderrHandler())
set_log_format("json", "bert-x")
with stderr_as_json("bert-x"):
    LOG.error("ours é")
    os.write(2, b"E0000 00:00:1700000000.123456 123 foo.cc:12] an error\\n")
    os.write(2, b"2026-11-26 21:00:00.1: I tensorflow/core/x.cc:7] a not")
    os.write(2, b"ice\\nWARNING:tensorflow:careful\\n\\n{\\"time\\": 1}\\n{no JSON\\n")
    print("python é", file=sys.stderr)
    os.system("echo from a child >&2")
    if "crash" in sys.argv:
        os.write(2, b"F0000 00:00:1700000000.123456 123 foo.cc:12] Check failed: no\\n")
        os.abort()
    if "kill" in sys.argv:
        os.kill(os.getpid(), 9)
LOG.error("after")
"""


@pytest.mark.parametrize("end", ["", "crash", "kill"])
def test_lines_of_libraries_become_json(end):
    done = subprocess.run([sys.executable, "-c", CONVERTED, end], capture_output=True, cwd=ROOT, check=False)
    lines = [json.loads(line) for line in done.stderr.decode().splitlines()]
    assert done.returncode == {"": 0, "crash": -signal.SIGABRT, "kill": -signal.SIGKILL}[end]
    messages = {line["message"]: line["level"] for line in lines if "message" in line}
    assert messages["E0000 00:00:1700000000.123456 123 foo.cc:12] an error"] == "error"
    assert messages["2026-11-26 21:00:00.1: I tensorflow/core/x.cc:7] a notice"] == "info"
    for text in ("WARNING:tensorflow:careful", "{no JSON", "python é", "from a child"):
        assert messages[text] == "warning"
    assert {"time": 1} in lines
    assert messages["ours é"] == "error"
    last = {
        "": "after",
        "crash": "F0000 00:00:1700000000.123456 123 foo.cc:12] Check failed: no",
        "kill": "from a child",
    }
    assert lines[-1]["message"] == last[end]


def test_lines_stay_text_if_no_process_can_start(monkeypatch, capfd):
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    with stderr_as_json("bert-x"):
        os.write(2, b"a line\n")
    assert capfd.readouterr().err == "a line\n"
