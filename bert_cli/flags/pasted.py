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
_HIDDEN = str.maketrans(dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"))  # have no width
_NUMBERS = re.compile(rf"[-0-9.,:eE{_DASHES}]+")


def refuse_pasted(command: str, arguments: Sequence[str], known: Mapping[str, Flag]) -> None:
    """InputError that shows the cause and the mended command, where one of these characters
    replaces a character of the shell.
    """
    mended = list(arguments)
    causes = []
    for cause, mend in (
        ("a space that no shell takes for one, or a character without width", _visible),
        ("a space belongs to the argument, as where a line ends in '\\ ' instead of '\\'", _without_escapes),
        ("spaces are around the =", _joined),
        ("a dash is used where two hyphens belong", _with_hyphens),
        ("a dash is used where a hyphen belongs", _with_minus),
        ("a space is missing", _divided),
        ("the quotes are typographic ones, which a shell does not know", _unquoted),
    ):
        changed = mend(mended, known)
        if changed != mended:
            where = next(old for old in mended if old not in changed)
            causes.append(f"{where if where.isprintable() and where.strip(' ') == where else repr(where)}: {cause}")
            mended = changed
    refuse_if(causes, f"{'; '.join(causes)}; the command is: {command} {shlex.join(mended)}")


def _flag_of(argument: str, known: Mapping[str, Flag]) -> Flag | None:
    name = argument.lstrip("-").partition("=")[0]
    return known.get(name) or known.get(name.removeprefix("no"))


def _is_free_text(flag: Flag | None) -> bool:
    """Whether any characters may be in the value: it is no file, no number and no choice."""
    return flag is None or (
        flag.kind is str and not (flag.is_file or flag.option.choices or flag.option.usual or flag.option.read)
    )


def _visible(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    """Flags without characters that are not seen, in their names and around them."""
    changed = []
    for argument in arguments:
        name, equals, value = argument.lstrip(_NO_BREAK).partition("=")
        name = name.translate(_HIDDEN).strip(_NO_BREAK)
        flag = _flag_of(name.lstrip(_DASHES), known) if name[:1] in (*_DASHES, "-") else None
        if not _is_free_text(flag):
            value = value.translate(_HIDDEN).strip(_NO_BREAK)
        changed.append(name + equals + value if flag else argument)
    return changed


def _without_escapes(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    r"""Arguments without the spaces and lone backslashes of lines that end in "\ "."""
    further = _further(known, r"\s+")
    changed: list[str] = []
    for argument in arguments:
        inside = argument.strip(f" \n{_NO_BREAK}")
        if inside.startswith("--"):
            is_text = _is_free_text(_flag_of(inside, known))
            changed += [argument.lstrip(" \n")] if is_text else further.split(inside)
        elif inside not in ("", "\\") or not argument:
            changed.append(argument)
    return changed


def _joined(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    """Arguments such as `--name = value`, joined."""
    changed: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument.startswith("--") and "=" not in argument and rest and _flag_of(argument, known):
            follows = rest[0]
            is_free = _is_free_text(_flag_of(argument, known))
            if follows == "=" and rest[1:] and not rest[1].startswith("-"):
                argument += rest.pop(0) + rest.pop(0)
            elif follows.startswith("=") and follows != "=" and not is_free:
                argument += rest.pop(0)
        elif argument.startswith("--") and argument.endswith("=") and rest and not rest[0].startswith("-"):
            argument += rest.pop(0)
        changed.append(argument)
    return changed


def _with_hyphens(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    changed = []
    for argument in arguments:
        name = argument.lstrip(f"-{_DASHES}")
        is_dashed = any(dash in argument[: len(argument) - len(name)] for dash in _DASHES)
        changed.append(f"--{name}" if is_dashed and _flag_of(name, known) else argument)
    return changed


def _with_minus(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    """Numbers and lists of numbers such as 2e–5, with the hyphen that a number has."""
    changed: list[str] = []
    for argument in arguments:
        beginning, equals, value = argument.rpartition("=")
        flag = _flag_of(beginning or (changed[-1] if changed else ""), known)
        is_number = _NUMBERS.fullmatch(value) and flag and (not _is_free_text(flag) or flag.name == "layers")
        changed.append(beginning + equals + re.sub(f"[{_DASHES}]", "-", value) if is_number else argument)
    return changed


def _further(known: Mapping[str, Flag], before: str) -> re.Pattern[str]:
    """What is between an argument and a further flag: `before`, a regular expression."""
    names = "|".join(sorted(known, key=len, reverse=True))
    return re.compile(rf"(?<=[^\s=-]){before}(?=--(?:no)?(?:{names})(?:=|$|--|\s))")


def _divided(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[str]:
    """Arguments that go on with a further flag, divided before it. One with a space is a text in
    quotes, and stays.
    """
    further = _further(known, f"{_NO_BREAK}*")
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
        if len(parts) == 1 and flag and _is_free_text(flag):
            changed.append(argument)
            continue
        del rest[: ends[0]]
        inside = " ".join(parts)[1:-1]
        changed.append(f"{beginning}={inside}" if beginning else inside)
    return changed
