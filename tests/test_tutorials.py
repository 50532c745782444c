"""Tutorials run from top to bottom in an empty directory, and print the outputs that they show."""

import re

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.flags.parser import parse
from tests import docs_pages
from tests.clone import run, write_programs
from tests.readme_blocks import ROOT, TOLERANCE, TUTORIALS, blocks, mismatch

every_page = pytest.mark.parametrize("page", TUTORIALS)


@pytest.mark.parametrize(
    ("shown", "output", "wrong"),
    [
        ("a = 0.91\n", "first\na   = 0.8712\nlast\n", None),
        ("a = 0.91\n", "a = 0.85\n", "0.85 is shown as 0.91"),
        ("a\nc\n", "a\nb\nc\n", "not in the output"),
        ("a\n…\nc\n", "a\nb\nb\nc\n", None),
        ("a … 3\n", "a 1 2 3\n", None),
        ("1.0 a\n", "1.0 ab\n", "not in the output"),
        ("[-0.5, 2]\n", "[-0.48, 2]\n", None),
        ("[-0.5, 2]\n", "[-0.48, 3]\n", "not in the output"),
        ("p 0.00\n", "p 5e-05\n", None),
        ("f1 100.0\n", "f1 95.2\n", None),
        ("f1 100.0\n", "f1 94.8\n", "94.8 is shown as 100.0"),
    ],
)
def test_mismatch(shown, output, wrong):
    message = mismatch(shown, output)
    assert (message is None) if wrong is None else (wrong in message)


@every_page
def test_each_command_of_a_tutorial_parses(page):
    commands = [words for block in blocks("sh", pages={page: TUTORIALS[page]}) for words in block.commands]
    ours = [(command, words) for command, *words in commands if command in COMMANDS]
    assert len(ours) >= 2
    for command, words in ours:
        assert parse(docs_pages.settings_of(command), words)


@every_page
def test_a_tutorial_has_a_title_data_limits_and_figures(page):
    text = TUTORIALS[page]
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert {"Data", "Pitfalls", "Figures"} <= set(headings)
    assert f"within {TOLERANCE}" in text
    assert text.count("\n") <= 200


def test_every_tutorial_is_in_the_index():
    index = docs_pages.index()
    assert [page for page in TUTORIALS if f"]({page.removeprefix('docs/')})" not in index] == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@every_page
def test_a_tutorial_runs_from_top_to_bottom(page, tmp_path):
    """The directory is empty and the commands are installed. Downloads are skipped."""
    folder, programs = tmp_path / "work", tmp_path / "bin"
    folder.mkdir()
    write_programs(programs)
    output, wrong = "", []
    for block in blocks("sh", "python", "text", pages={page: TUTORIALS[page]}):
        if block.language == "text":
            if why := mismatch(block.text, output):
                wrong.append(f"{block.place}: {why}\n{block.text}\n--- output:\n{output[-3000:]}")
        elif not block.is_download:
            output = run(block.program, folder, block.place, programs, import_from=str(ROOT))
    assert not wrong, "\n".join(wrong)
