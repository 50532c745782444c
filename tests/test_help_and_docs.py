"""What commands say of themselves: --help is one screen or two with examples that run as printed, and docs/ is current."""

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
from tests import docs_pages
from tests.clone import COPIED, copy_repository, run

ROOT = pathlib.Path(__file__).resolve().parents[1]
every_command = pytest.mark.parametrize("command", COMMANDS)
# Of the commands that train, the folder of their first example.
OUTPUT_DIRS = {
    "bert-classify": "bert_output",
    "bert-tag": "bert_output/tag",
    "bert-squad": "bert_output/squad",
    "bert-pretrain": "bert_output/pretrained",
}
MOST_LINES = 59  # of --help


def examples(command: str) -> list[list[str]]:
    """The words of each example of ours; those that make the run of another command come first."""
    _, text = split_examples(docs_pages.module_of(command).__doc__)
    found = [shlex.split(line) for line in text.replace("\\\n", " ").split("\n")]
    return [words for words in found if words[0] in COMMANDS]


@every_command
def test_help_fits_two_screens(command):
    text = help_text(docs_pages.settings_of(command), command, docs_pages.module_of(command).__doc__)
    lines = text.split("\n")
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > WIDTH] == []
    assert any(line.startswith(f"usage: {command} ") for line in lines)
    assert lines[-1].startswith(f"--helpfull lists all {len(every_flag(docs_pages.settings_of(command)))} flags")
    # The first clause of a flag's help is shown: no parenthesis may be torn.
    assert text.count("(") == text.count(")")


@every_command
def test_help_shows_what_most_people_need(command):
    """20 to 25 flags of the commands that have more, among them each flag of the examples."""
    shown = [flag.name for flag in essential_flags(docs_pages.settings_of(command))]
    count = sum(not flag.option.ignored for flag in every_flag(docs_pages.settings_of(command)))
    assert 20 <= len(shown) <= 25 if count > 30 else len(shown) <= count
    words = [word for name, *given in examples(command) if name == command for word in given]
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
    """Also by `bert COMMAND`."""
    settings_class, module = docs_pages.settings_of(command), docs_pages.module_of(command)
    for flag, write in (("--help", help_text), ("--helpshort", help_text), ("--helpfull", full_help_text)):
        assert bert([command.removeprefix("bert-"), flag, "--no_such_flag"]) == 0
        assert capsys.readouterr().out == write(settings_class, command, module.__doc__) + "\n"


def test_an_example_of_bert_classify_reads_a_table():
    assert any("--train_file=data/reviews.csv" in words for words in examples("bert-classify"))


@every_command
def test_examples_are_accepted(command, monkeypatch, tmp_path):
    """By the parser and by the command's own check; input files are those of the repository, or of other examples."""
    monkeypatch.chdir(tmp_path)
    for folder in ("data", "bert_cli"):
        os.symlink(ROOT / folder, folder)
    for name, *words in examples(command):
        values, given = parse(docs_pages.settings_of(name), words)
        assert values
        if name not in OUTPUT_DIRS or "--do_train" in words:  # else the check asks for a model that is trained
            build(docs_pages.settings_of(name), docs_pages.module_of(name).check(values, given))
        named = [word.rpartition("=")[2] for word in words]
        assert [path for path in named if path.startswith(("data/", "bert_cli/")) and not os.path.exists(path)] == []
        written = [path for path in named if path.startswith("bert_output/")]
        assert written or not any(word.startswith(("--output", "--export_dir", "--to=")) for word in words)


def documented(command: str) -> tuple[set[str], set[str]]:
    """Files that the docstring lists as written into output_dir: always, and with a flag alone."""
    text = re.split(r"into\s+output_dir:\n\n", docs_pages.module_of(command).__doc__)[1].partition("\n\n")[0]
    always, sometimes = set(), set()
    for line in text.split("\n"):
        names, _, told = line.strip().partition("  ")
        if line.startswith(" " * 5):
            continue
        (sometimes if told.strip().startswith("with ") else always).update(names.split(", "))
    return always, sometimes


@pytest.mark.parametrize("command", OUTPUT_DIRS)
def test_the_files_of_output_dir_are_listed(command):
    """test_the_examples_run_as_printed compares them with those that are left."""
    always, sometimes = documented(command)
    assert {"model.ckpt-N", "eval_results.txt", "run_report.json", "flags.txt", "vocab.txt", "checkpoint"} <= always
    assert not always & sometimes


@pytest.mark.slow
@pytest.mark.timeout(1200)
@every_command
def test_the_examples_run_as_printed(command, tmp_path):
    """One after the other, in a clone in which nothing ran before; the files that are left are those documented."""
    copy_repository(tmp_path)
    _, text = split_examples(docs_pages.module_of(command).__doc__)
    # A server does not end by itself.
    text = re.sub(r"^(bert-serve .*)$", r"\1 & sleep 4; kill $!", text, flags=re.MULTILINE)
    run(["bash", "-e", "-c", text], tmp_path, f"{command} --help")
    changed = {path.name for path in tmp_path.iterdir()} - {*COPIED, ".venv", "bert_output"}
    assert changed == set()
    if command in OUTPUT_DIRS:
        left = [
            path for path in (tmp_path / OUTPUT_DIRS[command]).iterdir() if path.is_file() and path.name != ".gitkeep"
        ]
        found = {"model.ckpt-N" if path.name.startswith("model.ckpt-") else path.name for path in left}
        always, sometimes = documented(command)
        assert always <= found <= always | sometimes


def test_the_pages_of_docs_are_current():
    """`make docs` writes them."""
    printed = docs_pages.pages()
    assert {name: (docs_pages.DOCS / name).read_text(encoding="utf-8") for name in printed} == printed
    commands = {path.name for path in docs_pages.DOCS.glob("bert-*.md")}
    assert commands == set(printed) - {"README.md", "flags.md"}


def test_each_flag_has_one_row_in_the_pages_of_docs():
    """A row is either on the page of shared flags or on the page of one command, and each flag of a command is on one."""
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
