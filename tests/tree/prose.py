"""Limits for the English in every directory, and checks that docstrings refer to existing names.

The upper limits hold for the package, the tests and the benchmarks. Lower limits do not hold for tests, because their
texts describe scenarios. In the package every summary fits on one line and ends with a period. tests/prose.py
measures.
"""

import ast
import pathlib
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.house_figures import Checkout, public_methods
from tests.prose import RATES, Function, Room, Text, figure, places, rooms, words

PYTHON_FILES = ("bert_cli/**/*.py", "tests/**/*.py", "benchmarks/**/*.py", "*.py")
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
# Names of files begin with a point, or end in such a suffix.
FILE_NAMES = {suffix.removeprefix(".") for suffix in DATA_SUFFIXES} | {
    "ann", "feather", "git", "gz", "index", "keras", "npy", "npz", "ods", "parquet", "xls", "xlsb", "xlsm", "xlsx",
}  # fmt: skip
# Modules of other packages that are also called like a module of this one.
MODULES_ELSEWHERE = {"json", "keras", "onnx", "tokenize"}


def misses(name: str, room: Room) -> list[str]:
    """Return the places that a rate beyond its limit counts, or the room if a rate is too low."""
    has_minimum = words(room) >= FEWEST_WORDS and name.split("/")[0] != "tests"
    messages = []
    for rate_name, rate in RATES.items():
        value = figure(room, rate)
        if rate.is_minimum and value < rate.target and has_minimum:
            messages.append(
                f"{name}/__init__.py:1: {rate_name} is {value:.2f}, at least {rate.target}: write sentences"
            )
        if not rate.is_minimum and value > rate.target:
            reason = f"{rate_name} is {value:.2f} in {name}, at most {rate.target}: write fewer"
            messages += [f"{place} ({reason})" for place in places(room, rate)[:5]]
    return messages


def bad_summaries(room: Room) -> list[str]:
    """Return the docstrings with a first line that passes column 100 or has no period."""
    bad = []
    for text in room.docstrings:
        summary = text.text.split("\n")[0]
        if text.column + len(summary) > 100 or not summary.endswith("."):
            bad.append(f"{text.place}: {summary}")
    return [f"{summary}: one line of at most 100 columns with a period is needed" for summary in bad]


def parameters(function: Function) -> list[str]:
    """Return a function's parameter names, without self and cls."""
    arguments = function.args
    names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return [name for name in names if name not in ("self", "cls")]


def stale_arguments(room: Room) -> list[str]:
    """Return the entries in Args sections that are not parameters."""
    stale = []
    for text in room.docstrings:
        section = re.search(r"^Args:\n((?: +.*\n?|\n(?= ))*)", text.text, re.MULTILINE)
        if section and isinstance(text.node, Function):
            variadic = [argument.arg for argument in (text.node.args.vararg, text.node.args.kwarg) if argument]
            entries = re.findall(r"^ {4}\*{0,2}([a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*):", section[1], re.MULTILINE)
            names = [name.strip(" *") for entry in entries for name in entry.split(",")]
            stale += [
                f"{text.place}: {name}: no such parameter"
                for name in names
                if name not in parameters(text.node) + variadic
            ]
    return stale


class Names:
    """The modules, directories and Python files of a checkout, and the names in them."""

    def __init__(self, checkout: Checkout):
        """Read the modules of the package."""
        package = checkout.root / "bert_cli"
        folders = [path for path in package.rglob("*") if path.is_dir()]
        # Dotted path below bert_cli -> source, and "" for a directory.
        self.sources = {".".join(path.relative_to(package).parts): "" for path in folders}
        self.sources |= {
            ".".join(path.relative_to(package).with_suffix("").parts): checkout.read(module)
            for module, path in checkout.modules.items()
        }
        self.files = [f"/{path}" for path in checkout.paths(*PYTHON_FILES)]
        self.words = {name: set(re.findall(r"\w+", source)) for name, source in self.sources.items()}

    def has_file(self, path: str) -> bool:
        """Return whether a path is the end of a file's path."""
        return any(file.endswith(f"/{path}") for file in self.files)

    def modules(self, name: str) -> list[str]:
        """Return the modules and directories with a name, such as layout or model.layout."""
        return [module for module in self.sources if f".{module}".endswith(f".{name}")]

    def has(self, module: str, names: list[str]) -> bool:
        """Return whether a module or room has a module of these names, or a name in it."""
        if not names:
            return True
        if f"{module}.{names[0]}" in self.sources:
            return self.has(f"{module}.{names[0]}", names[1:])
        return set(names) <= self.words[module]


def path_of(place: str) -> str:
    """Return the path of "path:line"."""
    return place.partition(":")[0]


def stale_references(text: Text, variables: set[str], names: Names) -> list[str]:
    """Return a text's references to modules, files and names that do not exist.

    "layout.py" and "model/layout.py" are files. "model.layout", "layout.Layout" and
    "model.layout.Layout" are modules and names in them, if the first word is a module or a room,
    and not in the file's `variables`.
    """
    stale = [
        path
        for path in re.findall(r"(?<![\w./{}-])[a-z_][\w/]*\.py\b", text.text)
        if path not in FILES_ELSEWHERE and not names.has_file(path)
    ]
    for reference in re.findall(r"(?<![\w./-])[a-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w(/])", text.text):
        first, *rest = reference.removeprefix("bert_cli.").split(".")
        modules = names.modules(first)
        is_name_elsewhere = first in variables | MODULES_ELSEWHERE or pathlib.Path(reference).suffix in DATA_SUFFIXES
        if modules and not is_name_elsewhere and not any(names.has(name, rest) for name in modules):
            stale.append(reference)
    return [f"{text.place}: {reference}: no such file, module or name" for reference in stale]


def members_of(checkout: Checkout) -> dict[str, set[str]]:
    """Return the public methods and the fields of each class, by its name."""
    members: dict[str, set[str]] = defaultdict(set)
    for name, methods in public_methods(checkout).items():
        members[name.rpartition(".")[2]] |= methods
    for node in checkout.nodes(ast.ClassDef):
        fields = (ast.unparse(part.target) for part in node.body if isinstance(part, ast.AnnAssign))
        members[node.name].update(fields)
    return members


def stale_members(text: Text, members: dict[str, set[str]]) -> list[str]:
    """Return names such as `.read` that no class in the same text has; file suffixes do not count."""
    classes = set(re.findall(r"\w+", text.text)) & set(members)
    known = set().union(*(members[name] for name in classes)) | FILE_NAMES
    names = re.findall(r"(?<![\w./*\])}>'\"-])\.([a-z_]\w*)(?![\w/.*])", text.text)
    return [f"{text.place}: .{name}: no class that the text names has it" for name in names if name not in known]


def rates(checkout: Checkout) -> Iterator[str]:
    """Yield the places of rates beyond their limits."""
    for name, room in rooms(checkout).items():
        yield from misses(name, room)


def docstrings(checkout: Checkout) -> Iterator[str]:
    """Yield docstrings of the package without summary, and arguments that do not exist."""
    for name, room in rooms(checkout).items():
        if name.split("/")[0] == "bert_cli":
            yield from bad_summaries(room)
        yield from stale_arguments(room)


def references(checkout: Checkout) -> Iterator[str]:
    """Yield references to nothing in the package's texts."""
    names, members = Names(checkout), members_of(checkout)
    for room_name, room in rooms(checkout).items():
        if room_name.split("/")[0] != "bert_cli":
            continue
        variables = defaultdict(set)
        for name in room.names:
            variables[path_of(name.place)].add(name.name)
        for text in room.texts:
            yield from stale_references(text, variables[path_of(text.place)], names)
            yield from stale_members(text, members)


CHECKS = (rates, docstrings, references)
