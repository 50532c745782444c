"""The picture of the package in the README, made from the tree: `python tests/picture.py` writes it there.

A room is told by the docstring of its __init__.py, and every module stands in it by its path.
"""

import ast
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The order of the arrows: left never imports right.
ROOMS = (
    "base", "settings", "text", "examples", "features", "corpus", "records", "model", "weights", "heads", "training",
    "outputs", "report", "runs", "exports", "api", "builtin",
)  # fmt: skip
_WIDTH, _NAMES = 120, 13
_BLOCK = re.compile(r"(## How it is built\n.*?```text\n)(.*?)(```)", re.DOTALL)


def _names(folder: pathlib.Path) -> str:
    return ", ".join(sorted(path.name for path in folder.glob("*.py") if path.name != "__init__.py"))


def _lines(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=head.ljust(_NAMES), subsequent_indent=" " * _NAMES)


def picture() -> str:
    """The block of text that the README has to hold."""
    package = ROOT / "bert_cli"
    lines = ["bert_cli/", *_lines("", f"the commands: {_names(package)}")]
    for room in ROOMS:
        said = ast.get_docstring(ast.parse((package / room / "__init__.py").read_text(encoding="utf-8")))
        lines += _lines(f"  {room}/", said)
        lines += _lines("", _names(package / room)) if _names(package / room) else []
    return "\n".join(lines) + "\n"


def shown(readme: str) -> str:
    """The block that a README holds."""
    return _BLOCK.search(readme)[2]


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(
        _BLOCK.sub(lambda found: found[1] + picture() + found[3], path.read_text(encoding="utf-8")), "utf-8"
    )
