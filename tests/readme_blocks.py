"""The commands of the blocks of the README, then of the pages of docs/ that are written by hand, in order: what
`tests/test_readme.py` checks, and `test_clone.py` runs.
"""

import dataclasses
import pathlib
import re
import shlex
import sys
from collections.abc import Mapping

from tests import docs_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Name -> text; all of them have to be so, and each finds what those before have made.
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", *(f"docs/{guide}.md" for guide in docs_pages.GUIDES))
}
# Name -> text of each tutorial, whose blocks need nothing of the other pages.
TUTORIALS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (f"docs/tutorials/{tutorial}.md" for tutorial in docs_pages.TUTORIALS)
}
README, EVERYTHING = PAGES["README.md"], "\n".join([*PAGES.values(), *TUTORIALS.values()])
DOWNLOAD = "# download"  # the first line of a block that fetches something begins with it


@dataclasses.dataclass(frozen=True)
class Block:
    """Some lines between ```language and ```, and where the first of them stands, such as README.md:7."""

    language: str
    place: str
    text: str

    @property
    def is_download(self) -> bool:
        return self.text.startswith(DOWNLOAD)

    @property
    def engine(self) -> str | None:
        """The package of a recipe that needs more than the project does, see tests/commands/test_workers.py."""
        names = re.findall(r"^(?:import|from) (pyspark|ray|apache_beam)\b", self.text, re.MULTILINE)
        return names[0] if self.language == "python" and names else None

    @property
    def commands(self) -> list[list[str]]:
        """The words of each line that is no comment, and of each part of a pipe, redirections included."""
        lines = self.text.replace("\\\n", " ").splitlines()
        parts = [part for line in lines for part in re.split(r" \| |; ", line)]
        commands = (shlex.split(part, comments=True) for part in parts)
        # "&" after a command starts it in the background.
        return [found for words in commands if (found := [word for word in words if word != "&"])]

    @property
    def program(self) -> list[str]:
        """The command that runs a block of sh or python."""
        return [*(["bash", "-e", "-c"] if self.language == "sh" else [sys.executable, "-c"]), self.text]


def blocks(*languages: str, pages: Mapping[str, str] = PAGES) -> list[Block]:
    made = []
    for name, page in pages.items():
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            line = page.count("\n", 0, match.start(2)) + 1
            made.append(Block(match[1], f"{name}:{line}", match[2]))
    return [block for block in made if block.language in languages]
