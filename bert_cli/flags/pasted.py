"""Command lines that were copied from a page or a document, which has made other characters of
hyphens, blanks and quotes.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

from bert_cli.base.errors import refuse_if
from bert_cli.flags.option import Flag

_DASHES = "‐‑‒–—―−"
_OPENING, _CLOSING = "“„‘‚«", "”‟’‛»“‘"  # German closes with what English opens with
_NO_BREAK = "\u00a0"


def refuse_pasted(command: str, arguments: Sequence[str], known: Mapping[str, Flag]) -> None:
    """InputError that shows the cause and the mended command, where one of these characters
    replaces a character of the shell.
    """
    mended = list(arguments)
    causes = []
    for cause, mend in (
        ("a dash is used where two hyphens belong", _with_hyphens),
        ("a space is missing", _divided),
        ("the quotes are typographic ones, which a shell does not know", _unquoted),
    ):
        changed = mend(mended, known)
        if changed != mended:
            where = next(old for old in mended if old not in changed)
            causes.append(f"{where}: {cause}")
            mended = changed
    refuse_if(causes, f"{'; '.join(causes)}; the command is: {command} {shlex.join(mended)}")


def _flag_of(argument: str, known: Mapping[str, Flag]) -> Flag | None:
    name = argument.lstrip("-").partition("=")[0]
    return known.get(name) or known.get(name.removeprefix("no"))


def _with_hyphens(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    changed = []
    for argument in arguments:
        name = argument.lstrip(f"-{_DASHES}")
        is_dashed = any(dash in argument[: len(argument) - len(name)] for dash in _DASHES)
        changed.append(f"--{name}" if is_dashed and _flag_of(name, known) else argument)
    return changed


def _divided(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    """Arguments that go on with a further flag, divided before it. One with a space is a text in
    quotes, and stays.
    """
    names = "|".join(sorted(known, key=len, reverse=True))
    further = re.compile(rf"(?<=[^\s=-]){_NO_BREAK}*(?=--(?:no)?(?:{names})(?:=|$|--|{_NO_BREAK}))")
    changed: list[str] = []
    for argument in arguments:
        is_text = " " in argument or not argument.startswith("-")
        changed += [argument] if is_text else further.split(argument)
    return changed


def _unquoted(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    """Values in typographic quotes, over as many arguments as these hold, without them."""
    changed: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        beginning, _, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
        ends = [n for n, part in enumerate([value, *rest]) if part.endswith(tuple(_CLOSING)) and part]
        if not value.startswith(tuple(_OPENING)) or not ends or len(value) < 2:
            changed.append(argument)
            continue
        before = changed[-1] if changed and not beginning else ""
        flag = _flag_of(beginning or before, known)
        parts = [value, *rest[: ends[0]]]
        # A text of one argument may have such quotes of its own; a file, a number or a choice has
        # none.
        if (
            len(parts) == 1
            and flag
            and flag.kind is str
            and not (flag.is_file or flag.option.choices or flag.option.usual)
        ):
            changed.append(argument)
            continue
        del rest[: ends[0]]
        inside = " ".join(parts)[1:-1]
        changed.append(f"{beginning}={inside}" if beginning else inside)
    return changed
