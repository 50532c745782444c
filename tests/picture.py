"""The pictures of the package, made from the tree: `python tests/picture.py` writes the rooms into the README, and all of their
modules into docs/structure.md.

A room is told by the docstring of its __init__.py, and every module stands in it by its path.
"""

import ast
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.test_structure import MAY_IMPORT  # noqa: E402 (run as a script, the repository is not on the path)

_WIDTH, _NAMES = 120, 13
_BLOCK = re.compile(r"(# How it is built\n.*?```text\n)(.*?)(```)", re.DOTALL)


def _names(folder: pathlib.Path) -> str:
    return ", ".join(sorted(path.name for path in folder.glob("*.py") if path.name != "__init__.py"))


def _lines(head: str, text: str) -> list[str]:
    own_line = [head] if len(head) >= _NAMES else []  # a long name has the text below it
    first = " " * _NAMES if own_line else head.ljust(_NAMES)
    return own_line + textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * _NAMES)


def rooms() -> str:
    """The block of the README: what each room is for."""
    return "\n".join(["bert_cli/", *_lines("  *.py", "the commands"), *_room_lines(False)]) + "\n"


def picture() -> str:
    """The block of docs/structure.md: the rooms with their modules."""
    commands = f"the commands: {_names(ROOT / 'bert_cli')}"
    return "\n".join(["bert_cli/", *_lines("", commands), *_room_lines(True)]) + "\n"


def _room_lines(has_modules: bool) -> list[str]:
    lines = []
    for room in MAY_IMPORT:
        if not has_modules and "." in room:
            continue
        folder = ROOT.joinpath("bert_cli", *room.split("."))
        lines += _lines(
            f"  {room.replace('.', '/')}/",
            ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))),
        )
        lines += _lines("", _names(folder)) if has_modules and _names(folder) else []
    return lines


def shown(text: str) -> str:
    """The block that a page holds."""
    return _BLOCK.search(text)[2]


# Page -> what its block has to be.
DRAWN = {"README.md": rooms, "docs/structure.md": picture}

if __name__ == "__main__":
    for name, draw in DRAWN.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        (ROOT / name).write_text(text.replace(shown(text), draw()), "utf-8")
