"""Messages advise only flags that a user's command has; those of another command stand in its command line.

The messages are those in tests/messages/. A command leaves out advice that it lacks the flags for
(flags.command), and loading in Python does the same with arguments.
"""

import itertools
import re

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.base.errors import InputError, mentioned_flags, name_arguments_in_errors, without_advice
from bert_cli.flags.option import every_flag
from tests.docs_pages import settings_of
from tests.snapshots import MESSAGES

SWITCHES = {"flagfile", "help", "helpfull", "completion", "from_command"}
FLAGS = {command: {flag.name for flag in every_flag(settings_of(command))} | SWITCHES for command in COMMANDS}
ERROR = re.compile(r"(bert-[a-z-]+): error: (.*)")
COMMAND_LINE = re.compile(r"\b(bert-[a-z-]+)((?: --\S+)+)")
# A flag that the user wrote, or that a training run had.
QUOTED = re.compile(
    r"unknown flags? .*|(?:trained|classifiers) with --\w+|\(--\w+=\w+\)|their --\w+|^--\w+=['\"][^:]*|'--\w+'"
)


def stored_errors() -> list[tuple[str, str]]:
    """Return (command, message) for each stored error of a command."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(MESSAGES.rglob("*.txt")))
    lines = itertools.chain.from_iterable(text.splitlines() for text in texts)
    return [match.groups() for line in lines if (match := ERROR.match(line.strip()))]


def test_stored_errors_lose_no_advice():
    """A stored message from which advice would be left out is an old one."""
    messages = stored_errors()
    kept = [
        (
            command,
            without_advice(message, lambda part, flags=FLAGS[command]: not flags.issuperset(mentioned_flags(part))),
        )
        for command, message in messages
    ]
    assert kept == messages


def test_stored_errors_advise_only_flags_of_their_command():
    errors = stored_errors()
    assert len(errors) > 500
    wrong = [
        (command, flag, message)
        for command, message in errors
        for flag in mentioned_flags(QUOTED.sub("", message))
        if flag not in FLAGS[command]
    ]
    assert wrong == []


def test_command_lines_in_messages_have_the_flags_of_their_command():
    wrong = [
        (command, flag, line)
        for path in sorted(MESSAGES.rglob("*.txt"))
        for line in path.read_text(encoding="utf-8").splitlines()
        for command, words in COMMAND_LINE.findall(line)
        for flag in re.findall(r"--([a-z]\w*)", words)
        if command in FLAGS and flag.removeprefix("no") not in FLAGS[command] and flag not in FLAGS[command]
    ]
    assert wrong == []


def test_stored_messages_for_python_have_no_flags():
    """tests/messages/api/test_arguments.txt has messages before their flags are replaced."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (MESSAGES / "api").rglob("*.txt")}
    del texts["test_arguments.txt"]
    flags = {
        name: mentioned_flags(line) for name, text in texts.items() for line in text.splitlines() if line[:1] == " "
    }
    assert {name: found for name, found in flags.items() if found} == {}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("m: has no config; copy it there, or give --bert_config_file", "m: has no config; copy it there"),
        ("m: damaged; restore it, or --overwrite_output_dir starts over", "m: damaged; restore it"),
        ("m: damaged; --overwrite_output_dir starts over", "m: damaged"),
        (
            "out of memory; lower --output_dir, or lower --top_k, or add --recompute=layers",
            "out of memory; lower --output_dir",
        ),
        ("--bert_config_file is needed; give --output_dir", "--bert_config_file is needed; give --output_dir"),
        ("m; bert-convert --head=encoder leaves it", "m; bert-convert --head=encoder leaves it"),
        ("m; pip install --force-reinstall x may help", "m; pip install --force-reinstall x may help"),
        (
            "unknown flags --a (x; leave it out), --b; --output_dir",
            "unknown flags --a (x; leave it out), --b; --output_dir",
        ),
    ],
)
def test_advice_with_other_flags_is_left_out(message, expected):
    """The problem before the first "; ", command lines and texts in parentheses stay."""
    assert without_advice(message, lambda part: not {"output_dir"}.issuperset(mentioned_flags(part))) == expected


def test_loading_in_python_advises_only_its_arguments():
    @name_arguments_in_errors(None, init_checkpoint="path")
    def load(path, vocab_file=None):
        raise InputError("m: lacks a file; give --vocab_file, or --bert_config_file; check --init_checkpoint")

    with pytest.raises(InputError, match=r"^m: lacks a file; give vocab_file; check path$"):
        load("m")
