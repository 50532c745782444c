"""Random code changes that the fast tests should notice: `python -m tests.mutants`.

A mutant is one module with one changed expression or statement, such as `<=` instead of `<`. Each
mutant runs the fast tests that cover the changed statement, in a fork that has TensorFlow imported.
A loader compiles the changed module, so no file changes, and subprocesses that tests start run the
original code. The script needs the packages coverage and pytest-cov.
"""

import argparse
import ast
import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = "bert_cli"
ROOMS = ("examples", "features", "opening", "predicting", "reading", "run_directory", "runs", "serving")
# Import them once for all mutants, because they take seconds.
IMPORTS = ("tensorflow", "keras", "pandas", "sklearn.linear_model", "scipy.stats", "onnxruntime")
COVERAGE, DURATIONS = ".coverage", "durations.xml"
# Limits per mutant. A survivor runs all of its tests, and a command takes seconds. There is no limit
# for the tests' durations: a busy machine would have fewer tests, and more survivors.
MAX_OWN_TESTS, MAX_CALLER_TESTS = 60, 12
# A test takes longer alone than its recorded duration if other tests made its fixtures before.
MIN_SECONDS, SLOWDOWN = 120, 5

OPPOSITES: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
}


class Slot(NamedTuple):
    """A node's place in its parent, and the statement that has it."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    scope: str  # its functions and classes, with dots between
    lines: range  # the statement's lines, without a compound statement's body
    is_imported: bool  # runs when the module is imported


class Mutant(NamedTuple):
    """A change of a module; `number` is the change's index in `changes(slots)`."""

    path: str
    number: int
    change: str
    scope: str
    lines: range
    is_imported: bool
    rank: str  # a random text that decides which mutants are drawn

    def __str__(self) -> str:
        return f"{self.path}:{self.lines[0]}: {self.change}"


def slots_of(node: ast.AST, scope: str = "", lines: range = range(0), is_imported: bool = True) -> Iterator[Slot]:
    """Yield all places in a syntax tree with a node that may change; annotations and type imports are omitted."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_params"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            child_scope, child_lines, child_imported = scope, lines, is_imported
            if isinstance(child, ast.stmt):
                body = getattr(child, "body", None)
                end = body[0].lineno if body else (child.end_lineno or child.lineno) + 1
                child_lines = range(child.lineno, max(end, child.lineno + 1))
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                child_scope = f"{scope}.{child.name}".lstrip(".")
            if field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                child_imported = False
            yield Slot(node, field, index, child, child_scope, child_lines, child_imported)
            yield from slots_of(child, child_scope, child_lines, child_imported)


def changed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield replacements for a node, each with one change."""
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                changed = OPPOSITES[type(operator)]()
                yield ast.Compare(node.left, [*node.ops[:index], changed, *node.ops[index + 1 :]], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(OPPOSITES[type(node.op)](), node.values)
        case ast.BinOp() if type(node.op) in OPPOSITES:
            yield ast.BinOp(node.left, OPPOSITES[type(node.op)](), node.right)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.If() | ast.While() | ast.IfExp() if not isinstance(node.test, ast.Compare | ast.UnaryOp):
            fields = dict(ast.iter_fields(node))
            yield type(node)(**fields | {"test": ast.UnaryOp(ast.Not(), node.test)})
        case ast.comprehension(ifs=[condition, *others]) if not isinstance(condition, ast.Compare | ast.UnaryOp):
            negated = ast.UnaryOp(ast.Not(), condition)
            yield ast.comprehension(node.target, node.iter, [negated, *others], node.is_async)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Call(args=[ast.Name() as first, ast.Name() as second, *others]):
            if ast.unparse(node.func) != "isinstance":
                yield ast.Call(node.func, [second, first, *others], node.keywords)


def changes(tree: ast.AST) -> list[tuple[Slot, ast.AST]]:
    """Return all changes that a module can have, in the order of its syntax tree."""
    return [(slot, changed) for slot in slots_of(tree) for changed in changed_nodes(slot.node)]


def first_line(node: ast.AST) -> str:
    return ast.unparse(node).split("\n", 1)[0]


def mutants_of(path: str, source: str, seed: int = 0) -> list[Mutant]:
    """Return all mutants that a module can have.

    A mutant's rank depends on the seed, the module's name, the function and the change. It does not
    depend on line numbers and rooms, so that two versions draw the same mutants in common code.
    """
    mutants, occurrences = [], Counter[str]()
    name = os.path.basename(path)
    for number, (slot, changed) in enumerate(changes(ast.parse(source))):
        change = f"{slot.scope or 'module'}: {first_line(slot.node)} -> {first_line(changed)}"
        occurrences[change] += 1
        text = f"{seed} {name} {change} {occurrences[change]}"
        rank = hashlib.sha256(text.encode()).hexdigest()
        mutants.append(Mutant(path, number, change, slot.scope, slot.lines, slot.is_imported, rank))
    return mutants


def mutated(tree: ast.Module, number: int) -> ast.Module:
    """Return a syntax tree after one change, given by its index in `changes`."""
    slot, changed = changes(tree)[number]
    changed = ast.copy_location(changed, slot.node)
    if slot.index is None:
        setattr(slot.parent, slot.field, changed)
    else:
        getattr(slot.parent, slot.field)[slot.index] = changed
    return ast.fix_missing_locations(tree)


class MutantLoader(importlib.machinery.SourceFileLoader):
    """Finder and loader for a mutant's module; other modules are left to other finders."""

    def __init__(self, root: pathlib.Path, mutant: Mutant):
        name = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        super().__init__(name, str(root / mutant.path))
        self.number = mutant.number

    def find_spec(self, name: str, path: object = None, target: object = None):
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str):
        tree = mutated(ast.parse(pathlib.Path(self.path).read_bytes()), self.number)
        return compile(tree, self.path, "exec", dont_inherit=True)


class ChosenTests:
    """pytest plugin that runs only some tests, and writes each test's name before it starts."""

    def __init__(self, tests: list[str], report: pathlib.Path):
        self.order = {test: index for index, test in enumerate(tests)}
        self.report = report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )

    def pytest_runtest_logstart(self, nodeid):
        with self.report.open("a", encoding="utf-8") as file:
            file.write(nodeid + "\n")


def _run_in_child(
    root: pathlib.Path, mutant: Mutant | None, tests: list[str], folder: str, report: pathlib.Path
) -> int:
    """Run tests in a new session with its own temporary files, and return pytest's exit code."""
    os.setsid()
    with open(os.path.join(folder, "output"), "wb") as output:
        for descriptor in (1, 2):
            os.dup2(output.fileno(), descriptor)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    if mutant is not None:
        sys.meta_path.insert(0, MutantLoader(root, mutant))
    files = dict.fromkeys(test.split("::", 1)[0] for test in tests)
    options = ["-x", f"--rootdir={root}", f"--basetemp={folder}/pytest", "-p", "no:cacheprovider"]
    return pytest.main([*options, *files], plugins=[ChosenTests(tests, report)])


def run_tests(
    root: pathlib.Path, mutant: Mutant | None, tests: list[str], seconds: float
) -> tuple[int | None, list[str]]:
    """Run tests in a fork until one fails.

    Returns:
        pytest's exit code, or None after a timeout, and the tests that started.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "started")
        report.touch()
        child = os.fork()
        if child == 0:
            try:
                os._exit(_run_in_child(root, mutant, tests, folder, report))
            finally:  # never run the parent's code
                os._exit(3)
        end = time.monotonic() + seconds
        while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):  # the child and its own processes
            os.killpg(child, signal.SIGKILL)
        if status == (0, 0):
            os.waitpid(child, 0)
        code = None if status == (0, 0) else os.waitstatus_to_exitcode(status[1])
        return code, report.read_text(encoding="utf-8").splitlines()


class FastTests:
    """The fast tests, their durations, and the statements that each one covers."""

    def __init__(self, root: pathlib.Path, folder: pathlib.Path):
        """Read the files in `folder`; run the tests first if it does not have them."""
        import coverage

        self.root = root
        if not (folder / DURATIONS).exists():
            self._measure(folder)
        self.data = coverage.CoverageData(str(folder / COVERAGE))
        self.data.read()
        self.durations: dict[str, float] = {}
        for case in xml.etree.ElementTree.parse(folder / DURATIONS).iter("testcase"):
            classes = case.get("classname", "").removeprefix(case.get("file", "")[:-3].replace("/", ".")).split(".")
            name = "::".join([case.get("file", ""), *filter(None, classes), case.get("name", "")])
            self.durations[name] = float(case.get("time", 0))
        self.broken: set[str] = set()  # tests that fail in a fork without a change
        self.passed: set[str] = set()

    def _measure(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "coveragerc").write_text(f"[run]\nbranch = true\ndata_file = {folder / COVERAGE}\n", "utf-8")
        command = [sys.executable, "-m", "pytest", "-n", "2", "--dist=loadfile", "--no-loadscope-reorder"]
        command += ["-m", "not slow", f"--cov={PACKAGE}", "--cov-context=test", "--cov-report="]
        command += [f"--cov-config={folder / 'coveragerc'}", "-o", "junit_family=xunit1"]
        subprocess.run([*command, f"--junitxml={folder / DURATIONS}"], cwd=self.root, check=True)

    def contexts(self, path: str) -> dict[int, set[str]]:
        """Return the tests that run each line of a module; "" is an import outside all tests."""
        by_line = self.data.contexts_by_lineno(str(self.root / path))
        return {line: {context.rsplit("|", 1)[0] for context in contexts} for line, contexts in by_line.items()}

    def covering(self, mutant: Mutant, contexts: dict[int, set[str]]) -> list[str]:
        """Return the fastest tests that run a mutant's statement.

        Most are the module's own tests, and some its callers' tests. One test per function comes
        before more of its parameters. If the statement runs at import, these are tests that run any
        statement in the module.
        """
        lines = contexts.keys() if mutant.is_imported else mutant.lines
        tests = {test for line in lines for test in contexts.get(line, ())} - self.broken
        parent, name = os.path.split(mutant.path.removeprefix(f"{PACKAGE}/").removesuffix(".py"))
        own_tests = os.path.join("tests", parent, f"test_{name}")
        own, callers, functions = [], [], Counter[str]()
        for test in sorted(tests & self.durations.keys(), key=lambda test: (self.durations[test], test)):
            function = test.split("[", 1)[0]
            (own if test.startswith(own_tests) else callers).append((functions[function], self.durations[test], test))
            functions[function] += 1
        chosen = sorted(own)[:MAX_OWN_TESTS] + sorted(callers)[:MAX_CALLER_TESTS]
        # Run a file's tests together, as they share fixtures; run the fastest file first.
        seconds = defaultdict[str, float](float)
        for *_, duration, test in chosen:
            seconds[test.split("::", 1)[0]] += duration
        return [test for *_, test in sorted(chosen, key=lambda row: (seconds[row[-1].split("::", 1)[0]], row[-2]))]

    def outcome(self, mutant: Mutant, contexts: dict[int, set[str]]) -> str:
        """Run a mutant, and return "killed", "survived" or "not covered", with the killing test."""
        while tests := self.covering(mutant, contexts):
            limit = MIN_SECONDS + SLOWDOWN * sum(self.durations[test] for test in tests)
            code, started = run_tests(self.root, mutant, tests, limit)
            self.passed.update(started if code == 0 else started[:-1])
            if code == 0:
                return f"survived {len(tests)} tests"
            # Without a change, the last test must pass, or all tests if none could start.
            suspects = started[-1:] or tests
            if self.passed.issuperset(suspects) or run_tests(self.root, None, suspects, limit)[0] == 0:
                self.passed.update(suspects)
                reason = started[-1] if started else "an import"
                return f"killed by {reason}" + (" after a timeout" if code is None else "")
            self.broken.update(suspects)
            print(f"left out, as they fail in a fork without a change: {', '.join(suspects)}", flush=True)
        return "not covered"


def print_coverage(folder: pathlib.Path) -> None:
    """Print the covered shares of statements and branches per room."""
    command = [sys.executable, "-m", "coverage", "json", "-q", f"--data-file={folder / COVERAGE}"]
    subprocess.run([*command, "-o", folder / "coverage.json"], check=True)
    rooms = defaultdict[str, Counter[str]](Counter)
    for path, values in json.loads((folder / "coverage.json").read_text("utf-8"))["files"].items():
        parts = pathlib.PurePath(path[path.rindex(f"{PACKAGE}/") :]).parts
        for room in (parts[1] if len(parts) > 2 else "commands", "all"):
            rooms[room].update({name: value for name, value in values["summary"].items() if isinstance(value, int)})
    print("| room | statements (%) | branches (%) |\n|---|---|---|")
    for room, sums in sorted(rooms.items()):
        statements = 100 * sums["covered_lines"] / max(sums["num_statements"], 1)
        branches = 100 * sums["covered_branches"] / max(sums["num_branches"], 1)
        print(f"| {room} | {statements:.2f} | {branches:.2f} |")


def main() -> None:
    """Draw mutants, run them, and print each outcome and the counts per room."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("places", nargs="*", default=ROOMS, help="rooms and modules to change, such as serving")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200, help="number of mutants")
    parser.add_argument("--checkout", type=pathlib.Path, default=ROOT, help="another version to change and test")
    parser.add_argument("--data", type=pathlib.Path, help="coverage of the fast tests; default: build/mutants")
    arguments = parser.parse_args()
    root = arguments.checkout.resolve()
    folder = (arguments.data or root / "build" / "mutants").resolve()
    tests = FastTests(root, folder)
    print_coverage(folder)
    places = [root / PACKAGE / place for place in arguments.places]
    paths = {path for place in places for path in [place, *place.rglob("*.py")] if path.is_file()}
    names = sorted(path.relative_to(root).as_posix() for path in paths)
    mutants = [m for name in names for m in mutants_of(name, (root / name).read_text("utf-8"), arguments.seed)]
    for name in IMPORTS:
        importlib.import_module(name)
    os.chdir(root)
    sys.path.insert(0, str(root))
    counts = defaultdict[str, Counter[str]](Counter)
    for mutant in sorted(mutants, key=lambda mutant: mutant.rank)[: arguments.count]:
        outcome = tests.outcome(mutant, tests.contexts(mutant.path))
        print(f"{mutant}: {outcome}", flush=True)
        for room in (mutant.path.split("/")[1], "all"):
            counts[room][outcome.split(" ")[0]] += 1
    print("| room | killed | survived | not covered | killed (%) |\n|---|---|---|---|---|")
    for room, count in sorted(counts.items()):
        share = 100 * count["killed"] / count.total()
        print(f"| {room} | {count['killed']} | {count['survived']} | {count['not']} | {share:.1f} |")


if __name__ == "__main__":
    main()
