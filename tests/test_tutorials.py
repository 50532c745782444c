"""The tutorials: each page runs from top to bottom in an empty directory, and each output that it shows is the output."""

import re

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.flags.parser import parse
from tests import docs_pages
from tests.clone import run, write_programs
from tests.readme_blocks import README, ROOT, TUTORIALS, blocks

TOLERANCE = 0.05  # of a number with a decimal point, times the number itself above 1 (percentages); each page names it
every_page = pytest.mark.parametrize("page", TUTORIALS)


def mismatch(shown: str, output: str) -> str | None:
    """Where an output differs from the lines that a page shows of it: a sentence, or None.

    `…` alone in a line stands for any lines, inside a line for any text. A run of spaces is like one space. A number with a
    decimal point may differ by TOLERANCE, one above 1 by that share of it.
    """
    lines = []
    for line in shown.strip("\n").split("\n"):
        pattern = re.escape(re.sub(r" +", " ", line)).replace("…", ".*?")
        pattern = re.sub(r"(?:\\-)?\d+\\\.\d+", r"(-?[0-9.]+(?:e[-+]?[0-9]+)?)", pattern)
        lines.append("(?:.*\n)*?" if line.strip() == "…" else rf"{pattern}[ ]*\n")
    found = re.search("^" + "".join(lines), re.sub(r" +", " ", output), re.MULTILINE)
    if not found:
        return "these lines are not in the output"
    numbers = re.findall(r"-?\d+\.\d+", re.sub(r" +", " ", shown))
    wrong = [
        f"{there} is shown as {here}"
        for here, there in zip(numbers, found.groups(), strict=True)
        if abs(float(here) - float(there)) > TOLERANCE * max(1.0, abs(float(here)))
    ]
    return "; ".join(wrong) or None


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
def test_what_counts_as_the_output_that_is_shown(shown, output, wrong):
    found = mismatch(shown, output)
    assert (found is None) if wrong is None else (wrong in found)


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


def test_every_tutorial_is_named():
    """In the table of docs/, and in the README."""
    assert {path.stem for path in (ROOT / "docs" / "tutorials").iterdir()} == set(docs_pages.TUTORIALS)
    assert [page for page in TUTORIALS if f"]({page})" not in README] == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@every_page
def test_a_tutorial_runs_from_top_to_bottom(page, tmp_path):
    """In an empty directory, with the commands installed. Downloads are left out."""
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
