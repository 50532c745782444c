"""Limits for the English in every directory, and checks that docstrings refer to existing names.

The upper limits hold for the package, the tests and the benchmarks. Lower limits do not hold for tests, because their
texts describe scenarios. In the package every summary fits on one line and ends with a period, and public functions
with three or more parameters describe them. tests/prose.py measures.
"""

import functools
import pathlib
import re
from collections import defaultdict

import pytest

from tests.prose import RATES, ROOT, Function, Room, Text, add_file, figure, places, room_names, rooms, words

# A lower bound means nothing for a room with fewer words.
FEWEST_WORDS = 600
# Files of Google's repositories, and of Hugging Face's, that comments name as a source.
FILES_ELSEWHERE = {"modeling.py", "optimization.py", "tokenization.py", "configure_pretraining.py"}
DATA_SUFFIXES = {
    ".ckpt",
    ".csv",
    ".h",
    ".html",
    ".json",
    ".jsonl",
    ".md",
    ".py",
    ".safetensors",
    ".tfrecord",
    ".tsv",
    ".txt",
}
# Modules of other packages that are also called like a module of this one.
MODULES_ELSEWHERE = {"json", "keras", "onnx", "tokenize"}


def package() -> dict[str, Room]:
    """Return the rooms of the package."""
    return {name: room for name, room in rooms().items() if name.split("/")[0] == "bert_cli"}


def misses(name: str, room: Room) -> list[str]:
    """Return one message per rate beyond its limit, with the first places that it counts."""
    has_minimum = words(room) >= FEWEST_WORDS and name.split("/")[0] != "tests"
    messages = []
    for rate_name, rate in RATES.items():
        value = figure(room, rate)
        if rate.is_minimum and value < rate.target and has_minimum:
            messages.append(f"{name}: {rate_name} is {value:.2f}, at least {rate.target} is needed")
        if not rate.is_minimum and value > rate.target:
            hits = "".join(f"\n    {place}" for place in places(room, rate)[:5])
            messages.append(f"{name}: {rate_name} is {value:.2f}, at most {rate.target} is allowed{hits}")
    return messages


def bad_summaries(room: Room) -> list[str]:
    """Return the docstrings with a first line that passes column 100 or has no period."""
    bad = []
    for text in room.docstrings:
        summary = text.text.split("\n")[0]
        if text.column + len(summary) > 100 or not summary.endswith("."):
            bad.append(f"{text.place}: {summary}")
    return bad


def undescribed(room: Room) -> list[str]:
    """Return the public functions with three or more parameters that their docstrings leave out."""
    functions = [(text, text.node) for text in room.docstrings if isinstance(text.node, Function)]
    return [
        f"{text.place}: {node.name}"
        for text, node in functions
        if not node.name.startswith("_") and len(parameters(node)) >= 3 and not _describes(text.text, parameters(node))
    ]


def parameters(function: Function) -> list[str]:
    """Return a function's parameter names, without self and cls."""
    arguments = function.args
    names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return [name for name in names if name not in ("self", "cls")]


def _describes(docstring: str, names: list[str]) -> bool:
    """Return whether there is a section Args, a reference to one, or a text that names every parameter."""
    refers = re.search(r"\b[Ss]ee `?([A-Z]|\w+[._])\w+", docstring)
    return bool(refers) or "Args:\n" in docstring or all(re.search(rf"\b{name}\b", docstring) for name in names)


def stale_arguments(room: Room) -> list[str]:
    """Return the entries in Args sections that are not parameters."""
    stale = []
    for text in room.docstrings:
        section = re.search(r"^Args:\n((?: +.*\n?|\n(?= ))*)", text.text, re.MULTILINE)
        if section and isinstance(text.node, Function):
            variadic = [argument.arg for argument in (text.node.args.vararg, text.node.args.kwarg) if argument]
            entries = re.findall(r"^ {4}\*{0,2}([a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*):", section[1], re.MULTILINE)
            names = [name.strip(" *") for entry in entries for name in entry.split(",")]
            stale += [f"{text.place}: {name}" for name in names if name not in parameters(text.node) + variadic]
    return stale


@functools.cache
def sources() -> dict[str, str]:
    """Return each module's source by its dotted path below bert_cli, and "" for a directory."""
    package = ROOT / "bert_cli"
    paths = [path for path in package.rglob("*") if path.suffix == ".py" or path.is_dir()]
    dotted = {path: ".".join(path.relative_to(package).with_suffix("").parts) for path in paths}
    return {name: "" if path.is_dir() else path.read_text(encoding="utf-8") for path, name in dotted.items() if name}


@functools.cache
def files() -> set[str]:
    """Return the paths of all Python files in the checkout."""
    folders = [ROOT / name for name in ("bert_cli", "tests", "benchmarks")]
    paths = [path for folder in folders for path in folder.rglob("*.py")] + list(ROOT.glob("*.py"))
    return {path.relative_to(ROOT).as_posix() for path in paths}


def path_of(place: str) -> str:
    """Return the path of "path:line"."""
    return place.partition(":")[0]


def stale_references(text: Text, variables: set[str]) -> list[str]:
    """Return a text's references to modules, files and names that do not exist.

    "layout.py" and "model/layout.py" are files. "model.layout", "layout.Layout" and
    "model.layout.Layout" are modules and names in them, if the first word is a module or a room,
    and not in the file's `variables`.
    """
    stale = [
        path
        for path in re.findall(r"(?<![\w./{}-])[a-z_][\w/]*\.py\b", text.text)
        if path not in FILES_ELSEWHERE and not any(f"/{file}".endswith(f"/{path}") for file in files())
    ]
    for reference in re.findall(r"(?<![\w./-])[a-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w(/])", text.text):
        first, *rest = reference.removeprefix("bert_cli.").split(".")
        modules = [name for name in sources() if f".{name}".endswith(f".{first}")]
        is_name_elsewhere = first in variables | MODULES_ELSEWHERE or pathlib.Path(reference).suffix in DATA_SUFFIXES
        if modules and not is_name_elsewhere and not any(_has(name, rest) for name in modules):
            stale.append(reference)
    return [f"{text.place}: {reference}" for reference in stale]


def _has(module: str, names: list[str]) -> bool:
    """Return whether a module or room has a module of these names, or a name in it."""
    if not names:
        return True
    if f"{module}.{names[0]}" in sources():
        return _has(f"{module}.{names[0]}", names[1:])
    return all(re.search(rf"\b{name}\b", sources()[module]) for name in names)


@pytest.mark.parametrize("name", sorted(room_names()))
def test_a_room_keeps_its_limits(name):
    messages = misses(name, rooms()[name])
    assert not messages, "\n".join(messages)


@pytest.mark.parametrize("check", [bad_summaries, undescribed])
def test_docstrings_have_summaries_and_parameters(check):
    assert [place for room in package().values() for place in check(room)] == []


def test_every_argument_that_a_docstring_lists_exists():
    assert [place for room in rooms().values() for place in stale_arguments(room)] == []


def test_every_module_and_name_that_a_text_refers_to_exists():
    variables = defaultdict(set)
    for room in package().values():
        for name in room.names:
            variables[path_of(name.place)].add(name.name)
    texts = [text for room in package().values() for text in room.texts]
    assert [place for text in texts for place in stale_references(text, variables[path_of(text.place)])] == []


@pytest.mark.parametrize(
    ("comment", "stale"),
    [
        ("see layout.py, model/layout.py and tests/test_words.py", []),
        ("see model.layout, layout.Layout, bert_cli.model.layout.Layout and flags.option", []),
        ("the loss of session.run, tf.gather(x) or np.load; config.json, model.ckpt and modeling.py", []),
        ("see model/lay_out.py", ["model/lay_out.py"]),
        ("see layout.no_such_name", ["layout.no_such_name"]),
        ("see model.lay_out.Layout.", ["model.lay_out.Layout"]),
        ("`heads.losses.NO_SUCH_NAME`", ["heads.losses.NO_SUCH_NAME"]),
    ],
)
def test_references_to_nothing_are_recognized(comment, stale):
    place = "bert_cli/model/ops.py:1"
    assert stale_references(Text(place, comment, None, 0), {"session"}) == [f"{place}: {name}" for name in stale]


def test_texts_are_counted_and_checked():
    source = '''
def f(a, b, wanted):
    """Whether a is what b says, and return it
    if used.
    """
    for each in a:  # where it is none
        pass


class A:
    """Noun.

    Args:
        a: no function.
    """

    def g(self, a, b, c):
        """Return a of the b.

        Args:
            a: its text.
            b, d: of another.
        """
'''
    room = Room([], [])
    add_file(room, "a.py", source)
    counts = {name: len(places(room, rate)) for name, rate in RATES.items() if places(room, rate)}
    assert counts == {
        "where": 1, "if": 1, "what": 1, "of_the": 2, "says": 1, "use": 1, "return": 2, "none": 1,
        "headless": 1, "no_sentence": 1, "vague": 2,
    }  # fmt: skip
    assert bad_summaries(room) == ["a.py:3: Whether a is what b says, and return it"]
    assert undescribed(room) == ["a.py:3: f"]
    assert stale_arguments(room) == ["a.py:18: d"]
    assert figure(room, RATES["vague"]) == 1000 * 2 / 8
