"""The texts in a run's flags.txt, without their meaning."""

from collections.abc import Mapping

from bert_cli.base import files
from bert_cli.base.lines import read_text, split_lines

# A comment, so that --flagfile ignores it: other data may need other values.
GUESS = "# found in the data: --"


def read_flags(path: str) -> dict[str, str]:
    """Return the flags in a flags.txt as texts; empty if the file is missing."""
    return _pairs([line.removeprefix("--") for line in _lines(path) if not line.startswith("#")])


def first_difference(saved: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return the first flag that differs, such as `--layers=-1, not -2`, or "" if none does."""
    names = (name for name in sorted({*saved, *now}) if saved.get(name) != now.get(name))
    return next((f"--{name}={saved.get(name, '')}, not {now.get(name, '')}" for name in names), "")


def read_guesses(path: str) -> dict[str, str]:
    """Return the values in a flags.txt that the run guessed from its data; empty without the file."""
    return _pairs([line.removeprefix(GUESS) for line in _lines(path) if line.startswith(GUESS)])


def _lines(path: str) -> list[str]:
    if not files.exists(path):
        return []
    return split_lines(read_text(path), path)


def _pairs(lines: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in lines if line)}
