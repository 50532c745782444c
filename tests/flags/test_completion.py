"""Completion scripts in real shells: bash with its own functions, zsh and fish if installed."""

import dataclasses
import os
import pathlib
import pty
import select
import shutil
import subprocess
import time

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.glue import TASKS
from bert_cli.flags.completion import SHELLS, completion, requested_shell
from bert_cli.flags.option import FlagGroup, group, option
from bert_cli.run_classifier import main
from bert_cli.settings.answering import TASK_NAMES
from tests.snapshots import check_message

COMMAND = "bert-something"


class Data(FlagGroup, heading="Data"):
    input_file: str = option("", "the text to read; it's [UNK]: $HOME `x` \\ 'y'")
    model: str = option("", "a folder", path=True)
    target: str = option("", "a folder", file=True, flag="to")
    text: str = option("", "a text (or two)")
    task: str = option("", "any name", suggestions=("cola", "sst-2"))
    overwrite_dir: bool = option(False, "write over a folder")
    gelu: str = option("auto", "form of gelu", choices=("auto", "erf", "tanh"))
    steps: int = option(10, "how many", lower=1)


class Words(FlagGroup, heading="Texts"):
    paths: tuple[str, ...] = option((), "what to read", words=True, file=True)


@dataclasses.dataclass(frozen=True)
class Settings:
    data: Data = group(Data)


@dataclasses.dataclass(frozen=True)
class WordSettings:
    words: Words = group(Words)
    data: Data = group(Data)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Change to a directory that contains a directory and two files with spaces in their names."""
    for name in ("my text.txt", "my table.tsv"):
        (tmp_path / name).touch()
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


FLAGS = [
    "--completion=", "--flagfile=", "--gelu=", "--help", "--helpfull", "--input_file=", "--model=",
    "--overwrite_dir", "--steps=", "--task=", "--text=", "--to=", "--version",
]  # fmt: skip
FILES = ["models", "my table.tsv", "my text.txt"]
# Words on a command line -> completions for the last word.
LINES = {
    (COMMAND, ""): FLAGS,
    (COMMAND, "--"): FLAGS,
    (COMMAND, "--ste"): ["--steps="],
    (COMMAND, "--no"): ["--nooverwrite_dir"],
    (COMMAND, "--overwrite_dir", "--ov"): ["--overwrite_dir"],
    (COMMAND, "--overwrite_dir", "="): ["false", "true"],
    (COMMAND, "--gelu", "="): ["auto", "erf", "tanh"],
    (COMMAND, "--gelu", "=", "e"): ["erf"],
    (COMMAND, "--gelu", "t"): ["tanh"],
    (COMMAND, "--gelu=t"): ["--gelu=tanh"],
    (COMMAND, "--input_file", "=", "my"): ["my table.tsv", "my text.txt"],
    (COMMAND, "--model", ""): FILES,
    (COMMAND, "--to=mo"): ["--to=models"],
    (COMMAND, "--text", "=", "m"): [],
    (COMMAND, "--steps", ""): [],
    (COMMAND, "--task", "=", ""): ["cola", "sst-2"],
    (COMMAND, "--completion", "=", ""): ["bash", "fish", "zsh"],
    (COMMAND, "--no_such", "=", "m"): [],
}
ASK = """
show() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _bert_something
    printf '%s\\n' "${COMPREPLY[@]}" --
}
"""


def in_bash(settings_class, lines) -> list[list[str]]:
    """Return bash's sorted completions for each list of words."""
    script = [completion(settings_class, COMMAND, "bash"), ASK, f"complete -p {COMMAND}"]
    script += ["show " + " ".join(f"'{word}'" for word in words) for words in lines]
    done = subprocess.run(
        ["bash", "--norc", "-uc", "\n".join(script)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    output = done.stdout.split("\n")
    assert output[0] == f"complete -F _bert_something {COMMAND}"
    completions = [[]]
    for line in output[1:-1]:
        if line == "--":
            completions.append([])
        elif line:
            completions[-1].append(line)
    return [sorted(words_of_line) for words_of_line in completions[:-1]]


def test_bash_completes_flags_and_values():
    assert dict(zip(LINES, in_bash(Settings, LINES), strict=True)) == LINES


def test_bash_completes_arguments_that_are_files():
    assert in_bash(WordSettings, [(COMMAND, ""), (COMMAND, "mo"), (COMMAND, "x", "--gel")]) == [
        FILES, ["models"], ["--gelu="],
    ]  # fmt: skip


PROMPT = b"tell > "


def complete_in_terminal(shell: list[str], setup: str, lines: list[str]) -> list[str]:
    """Type lines into an interactive shell, each with a tab, and return the completed arguments."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "HOME": os.getcwd(), "ZDOTDIR": os.getcwd()}
    process = subprocess.Popen(
        shell, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    output, deadline = b"", time.monotonic() + 60

    def read_until(count: int) -> None:
        """Read until the command has printed `count` lines and the shell shows its prompt again."""
        nonlocal output
        while (
            output.count(b"\n:: ") < count or PROMPT not in output.rpartition(b"\n:: ")[2]
        ) and time.monotonic() < deadline:
            if select.select([ours], [], [], 0.2)[0]:
                output += os.read(ours, 4096)

    try:
        # The command prints its arguments after a mark, which the terminal's echo does not contain
        # at the start of a line.
        prompt = "PS1='t''ell > '"  # quoted, so that the echo differs from the prompt
        print_words = f"{COMMAND}() {{ printf '%s' ':: '; echo \"$*\"; }}"
        os.write(ours, f"{setup}; {prompt}; {print_words}; {COMMAND} ready\n".encode())
        read_until(1)
        for number, line in enumerate(lines, start=2):
            os.write(ours, f"{COMMAND} {line}\t".encode())
            os.write(ours, b"\n")
            read_until(number)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return [line.partition(b"\r")[0].decode() for line in output.split(b"\n:: ")[2:]]


TYPED_LINES = {
    "--ste": "--steps=",
    "--gelu=e": "--gelu=erf",
    "--gelu t": "--gelu tanh",
    "--nooverw": "--nooverwrite_dir",
    "--overwrite_dir=f": "--overwrite_dir=false",
    "--input_file=my\\ te": "--input_file=my text.txt",
    "mod": "models/",
}


def test_bash_completes_in_a_terminal():
    pathlib.Path("script.bash").write_text(completion(WordSettings, COMMAND, "bash"), encoding="utf-8")
    completed = complete_in_terminal(["bash", "--norc", "-i"], "source script.bash", list(TYPED_LINES))
    assert dict(zip(TYPED_LINES, completed, strict=True)) == TYPED_LINES


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_completes_in_a_terminal():
    pathlib.Path("script.zsh").write_text(completion(WordSettings, COMMAND, "zsh"), encoding="utf-8")
    setup = "autoload -Uz compinit; compinit -D -u; unsetopt beep; source script.zsh"
    completed = complete_in_terminal(["zsh", "-f", "-i"], setup, list(TYPED_LINES))
    # At a line's end, zsh removes the trailing sign or slash that it added.
    assert dict(zip(TYPED_LINES, completed, strict=True)) == {
        line: argument.rstrip("=/") for line, argument in TYPED_LINES.items()
    }


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_completes_flags_and_values():
    pathlib.Path("script.fish").write_text(completion(WordSettings, COMMAND, "fish"), encoding="utf-8")
    expected = {
        "--ste": ["--steps"],
        "--gelu=e": ["--gelu=erf"],
        "--gelu t": ["tanh"],
        "--nooverw": ["--nooverwrite_dir"],
        "--input_file=my": ["--input_file=my table.tsv", "--input_file=my text.txt"],
        "mod": ["models/"],
    }
    ask = "; ".join(f"complete -C '{COMMAND} {line}'; echo ::" for line in expected)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source script.fish; {ask}"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    completions = [
        [line.partition("\t")[0] for line in lines.strip("\n").split("\n")] for lines in done.stdout.split("::\n")[:-1]
    ]
    assert dict(zip(expected, completions, strict=True)) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_a_command_prints_its_completion_script(shell, capsys):
    for arguments in ([f"--completion={shell}"], ["--do_train", "--completion", shell]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert "max_seq_length" in out
        assert "bert-classify" in out


def test_task_names_are_completed(capsys):
    assert tuple(TASKS) == TASK_NAMES
    assert main(["--completion=bash"]) == 0
    assert f'--task_name) values="{" ".join(TASKS)}" ;;' in capsys.readouterr().out


def test_an_unknown_shell_is_refused(capsys):
    assert main(["--completion=tcsh"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    check_message(captured.err, "bert-classify: error: --completion=tcsh: ")
    assert requested_shell(["--text=--completion=bash"]) is None
    with pytest.raises(InputError, match="--completion=: one of"):
        requested_shell(["--completion"])
