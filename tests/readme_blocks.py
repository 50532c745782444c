"""Code blocks in the README and the handwritten pages of docs/, in reading order.

tests/test_readme.py checks them and tests/test_clone.py runs them.
"""

import dataclasses
import pathlib
import re
import shlex
import sys
from collections.abc import Mapping

from tests import written_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Page name -> text. All pages are checked, and a page may use files that earlier pages made.
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", *(f"docs/{guide}.md" for guide in written_pages.GUIDES))
}
# Page name -> text. A tutorial does not need other pages.
TUTORIALS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (f"docs/tutorials/{tutorial}.md" for tutorial in written_pages.TUTORIALS)
}
README, EVERYTHING = PAGES["README.md"], "\n".join([*PAGES.values(), *TUTORIALS.values()])
# For numbers with a decimal point in outputs, relative for numbers above 1 (percentages). Each tutorial mentions it.
TOLERANCE = 0.05
DOWNLOAD = "# download"  # starts the first line of blocks that download something


@dataclasses.dataclass(frozen=True)
class Block:
    """A code block in a page.

    Attributes:
        language: the word after the opening ```.
        place: where it starts, such as README.md:7.
        text: its lines.
    """

    language: str
    place: str
    text: str

    @property
    def is_download(self) -> bool:
        return self.text.startswith(DOWNLOAD)

    @property
    def engine(self) -> str | None:
        """Return the package that a recipe needs in addition to the project's, if any.

        See tests/commands/test_workers.py.
        """
        names = re.findall(r"^(?:import|from) (pyspark|ray|apache_beam)\b", self.text, re.MULTILINE)
        return names[0] if self.language == "python" and names else None

    @property
    def commands(self) -> list[list[str]]:
        """Return each command as a list of words.

        Comments are removed, pipes are split, and redirections are kept.
        """
        lines = self.text.replace("\\\n", " ").splitlines()
        command_texts = [text for line in lines for text in re.split(r" \| |; ", line)]
        commands = (shlex.split(text, comments=True) for text in command_texts)
        # "&" after a command starts it in the background.
        return [
            words_without_background
            for words in commands
            if (words_without_background := [word for word in words if word != "&"])
        ]

    @property
    def program(self) -> list[str]:
        """Return the command that runs a block of sh or python."""
        return [*(["bash", "-e", "-c"] if self.language == "sh" else [sys.executable, "-c"]), self.text]


def blocks(*languages: str, pages: Mapping[str, str] = PAGES) -> list[Block]:
    found_blocks = []
    for name, page in pages.items():
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            line = page.count("\n", 0, match.start(2)) + 1
            found_blocks.append(Block(match[1], f"{name}:{line}", match[2]))
    return [block for block in found_blocks if block.language in languages]


def mismatch(shown: str, output: str) -> str | None:
    """Return how an output differs from the lines that a page shows, or None.

    `…` as a whole line matches any lines, and in a line any text. Runs of spaces are equal. A
    number with a decimal point may differ by TOLERANCE, which is relative for numbers above 1.

    Args:
        shown: lines in the page.
        output: the real output.
    """
    lines = []
    for line in shown.strip("\n").split("\n"):
        pattern = re.escape(re.sub(r" +", " ", line)).replace("…", ".*?")
        pattern = re.sub(r"(?:\\-)?\d+\\\.\d+", r"(-?[0-9.]+(?:e[-+]?[0-9]+)?)", pattern)
        lines.append("(?:.*\n)*?" if line.strip() == "…" else rf"{pattern}[ ]*\n")
    match = re.search("^" + "".join(lines), re.sub(r" +", " ", output), re.MULTILINE)
    if not match:
        return "these lines are not in the output"
    numbers = re.findall(r"-?\d+\.\d+", re.sub(r" +", " ", shown))
    wrong = [
        f"{there} is shown as {here}"
        for here, there in zip(numbers, match.groups(), strict=True)
        if abs(float(here) - float(there)) > TOLERANCE * max(1.0, abs(float(here)))
    ]
    return "; ".join(wrong) or None
