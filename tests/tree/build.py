"""Makefile, continuous integration, and files and commands that setup.py ships."""

import ast
import fnmatch
import pathlib
import re
from collections.abc import Iterator

from bert_cli.__main__ import COMMANDS
from tests.clone import DEVELOPER_TARGETS, TARGETS
from tests.house_figures import Checkout, parse_source

CI, WORKFLOW = ".ci/run", ".github/workflows/ci.yml"


def targets_of_ci(checkout: Checkout) -> Iterator[str]:
    """Yield differences between both CI files, and steps without a target."""
    ours = re.findall(r"^make (.+)$", checkout.text(CI), re.MULTILINE)
    theirs = re.findall(r"^ *- run: make (.+)$", checkout.text(WORKFLOW), re.MULTILINE)
    if ours != theirs or checkout.text(WORKFLOW).count("run:") != len(ours):
        yield f"{checkout.place(WORKFLOW, 'run: make')}: its steps are {theirs}: they should be those of {CI}, {ours}"
    for target in ours:
        if not re.search(rf"^{target}:", checkout.text("Makefile"), re.MULTILINE):
            yield f"{checkout.place(CI, f'make {target}')}: the Makefile has no target {target}: name one"


def actions(checkout: Checkout) -> Iterator[str]:
    """Yield actions of workflows without a commit, as a tag may move."""
    for path in checkout.paths(".github/workflows/*.yml"):
        for action in re.findall(r"uses: (\S+)", checkout.text(path)):
            if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action):
                yield f"{checkout.place(path, action)}: {action} may change: name its commit, with the tag in a comment"


def targets_of_make(checkout: Checkout) -> Iterator[str]:
    """Yield targets that no test runs and no list of developers' targets has; tests/test_clone.py runs the others."""
    declared = re.search(r"^.PHONY: (.*)$", checkout.text("Makefile").replace("\\\n", ""), re.MULTILINE)
    names = set(declared[1].split()) if declared else set()
    listed = {target.split()[0] for target in TARGETS} | DEVELOPER_TARGETS
    for target in sorted(names - listed):
        yield f"{checkout.place('Makefile', f'{target}:')}: no test runs {target}: add it to TARGETS in tests/clone.py"
    for target in sorted(listed - names):
        yield f"{checkout.place('tests/clone.py', target)}: the Makefile has no target {target}: remove it"


def entry_points(checkout: Checkout) -> Iterator[str]:
    """Yield commands that setup.py does not install, and modules at the top that are no command."""
    setup = checkout.text("setup.py")
    points = {f'"{command} = bert_cli.{module}:main"' for command, (module, _) in COMMANDS.items()}
    points.add('"bert = bert_cli.__main__:main"')  # the umbrella command does not list itself
    for point in sorted(points):
        if point not in setup:
            yield f"{checkout.place('setup.py', 'console_scripts')}: {point} is missing: add it"
    if setup.count(":main") > len(points):
        yield f"{checkout.place('setup.py', ':main')}: more entry points than commands: list them in COMMANDS"
    modules = {module for module, _ in COMMANDS.values()}
    for path in checkout.paths("bert_cli/*.py"):
        name = pathlib.Path(path).stem
        if not name.startswith("__") and name not in modules:
            yield f"{path}:1: no command: move it into a room, or add it to COMMANDS in bert_cli/__main__.py"


def package_data(checkout: Checkout) -> dict[str, list[str]]:
    """Return the patterns for data files in setup.py by package; "" is for every package."""
    calls = (node for node in ast.walk(parse_source(checkout.text("setup.py"))) if isinstance(node, ast.Call))
    words = (word for node in calls for word in node.keywords)
    return next((ast.literal_eval(word.value) for word in words if word.arg == "package_data"), {})


def is_shipped(path: str, patterns: dict[str, list[str]], root: pathlib.Path) -> bool:
    """Return whether a file is a module in a package, or matches its nearest package's patterns.

    Args:
        path: the file's path below the checkout.
        patterns: see `package_data`.
        root: the checkout.
    """
    package = next(folder for folder in pathlib.PurePath(path).parents if (root / folder / "__init__.py").exists())
    inside = pathlib.PurePath(path).relative_to(package).as_posix()
    if path.endswith(".py") and "/" not in inside:
        return True
    package_patterns = [*patterns.get("", []), *patterns.get(".".join(package.parts), [])]
    return any(
        pattern.count("/") == inside.count("/") and fnmatch.fnmatch(inside, pattern) for pattern in package_patterns
    )


def shipped_files(checkout: Checkout) -> Iterator[str]:
    """Yield package files that no distribution has."""
    patterns = package_data(checkout)
    for path in checkout.paths("bert_cli/**/*"):
        if not is_shipped(path, patterns, checkout.root):
            yield f"{path}:1: not in the wheel: add a pattern to package_data in setup.py"


def install_advice(checkout: Checkout) -> Iterator[str]:
    """Yield commands that install the package and are not worded by runtime/installing.py, which knows the way."""
    for path in checkout.paths("bert_cli/**/*.py"):
        text = checkout.text(path)
        if path != "bert_cli/runtime/installing.py" and (match := re.search(r"pip install[^\n]*(bert_cli|\.\[)", text)):
            line = text[: match.start()].count("\n") + 1
            yield f"{path}:{line}: a way to install the package: call how_to_install in bert_cli/runtime/installing.py"


CHECKS = (targets_of_ci, actions, targets_of_make, entry_points, shipped_files, install_advice)
