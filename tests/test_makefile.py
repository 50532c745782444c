"""Makefile targets, with `make --dry-run`: separate directories, and spaces in names."""

import functools
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from bert_cli.__main__ import COMMANDS, list_commands
from bert_cli.flags.option import build
from bert_cli.flags.parser import parse
from tests import docs_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRAINING = ("classify", "tag", "squad", "pretrain")


@functools.cache
def commands(target, *variables):
    """Return the words of our commands that a target runs, as if it had never run before."""
    # Without PYTHON=, make starts every installed Python; tests/test_makefile_python.py tests that.
    words = ["make", "--dry-run", "--always-make", f"PYTHON={sys.executable}", target, *variables]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line)) and words[0].startswith(".venv/bin/bert-")]


def value(words, flag):
    return next((word.partition("=")[2] for word in words if word.startswith(f"--{flag}=")), None)


def test_each_target_has_its_own_folder():
    folders = {target: value(commands(target)[-1 - (target == "pretrain")], "output_dir") for target in TRAINING}
    assert folders == {
        "classify": "bert_output/classify",
        "tag": "bert_output/tag",
        "squad": "bert_output/squad",
        "pretrain": "bert_output/pretrained",
    }
    # bert-classify's default is bert_output itself.
    assert value(commands("quickstart")[0], "output_dir") is None
    assert value(commands("export")[0], "init_checkpoint") == "bert_output"
    assert value(commands("tag", "OUTPUT=mine")[0], "output_dir") == "mine"


@pytest.mark.parametrize("code", [1, 75, 130, 143])
def test_the_last_line_names_the_commands_exit_code(code, tmp_path):
    command = tmp_path / "bert-classify"
    command.write_text(f"#!/bin/sh\nexit {code}\n")
    command.chmod(0o755)
    done = subprocess.run(
        ["make", "--old-file=install", "classify", f"BIN={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert re.search(rf"classify\] Error {code}$", done.stderr.splitlines()[-1])
    text = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
    assert "`make` has the exit code 2 for every command that fails. Its last line has the command's own code" in text


@pytest.mark.parametrize(
    ("target", "flags"),
    [
        ("classify", {"DATA": "data_dir", "MODEL": "init_checkpoint", "OUTPUT": "output_dir"}),
        ("tag", {"TAGS": "data_dir", "MODEL": "init_checkpoint"}),
        ("pretrain", {"CONFIG": "bert_config_file", "PRETRAINED": "output_dir"}),
        ("features", {"TEXTS": "input_file", "FEATURES": "output_file", "MODEL": "init_checkpoint"}),
        ("convert", {"FROM": "from", "TO": "to"}),
        ("export", {"OUTPUT": "init_checkpoint", "EXPORT": "export_dir"}),
    ],
)
def test_names_with_spaces_are_one_word(target, flags):
    names = {variable: f"my data/of {variable}" for variable in flags}
    lines = commands(target, *(f"{variable}={name}" for variable, name in names.items()))
    for variable, flag in flags.items():
        assert names[variable] in [value(words, flag) for words in lines]


def test_features_needs_no_other_target():
    """Without MODEL= it uses the built-in model."""
    (words,) = commands("features")
    settings_class = docs_pages.settings_of("bert-extract-features")
    values, given_names = parse(settings_class, words[1:])
    assert "init_checkpoint" not in given_names
    assert docs_pages.module_of("bert-extract-features").main.checked(build(settings_class, values), given_names)


def test_installing_is_announced():
    """pip is quiet for minutes. An existing environment is not announced."""
    script = ["make", "--dry-run", "--always-make", f"PYTHON={sys.executable}", "quickstart"]
    lines = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    index = next(number for number, line in enumerate(lines) if line.startswith("echo ") and "3 GB" in line)
    assert "pip install" in lines[index + 1]


def test_spaces_in_file_names(tmp_path):
    (tmp_path / "my text.txt").write_text("a\n", encoding="utf-8")
    command_lines = commands("pretrain", f"TEXT={tmp_path / 'my text.txt'}", "PRETRAINED=bert_output/my model")
    assert [words[0].rpartition("/")[2] for words in command_lines] == [
        "bert-build-vocab",
        "bert-pretrain",
        "bert-fill-mask",
    ]
    assert (
        value(command_lines[0], "input_file") == value(command_lines[1], "input_file") == str(tmp_path / "my text.txt")
    )
    assert (
        value(command_lines[0], "output_file")
        == value(command_lines[1], "vocab_file")
        == "bert_output/my model.vocab.txt"
    )
    squad = commands("squad", "SQUAD=my data")[0]
    assert value(squad, "train_file") == "my data/train.json"
    assert value(squad, "predict_file") == "my data/dev.json"


def dry_run(*words):
    """Return the lines that make would run, also of the makes that it starts."""
    script = ["make", "--dry-run", "--always-make", f"PYTHON={sys.executable}", "INSTALLED=3.12", *words]
    return subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def first(lines, *texts):
    """Return the index of the first line with each text."""
    return [next(index for index, line in enumerate(lines) if text in line) for text in texts]


def test_a_release_is_tried_before_it_is_tagged():
    lines = dry_run("release", "TAG=yes")
    tools = ".venv-release/bin/python -m tests."
    steps = ("bin/python -m tests.release prepare", f"{tools}release dist", f"{tools}release_trial python3.12 --do_train",
             f"{tools}release tag")  # fmt: skip
    places = first(lines, *steps)
    assert places == sorted(places)
    untagged = dry_run("release", "INSTALLED=")
    assert not any("tests.release tag" in line or "tests.release prepare" in line for line in untagged)
    assert first(untagged, "tests.release check") < first(untagged, "tests.release dist")
    assert first(untagged, "tests.release_trial python3 ")  # no name has a version


def test_another_tag_is_refused():
    done = subprocess.run(["make", "release", "TAG=no"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "TAG=no is unknown: TAG=yes tags the release\n" in done.stderr
    assert done.returncode == 2


def test_commands_for_the_built_in_model_are_accepted():
    """Each command passes its parser and check, and reads files that the command before writes."""
    command_lines = commands("builtin-model", "BUILTIN_TEXT=data/pretraining/corpus.txt")
    names = [words[0].rpartition("/")[2] for words in command_lines]
    assert names == ["bert-build-vocab", "bert-pretrain", "bert-pretrain", "bert-convert", "bert-fill-mask"]
    for name, words in zip(names, command_lines, strict=True):
        settings_class = docs_pages.settings_of(name)
        values, given_names = parse(settings_class, words[1:])
        assert docs_pages.module_of(name).main.checked(build(settings_class, values), given_names)
    vocab, constant, falling, convert, fill = command_lines
    assert value(vocab, "output_file") == value(constant, "vocab_file") == value(falling, "vocab_file")
    assert value(constant, "output_dir") == value(falling, "init_checkpoint")
    assert value(falling, "output_dir") == value(convert, "from")
    assert int(value(falling, "keep_checkpoint_max")) >= int(value(convert, "average_last"))
    assert value(fill, "init_checkpoint") is None


def test_commands_are_listed_in_80_columns():
    assert [line.split()[0] for line in list_commands().splitlines() if line.startswith("  bert-")] == list(COMMANDS)
    assert all(len(line) <= 80 for line in list_commands().splitlines())
