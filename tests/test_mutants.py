"""Mutants of a small package: which changes there are, and that tests run with a changed module."""

import ast
import subprocess
import sys

import pytest

from tests.mutants import ROOT, mutants_of, mutated

PATH = "bert_cli/numbers.py"
SOURCE = """\
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import json
LIMIT = 3


def small(number: Literal[1]) -> bool:
    if number is None:
        raise ValueError
    return number < LIMIT
"""
CHANGES = {
    "module: 3 -> 4": "LIMIT = 4",
    "small: number is None -> number is not None": "if number is not None:",
    "small: raise ValueError -> pass": "pass",
    "small: return number < LIMIT -> return None": "return None",
    "small: number < LIMIT -> number <= LIMIT": "return number <= LIMIT",
}
TESTS = """\
from bert_cli.numbers import small
def test_small():
    assert small(2)
def test_large():
    assert not small(4)
def test_limit():
    assert not small(3)
"""
RUN = """\
import pathlib, sys
sys.path.insert(0, {root!r})
from tests.mutants import mutants_of, run_tests
checkout = pathlib.Path({checkout!r})
sys.path.insert(0, {checkout!r})
for mutant in [None, *mutants_of({path!r}, (checkout / {path!r}).read_text())]:
    code, started = run_tests(checkout, mutant, ["test_numbers.py::test_small", "test_numbers.py::test_limit"], {seconds})
    print(code, *started)
"""


def test_changes_leave_out_annotations_and_type_imports():
    mutants = mutants_of(PATH, SOURCE)
    assert {mutant.change: ast.unparse(mutated(ast.parse(SOURCE), mutant.number)) for mutant in mutants}.keys() == (
        CHANGES.keys()
    )
    for mutant in mutants:
        lines = ast.unparse(mutated(ast.parse(SOURCE), mutant.number)).split("\n")
        assert CHANGES[mutant.change] in [line.strip() for line in lines]
    assert [(m.lines, m.is_imported) for m in mutants][:2] == [(range(5, 6), True), (range(9, 10), False)]


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("f(a, b, 1 < c < 2)", ["f(b, a, 1 < c < 2)", "f(a, b, 1 <= c < 2)", "f(a, b, 1 < c <= 2)"]),
        ("x = a and not b", ["x = a or not b", "x = a and b"]),
        ("x = [y for y in z if y]", ["x = [y for y in z if not y]"]),
        ("while f():\n    break", ["while not f():\n    break", "while f():\n    pass"]),
        ("x = True if y else 2.5", ["x = True if not y else 2.5", "x = False if y else 2.5", "x = True if y else 3.5"]),
        ("a.append(b)\na += 1", ["pass\na += 1", "a.append(b)\npass", "a.append(b)\na += 2"]),
        ("x = isinstance(a, b) or f(a, 'b')", ["x = isinstance(a, b) and f(a, 'b')"]),
    ],
)
def test_changes_of_a_statement(source, changed):
    results = [ast.unparse(mutated(ast.parse(source), mutant.number)) for mutant in mutants_of(PATH, source)]
    assert set(results) >= set(changed)
    assert all(ast.unparse(ast.parse(source)) != result for result in results)


def test_rank_depends_on_seed_and_change_but_not_on_lines():
    ranks = {mutant.change: mutant.rank for mutant in mutants_of(PATH, SOURCE)}
    moved = {mutant.change: mutant.rank for mutant in mutants_of(PATH, "# comment\n" + SOURCE + "LOW = 1\n")}
    assert moved.items() > ranks.items()
    assert not set(ranks.values()) & {mutant.rank for mutant in mutants_of(PATH, SOURCE, seed=1)}


def outcomes(checkout, source, tests, seconds=60):
    """Return the lines that RUN prints in a checkout of one module and one test file."""
    files = {"bert_cli/__init__.py": "", PATH: source, "test_numbers.py": tests, "pytest.ini": "[pytest]\n"}
    for path, text in files.items():
        (checkout / path).parent.mkdir(exist_ok=True)
        (checkout / path).write_text(text, "utf-8")
    program = RUN.format(root=str(ROOT), checkout=str(checkout), path=PATH, seconds=seconds)
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def test_tests_run_with_the_changed_module(tmp_path):
    assert outcomes(tmp_path, SOURCE, TESTS) == [
        "0 test_numbers.py::test_small test_numbers.py::test_limit",  # the original
        "1 test_numbers.py::test_small test_numbers.py::test_limit",  # LIMIT = 4
        "1 test_numbers.py::test_small",  # is not None
        "0 test_numbers.py::test_small test_numbers.py::test_limit",  # without the exception: no test has None
        "1 test_numbers.py::test_small",  # return None
        "1 test_numbers.py::test_small test_numbers.py::test_limit",  # <=
    ]
    assert (tmp_path / PATH).read_text("utf-8") == SOURCE


def test_a_test_that_does_not_end_is_stopped(tmp_path):
    tests = "import time\ndef test_small():\n    time.sleep(999)\n"
    [line] = outcomes(tmp_path, "", tests, seconds=3)
    assert line.split()[0] == "None"  # on a busy machine, the test may not have started
