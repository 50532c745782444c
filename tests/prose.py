"""Measure the English in docstrings, comments and names, for each directory.

`python -m tests.prose` prints all figures for all rooms. `python -m tests.prose bert_cli/model
where` lists the places that a figure counts. tests/tree/prose.py has the limits.
"""

import ast
import functools
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.house_figures import HOUSE, Checkout, nodes_of, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function


class Text(NamedTuple):
    """A docstring or a comment.

    Attributes:
        place: "path:line" below the checkout.
        text: the words, without quotes and number signs.
        node: documented module, class or function; None for a comment.
        column: column where the text starts.
    """

    place: str
    text: str
    node: Documented | None
    column: int


class Name(NamedTuple):
    """A variable that is assigned, or a parameter."""

    place: str
    name: str


class Room(NamedTuple):
    """Texts and names from all files in one directory."""

    texts: list[Text]
    names: list[Name]

    @property
    def docstrings(self) -> list[Text]:
        """Return the texts that are docstrings."""
        return [text for text in self.texts if text.node is not None]


class Rate(NamedTuple):
    """A figure that is measured for a room.

    Attributes:
        pattern: regular expression for the hits.
        target: limit for a room.
        base: "words" and "names" count hits per 1,000, "docstrings" counts first lines in percent.
        is_minimum: whether `target` is a lower bound.
    """

    pattern: str
    target: float
    base: str = "words"
    is_minimum: bool = False


RATES = {
    "where": Rate(r"\bwhere\b", 3.0),
    "if": Rate(r"\bif\b", 3.0, is_minimum=True),
    "what": Rate(r"\bwhat\b", 1.0),
    "of_the": Rate(r"\bof (an?|the|all|another|both|each|one|its|their)\b", 12.0),
    "says": Rate(r"\b(says?|said)\b", 0.3),
    "use": Rate(r"\b(used?|uses|using)\b", 3.0, is_minimum=True),
    "return": Rate(r"\breturns?\b", 4.0, is_minimum=True),
    "of_which": Rate(r"\b(of|for|from|in|by) which\b|\bwhose\b", 0.4),
    "none": Rate(r"\b(is|are|be|has|have|there (is|are)) none\b|\bNone for none\b", 0.2),
    "headless": Rate(
        r"^(What|Of|Who(se)?|Whether|Which|Where|How|As|From|In|Into|For|By|With|To)\b", 1.0, "docstrings"
    ),
    "no_sentence": Rate(r"^.*[^.:?\s]\s*$", 5.0, "docstrings"),
    "vague": Rate(
        r"^(found|known|given|said|each|own|others?|one|parts?|again|wanted|kind|asked|fault)$", 12.0, "names"
    ),
}


@functools.cache
def rooms(checkout: Checkout = HOUSE) -> dict[str, Room]:
    """Return all directories with Python files, each with the texts and names in its files."""
    by_directory: dict[str, Room] = defaultdict(lambda: Room([], []))
    package = {checkout.path_of(module) for module in checkout.modules}
    for path in checkout.paths("bert_cli/**/*.py", "tests/**/*.py", "benchmarks/**/*.py"):
        source = checkout.text(path)
        # Other checks need the package's trees too. Those of tests would fill the memory.
        nodes = nodes_of(source) if path in package else walk(ast.parse(source))
        add_file(by_directory[path.rpartition("/")[0]], path, source, nodes)
    return dict(by_directory)


def add_file(room: Room, path: str, source: str, nodes: list[ast.AST]) -> None:
    """Add a file's texts and names to its room.

    Args:
        room: the room of the file's directory.
        path: the file's path below the checkout.
        source: the file's text.
        nodes: all nodes of its syntax tree.
    """
    for node in nodes:
        if isinstance(node, Documented) and (text := ast.get_docstring(node)):
            docstring = node.body[0]
            column = docstring.col_offset + len('"""')
            room.texts.append(Text(f"{path}:{docstring.lineno}", text, _signature(node), column))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            room.names.append(Name(f"{path}:{node.lineno}", node.id))
        elif isinstance(node, ast.arg):
            room.names.append(Name(f"{path}:{node.lineno}", node.arg))
    room.texts.extend(_comments(path, source, nodes))


def _signature(node: Documented) -> Documented:
    """Return a documented node without the statements in it, which would stay in memory."""
    fields = {name: value for name, value in vars(node).items() if name != "body"}
    return type(node)(**fields, body=[])


def _comments(path: str, source: str, nodes: list[ast.AST]) -> Iterator[Text]:
    """Yield the comments: from the first # outside strings to the end of its line.

    The module tokenize takes seconds for all files.
    """
    lines = [line.encode() for line in source.split("\n")]
    strings = [node for node in nodes if isinstance(node, ast.JoinedStr) or _is_string(node)]
    # Line -> the ranges of columns in it that belong to strings. Columns of nodes count bytes.
    ranges: dict[int, list[range]] = defaultdict(list)
    for node in strings:
        for number in range(node.lineno, node.end_lineno + 1):
            start = node.col_offset if number == node.lineno else 0
            end = node.end_col_offset if number == node.end_lineno else len(lines[number - 1])
            ranges[number].append(range(start, end))
    for number, line in enumerate(lines, 1):
        column = line.find(b"#")
        while column >= 0 and any(column in columns for columns in ranges[number]):
            column = line.find(b"#", column + 1)
        if column >= 0:
            yield Text(f"{path}:{number}", line[column:].decode().lstrip("# "), None, len(line[:column].decode()))


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def places(room: Room, rate: Rate) -> list[str]:
    """Return "path:line: words around it" for everything that `rate` counts in `room`."""
    if rate.base == "names":
        return [f"{name.place}: {name.name}" for name in room.names if re.match(rate.pattern, name.name)]
    if rate.base == "docstrings":
        first_lines = [(text.place, text.text.split("\n")[0]) for text in room.docstrings]
        return [f"{place}: {line}" for place, line in first_lines if re.match(rate.pattern, line)]
    return [
        f"{text.place}: {' '.join(text.text[max(0, hit.start() - 40) : hit.end() + 40].split())}"
        for text in room.texts
        for hit in re.finditer(rate.pattern, text.text, re.IGNORECASE)
    ]


def figure(room: Room, rate: Rate) -> float:
    """Return hits per 1,000 words, per 1,000 names, or per 100 docstrings."""
    scale, base = {
        "words": (1000, words(room)),
        "names": (1000, len(room.names)),
        "docstrings": (100, len(room.docstrings)),
    }[rate.base]
    return scale * len(places(room, rate)) / max(base, 1)


def words(room: Room) -> int:
    """Return the number of words in docstrings and comments."""
    return sum(len(text.text.split()) for text in room.texts)


def table() -> str:
    """Return one line per room with its figures, in the order of RATES."""
    lines = [" ".join([f"{'room':38}", f"{'words':>6}", *(f"{name:>11}" for name in RATES)])]
    for name, room in rooms().items():
        figures = (f"{figure(room, rate):11.1f}" for rate in RATES.values())
        lines.append(" ".join([f"{name:38}", f"{words(room):6}", *figures]))
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print("\n".join(places(rooms()[sys.argv[1]], RATES[sys.argv[2]])))
    else:
        print(table())
