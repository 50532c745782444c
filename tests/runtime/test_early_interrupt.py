"""Ctrl-C during a command's imports prints one line, but only in processes of our commands."""

import signal
import subprocess
import sys

import pytest

from bert_cli.runtime.early_interrupt import answer_early_interrupts, command_name, is_server

SLOW_IMPORT = """
import os, signal, sys
# A job that a shell started in the background ignores Ctrl-C, and so would this child of it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[0] = {program!r}
import bert_cli
print("imported", flush=True)
os.read(0, 1)
"""


@pytest.mark.parametrize(
    ("program", "words", "name"),
    [
        ("/usr/bin/bert-classify", [], "bert-classify"),
        ("bert-tag.exe", [], "bert-tag"),
        ("/opt/bert", [], "bert"),
        ("-m", ["python", "-X", "utf8", "-m", "bert_cli.run_classifier", "-m"], "bert_cli"),
        ("-m", ["python", "-m", "bert_cli_extra"], None),
        ("my_program.py", ["python", "my_program.py"], None),
        ("pytest", ["python", "-m", "pytest", "-m", "bert_cli"], None),
        ("", ["python"], None),
    ],
)
def test_command_name(program, words, name):
    assert command_name(program, words) == name


@pytest.mark.parametrize(
    ("program", "words", "is_ours"),
    [
        ("/usr/bin/bert-serve", [], True),
        ("-m", ["python", "-m", "bert_cli.serve", "--port=0"], True),
        ("-m", ["python", "-m", "bert_cli", "serve"], True),
        ("bert", ["python", "/usr/bin/bert", "serve"], True),
        ("bert", ["python", "/usr/bin/bert", "tag"], False),
        ("bert-classify", ["python", "bert-classify", "--text", "serve"], False),
        ("mine.py", ["python", "mine.py", "serve"], False),
    ],
)
def test_a_server_is_recognized(program, words, is_ours):
    assert is_server(program, words) == is_ours


@pytest.mark.parametrize("program", ["bert-tag", "mine.py"])
def test_a_command_ends_in_one_line_and_other_programs_as_before(program):
    script = SLOW_IMPORT.format(program=program)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", script], **pipes, text=True)
    assert process.stdout.readline() == "imported\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    if program == "bert-tag":
        assert (process.returncode, err) == (130, "bert-tag: interrupted; nothing was done\n")
    else:
        assert "KeyboardInterrupt" in err


@pytest.mark.parametrize("stream", ["None", "open('/dev/full', 'w')"])
def test_the_line_cannot_be_written(stream):
    script = SLOW_IMPORT.format(program="bert-tag").replace(
        "import bert_cli", f"sys.stderr = {stream}\nimport bert_cli"
    )
    script = script.replace("import bert_cli", "import bert_cli; os.close(2)")
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "imported\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_other_programs_keep_their_handler():
    before = signal.getsignal(signal.SIGINT)
    answer_early_interrupts()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("program", "is_changed"), [("bert-tag", True), ("mine.py", False)])
def test_only_commands_change_garbage_collection(program, is_changed):
    code = f"import gc, sys; sys.argv[0] = {program!r}; before = gc.get_threshold(); import bert_cli; "
    code += "print(gc.get_threshold() != before)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == f"{is_changed}\n"


QUICK_END = """
import atexit, os, sys
sys.argv[0] = {program!r}
{before}
import bert_cli
from bert_cli.flags.command import Command
from bert_cli.runtime.process import PROCESS
from bert_cli.settings.tools import DoctorSettings

def end(code, end_process=os._exit):
    os.write(1, b"ended\\n")
    end_process(code)

class Large:
    def __del__(self):
        print("freed", flush=True)

def run(settings):
    PROCESS.keep(Large())
    atexit.register(print, "called")
    print("done", flush=True)
    if {fails}:
        raise KeyboardInterrupt

os._exit = end
main = Command("bert-doctor", "Doc.", DoctorSettings, run, ends_quickly=True)
raise SystemExit(main([]))
"""


@pytest.mark.parametrize(
    ("program", "before", "fails", "lines", "exit_code"),
    [
        ("bert-doctor", "", False, ["done", "called", "ended"], 0),
        ("bert-doctor", "", True, ["done", "called"], 130),
        # Coverage saves its data at the end.
        ("bert-doctor", "atexit.register(print, 'measured')", False, ["done", "called", "measured"], 0),
        ("mine.py", "", False, ["freed", "done", "called"], 0),
        ("bert-mine", "", False, ["freed", "done", "called"], 0),
    ],
)
def test_a_command_that_ends_quickly_frees_nothing(program, before, fails, lines, exit_code):
    code = QUICK_END.format(program=program, before=before, fails=fails)
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (process.stdout.split(), process.returncode) == (lines, exit_code), process.stderr
