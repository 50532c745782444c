"""The list of rooms in docs/structure.md: `python tests/picture.py` writes it from the directories.

A room is described by its __init__.py's docstring and followed by its modules.
"""

import ast
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.tree.structure import ROOMS  # noqa: E402 (run as a script, the repository is not on the path)

PAGE = ROOT / "docs" / "structure.md"
_WIDTH, _NAMES = 120, 13
_BLOCK = re.compile(r"(# How it is built\n.*?```text\n)(.*?)(```)", re.DOTALL)


def _names(folder: pathlib.Path) -> str:
    return ", ".join(sorted(path.name for path in folder.glob("*.py") if path.name != "__init__.py"))


def _lines(head: str, text: str) -> list[str]:
    own_line = [head] if len(head) >= _NAMES else []  # a long name has its text below it
    first = " " * _NAMES if own_line else head.ljust(_NAMES)
    return own_line + textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * _NAMES)


def picture(root: pathlib.Path = ROOT) -> str:
    """Return the block for docs/structure.md: a checkout's rooms with their modules."""
    commands = f"the commands: {_names(root / 'bert_cli')}"
    return "\n".join(["bert_cli/", *_lines("", commands), *_room_lines(root)]) + "\n"


def _room_lines(root: pathlib.Path) -> list[str]:
    lines = []
    for room in ROOMS:
        folder = root.joinpath("bert_cli", *room.split("."))
        lines += _lines(
            f"  {room.replace('.', '/')}/",
            ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))),
        )
        lines += _lines("", _names(folder)) if _names(folder) else []
    return lines


def find_block(text: str) -> str:
    """Return the block that a page contains."""
    return _BLOCK.search(text)[2]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.replace(find_block(text), picture()), "utf-8")
