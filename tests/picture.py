"""The picture of the package, made from the tree: `python tests/picture.py` writes the rooms with their modules into
docs/structure.md.

A room is told by the docstring of its __init__.py, and every module stands in it by its path.
"""

import ast
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.test_structure import ROOMS  # noqa: E402 (run as a script, the repository is not on the path)

PAGE = ROOT / "docs" / "structure.md"
_WIDTH, _NAMES = 120, 13
_BLOCK = re.compile(r"(# How it is built\n.*?```text\n)(.*?)(```)", re.DOTALL)


def _names(folder: pathlib.Path) -> str:
    return ", ".join(sorted(path.name for path in folder.glob("*.py") if path.name != "__init__.py"))


def _lines(head: str, text: str) -> list[str]:
    own_line = [head] if len(head) >= _NAMES else []  # a long name has the text below it
    first = " " * _NAMES if own_line else head.ljust(_NAMES)
    return own_line + textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * _NAMES)


def picture() -> str:
    """The block of docs/structure.md: the rooms with their modules."""
    commands = f"the commands: {_names(ROOT / 'bert_cli')}"
    return "\n".join(["bert_cli/", *_lines("", commands), *_room_lines()]) + "\n"


def _room_lines() -> list[str]:
    lines = []
    for room in ROOMS:
        folder = ROOT.joinpath("bert_cli", *room.split("."))
        lines += _lines(
            f"  {room.replace('.', '/')}/",
            ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))),
        )
        lines += _lines("", _names(folder)) if _names(folder) else []
    return lines


def shown(text: str) -> str:
    """The block that a page holds."""
    return _BLOCK.search(text)[2]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.replace(shown(text), picture()), "utf-8")
