"""Help texts and printed docs pages: short --help, examples that run as printed, current docs/."""

import os
import pathlib
import re
import shlex

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.__main__ import main as bert
from bert_cli.flags.help import WIDTH, full_help_text, help_text, split_examples
from bert_cli.flags.option import build, essential_flags, every_flag
from bert_cli.flags.parser import parse
from tests import docs_pages, option_types
from tests.clone import COPIED, copy_repository, run

ROOT = pathlib.Path(__file__).resolve().parents[1]
every_command = pytest.mark.parametrize("command", COMMANDS)
# First example's directory, per training command.
OUTPUT_DIRS = {
    "bert-classify": "bert_output",
    "bert-tag": "bert_output/tag",
    "bert-squad": "bert_output/squad",
    "bert-train-vectors": "bert_output/vectors",
    "bert-pretrain": "bert_output/pretrained",
}
MOST_LINES = 59  # maximum for --help


def examples(command: str) -> list[list[str]]:
    """Return, in order, the words of all examples that run our commands."""
    _, text = split_examples(docs_pages.module_of(command).__doc__)
    lines = [shlex.split(line) for line in text.replace("\\\n", " ").split("\n")]
    return [words for words in lines if words[0] in COMMANDS]


@every_command
def test_help_fits_two_screens(command):
    text = help_text(docs_pages.settings_of(command), command, docs_pages.module_of(command).__doc__)
    lines = text.split("\n")
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > WIDTH] == []
    assert any(line.startswith(f"usage: {command} ") for line in lines)
    assert lines[-1].startswith(f"--helpfull lists all {len(every_flag(docs_pages.settings_of(command)))} flags")
    # --help shows a help text's first clause, which must not split a parenthesis.
    assert text.count("(") == text.count(")")


@every_command
def test_help_shows_essential_flags(command):
    """Commands with many flags show 20 to 25 of them, including all flags in the examples."""
    shown = [flag.name for flag in essential_flags(docs_pages.settings_of(command))]
    count = sum(not flag.option.ignored for flag in every_flag(docs_pages.settings_of(command)))
    assert 20 <= len(shown) <= 25 if count > 30 else len(shown) <= count
    words = [word for name, *arguments in examples(command) if name == command for word in arguments]
    assert {word[2:].partition("=")[0] for word in words if word.startswith("--")} <= set(shown)


@every_command
def test_help_and_full_help_have_two_examples(command):
    description = docs_pages.module_of(command).__doc__
    for write in help_text, full_help_text:
        text = write(docs_pages.settings_of(command), command, description)
        assert [line for line in text.split("\n") if len(line) > WIDTH] == []
        _, _, printed = text.partition("\nExamples:\n")
        printed = printed.partition("\n\n")[0].split("\n")
        names = [line.split()[0] for line in printed if not line.startswith("   ")]
        assert [name for name in names if name == command] == [command, command]
        assert set(names) <= {command, "bert-classify", "mkdir"}


@every_command
def test_full_help_has_every_flag(command):
    settings_class = docs_pages.settings_of(command)
    text = full_help_text(settings_class, command, docs_pages.module_of(command).__doc__)
    flags = [flag for flag in every_flag(settings_class) if not flag.option.words]
    named = re.findall(r"^  --(\w+):", text, re.MULTILINE)
    assert sorted(named) == sorted(flag.name for flag in flags)
    without_effect = [flag.name for flag in flags if flag.option.ignored]
    assert named[len(named) - len(without_effect) :] == without_effect


@every_command
def test_both_helps_are_printed(command, capsys):
    """`bert COMMAND` prints them too."""
    settings_class, module = docs_pages.settings_of(command), docs_pages.module_of(command)
    for flag, write in (("--help", help_text), ("--helpshort", help_text), ("--helpfull", full_help_text)):
        assert bert([command.removeprefix("bert-"), flag, "--no_such_flag"]) == 0
        assert capsys.readouterr().out == write(settings_class, command, module.__doc__) + "\n"


def test_an_example_of_bert_classify_reads_a_table():
    assert any("--train_file=data/reviews.csv" in words for words in examples("bert-classify"))


@every_command
def test_examples_are_accepted(command, monkeypatch, tmp_path):
    """They pass the parser and the command's check, and their input files exist.

    Input files are in the repository or written by other examples.
    """
    monkeypatch.chdir(tmp_path)
    for folder in ("data", "bert_cli"):
        os.symlink(ROOT / folder, folder)
    for name, *words in examples(command):
        values, given_names = parse(docs_pages.settings_of(name), words)
        assert values
        if name not in OUTPUT_DIRS or "--do_train" in words:  # otherwise the check needs a trained model
            assert docs_pages.module_of(name).main.checked(build(docs_pages.settings_of(name), values), given_names)
        named = [word.rpartition("=")[2] for word in words]
        assert [path for path in named if path.startswith(("data/", "bert_cli/")) and not os.path.exists(path)] == []
        written = [path for path in named if path.startswith("bert_output/")]
        assert written or not any(word.startswith(("--output", "--export_dir", "--to=")) for word in words)


def documented_files(command: str) -> tuple[set[str], set[str]]:
    """Return the files in output_dir that a docstring lists: always written, and only with a flag."""
    text = re.split(r"into\s+output_dir:\n\n", docs_pages.module_of(command).__doc__)[1].partition("\n\n")[0]
    always, sometimes = set(), set()
    for line in text.split("\n"):
        names, _, description = line.strip().partition("  ")
        if line.startswith(" " * 5):
            continue
        (sometimes if description.strip().startswith("with ") else always).update(names.split(", "))
    return always, sometimes


@pytest.mark.parametrize("command", OUTPUT_DIRS)
def test_files_in_output_dir_are_documented(command):
    """test_the_examples_run_as_printed compares the list with real files."""
    always, sometimes = documented_files(command)
    assert {"model.ckpt-N", "eval_results.txt", "run_report.json", "flags.txt", "vocab.txt", "checkpoint"} <= always
    assert not always & sometimes


@pytest.mark.slow
@pytest.mark.timeout(1200)
@every_command
def test_the_examples_run_as_printed(command, tmp_path):
    """They run in order in a new clone, and write the documented files."""
    copy_repository(tmp_path)
    _, text = split_examples(docs_pages.module_of(command).__doc__)
    # A server does not stop by itself.
    text = re.sub(r"^(bert-serve .*)$", r"\1 & sleep 4; kill $!", text, flags=re.MULTILINE)
    run(["bash", "-e", "-c", text], tmp_path, f"{command} --help")
    changed = {path.name for path in tmp_path.iterdir()} - {*COPIED, ".venv", "bert_output"}
    assert changed == set()
    if command in OUTPUT_DIRS:
        paths = [
            path for path in (tmp_path / OUTPUT_DIRS[command]).iterdir() if path.is_file() and path.name != ".gitkeep"
        ]
        file_names = {"model.ckpt-N" if path.name.startswith("model.ckpt-") else path.name for path in paths}
        always, sometimes = documented_files(command)
        assert always <= file_names <= always | sometimes


def test_the_types_of_options_are_current():
    assert option_types.PATH.read_text("utf-8") == option_types.content(), "run make docs"


def test_docs_pages_are_current():
    """`make docs` writes them."""
    printed = docs_pages.pages()
    assert {name: (docs_pages.DOCS / name).read_text(encoding="utf-8") for name in printed} == printed
    commands = {path.name for path in docs_pages.DOCS.glob("bert-*.md")}
    assert commands == set(printed) - {"README.md", "flags.md", "keys.md", "data.md"}


def test_each_flag_has_one_row_in_docs():
    """A row is on the page for shared flags or on a command's page, and no flag is missing."""
    pages = docs_pages.pages()
    tables = {
        name: re.findall(r"^(\| (?:`--|\*).*?\|)(?: \[.*\|)?$", text, re.MULTILINE) for name, text in pages.items()
    }
    rows = [row for table in tables.values() for row in table]
    assert len(rows) == len(set(rows))
    for command in COMMANDS:
        named = set(re.findall(r"`--(\w+)`", pages[f"{command}.md"]))
        flags = [flag for flag in every_flag(docs_pages.settings_of(command)) if not flag.option.words]
        assert {flag.name for flag in flags} <= named
