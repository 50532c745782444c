"""The commands of the README's blocks, in order: what `tests/test_readme.py` checks, and `test_readme_runs.py` runs."""

import dataclasses
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOWNLOAD = "# download"  # the first line of a block that fetches something begins with it


@dataclasses.dataclass(frozen=True)
class Block:
    """Some lines between ```language and ```, and the number of the first of them, from 1."""

    language: str
    line: int
    text: str

    @property
    def is_download(self) -> bool:
        return self.text.startswith(DOWNLOAD)

    @property
    def commands(self) -> list[list[str]]:
        """The words of each line that is no comment, and of each part of a pipe, redirections included."""
        lines = self.text.replace("\\\n", " ").splitlines()
        parts = [part for line in lines for part in re.split(r" \| |; ", line)]
        return [words for part in parts if (words := shlex.split(part, comments=True))]


def blocks(*languages: str) -> list[Block]:
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    made = [Block(match[1], README.count("\n", 0, match.start(2)) + 1, match[2]) for match in found]
    return [block for block in made if block.language in languages]
