"""What commands say of themselves: --help fits a terminal and ends with examples that can be given, and docs/ is current."""

import os
import pathlib
import re
import shlex
import shutil

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.flags.help import WIDTH, help_text, split_examples
from bert_cli.flags.option import build
from bert_cli.flags.parser import parse
from tests import docs_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
every_command = pytest.mark.parametrize("command", COMMANDS)
# What makes the examples of training short.
FEW_STEPS = {
    "bert-classify": ["--num_train_epochs=0.05"],
    "bert-tag": ["--num_train_epochs=0.1"],
    "bert-squad": ["--num_train_epochs=0.1"],
    "bert-pretrain": ["--num_train_steps=20", "--num_warmup_steps=2"],
}
# In an order in which each finds what it needs.
IN_ORDER = (
    "bert-classify", "bert-prepare", "bert-tag", "bert-squad", "bert-build-vocab", "bert-create-pretraining-data",
    "bert-pretrain", "bert-fill-mask", "bert-extract-features", "bert-convert", "bert-export", "bert-report",
)  # fmt: skip


def examples(command: str) -> list[list[str]]:
    """The words of each example, without the command."""
    _, text = split_examples(docs_pages.module_of(command).__doc__)
    found = [shlex.split(line) for line in text.replace("\\\n", " ").split("\n")]
    assert [words[0] for words in found] == [command] * len(found)
    return [words[1:] for words in found]


@every_command
def test_help_fits_a_terminal_and_ends_with_two_examples(command):
    text = help_text(docs_pages.settings_of(command), command, docs_pages.module_of(command).__doc__)
    assert [line for line in text.split("\n") if len(line) > WIDTH] == []
    last = text.rpartition("\nExamples:\n")[2].split("\n")
    assert [line.split()[0] for line in last if not line.startswith("   ")] == [command, command]


@every_command
def test_examples_are_accepted(command, monkeypatch, tmp_path):
    """By the parser and by the command's own check; input files are those of the repository, or of other examples."""
    monkeypatch.chdir(tmp_path)
    for folder in ("data", "bert_cli"):
        os.symlink(ROOT / folder, folder)
    settings_class = docs_pages.settings_of(command)
    for words in examples(command):
        values, given = parse(settings_class, words)
        assert values
        if command not in FEW_STEPS or "--do_train" in words:  # else the check asks for a model that is trained
            build(settings_class, docs_pages.module_of(command).check(values, given))
        named = [word.rpartition("=")[2] for word in words]
        assert [name for name in named if name.startswith(("data/", "bert_cli/")) and not os.path.exists(name)] == []


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


@pytest.mark.parametrize("command", FEW_STEPS)
def test_the_files_of_output_dir_are_listed(command):
    """test_examples_work compares them with those that are left."""
    always, sometimes = documented(command)
    assert {"model.ckpt-N", "eval_results.txt", "run_report.json", "flags.txt", "vocab.txt", "checkpoint"} <= always
    assert not always & sometimes


@pytest.mark.slow
def test_examples_work(tmp_path, monkeypatch, capfd):
    """All of them, in one folder that holds data/ and a shorter corpus; training is cut short. Files are those documented."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    (tmp_path / "bert_output").mkdir()
    os.symlink(ROOT / "bert_cli", tmp_path / "bert_cli")
    corpus = tmp_path / "data" / "pretraining" / "corpus.txt"
    corpus.write_text("\n".join(corpus.read_text(encoding="utf-8").split("\n")[:600]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert set(IN_ORDER) == set(COMMANDS)
    for command in IN_ORDER:
        for words in examples(command):
            few = FEW_STEPS.get(command, []) if "--do_train" in words else []
            assert docs_pages.module_of(command).main([*words, *few]) == 0, (words, capfd.readouterr().err)
        if command in FEW_STEPS:
            folder = next((word for word in examples(command)[0] if word.startswith("--output_dir=")), "=bert_output")
            left = [path for path in pathlib.Path(folder.partition("=")[2]).iterdir() if path.is_file()]
            found = {"model.ckpt-N" if path.name.startswith("model.ckpt-") else path.name for path in left}
            always, sometimes = documented(command)
            assert always <= found <= always | sometimes, command


def test_the_pages_of_docs_are_current():
    """`make docs` writes them."""
    wanted = docs_pages.pages()
    assert {name: (docs_pages.DOCS / name).read_text(encoding="utf-8") for name in wanted} == wanted
    commands = {path.name for path in docs_pages.DOCS.glob("bert-*.md")}
    assert commands == set(wanted) - {"README.md"}
