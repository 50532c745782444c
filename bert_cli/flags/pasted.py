"""Command lines that were copied from a page or a document, which has made other characters of
hyphens, blanks and quotes.
"""

import collections
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from bert_cli.base.errors import refuse_if
from bert_cli.flags.option import Flag, flag_named

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
        changed = list(mend(mended, known))
        if changed != mended:
            kept = set(changed)
            where = next(old for old in mended if old not in kept)
            causes.append(f"{where if where.isprintable() and where.strip(' ') == where else repr(where)}: {cause}")
            mended = changed
    refuse_if(causes, f"{'; '.join(causes)}; the command is: {command} {shlex.join(mended)}")


def without_carriage_returns(arguments: Sequence[str]) -> list[str]:
    """Return arguments without the carriage returns of a script with Windows line ends.

    Raises:
        InputError: an argument is a carriage return. The shell ended the command there, though a
            backslash before it was to continue the command on the next line.
    """
    advice = "the script has Windows line ends; convert it, as with sed -i 's/\\r$//' SCRIPT"
    refuse_if("\r" in arguments, f"the command ends in a backslash and a carriage return: {advice}")
    return [argument.rstrip("\r") for argument in arguments]


def _is_free_text(flag: Flag | None) -> bool:
    """Return whether any characters may be in the value; a word without a flag is free text, too."""
    return flag is None or flag.is_free_text


def _visible(arguments: Sequence[str], known: Mapping[str, Flag]) -> Iterator[str]:
    """Flags without characters that are not seen, in their names and around them."""
    for argument in arguments:
        name, equals, value = argument.lstrip(_NO_BREAK).partition("=")
        name = name.translate(_HIDDEN).strip(_NO_BREAK)
        flag = flag_named(name.lstrip(_DASHES), known) if name[:1] in (*_DASHES, "-") else None
        if not _is_free_text(flag):
            value = value.translate(_HIDDEN).strip(_NO_BREAK)
        yield name + equals + value if flag else argument


def _without_escapes(arguments: Sequence[str], known: Mapping[str, Flag]) -> Iterator[str]:
    r"""Arguments without the spaces and lone backslashes of lines that end in "\ "."""
    further = _further(known, r"\s+")
    for argument in arguments:
        inside = argument.strip(f" \n{_NO_BREAK}")
        if inside.startswith("--"):
            is_text = _is_free_text(flag_named(inside, known))
            yield from [argument.lstrip(" \n")] if is_text else further.split(inside)
        elif inside not in ("", "\\") or not argument:
            yield argument


def _joined(arguments: Sequence[str], known: Mapping[str, Flag]) -> Iterator[str]:
    """Arguments such as `--name = value`, joined."""
    rest = collections.deque(arguments)
    while rest:
        argument = rest.popleft()
        if argument.startswith("--") and "=" not in argument and rest and flag_named(argument, known):
            follows = rest[0]
            is_free = _is_free_text(flag_named(argument, known))
            if follows == "=" and len(rest) > 1 and not rest[1].startswith("-"):
                argument += rest.popleft() + rest.popleft()
            elif follows.startswith("=") and follows != "=" and not is_free:
                argument += rest.popleft()
        elif argument.startswith("--") and argument.endswith("=") and rest and not rest[0].startswith("-"):
            argument += rest.popleft()
        yield argument


def _with_hyphens(arguments: Sequence[str], known: Mapping[str, Flag]) -> Iterator[str]:
    for argument in arguments:
        name = argument.lstrip(f"-{_DASHES}")
        is_dashed = any(dash in argument[: len(argument) - len(name)] for dash in _DASHES)
        yield f"--{name}" if is_dashed and flag_named(name, known) else argument


def _with_minus(arguments: Sequence[str], known: Mapping[str, Flag]) -> Iterator[str]:
    """Numbers and lists of numbers such as 2e–5, with the hyphen that a number has."""
    for before, argument in itertools.pairwise(["", *arguments]):
        beginning, equals, value = argument.rpartition("=")
        flag = flag_named(beginning or before, known)
        is_number = _NUMBERS.fullmatch(value) and flag and (not _is_free_text(flag) or flag.name == "layers")
        yield beginning + equals + re.sub(f"[{_DASHES}]", "-", value) if is_number else argument


def _further(known: Mapping[str, Flag], before: str) -> re.Pattern[str]:
    """What is between an argument and a further flag: `before`, a regular expression."""
    names = "|".join(sorted(known, key=len, reverse=True))
    return re.compile(rf"(?<=[^\s=-]){before}(?=--(?:no)?(?:{names})(?:=|$|--|\s))")


def _divided(arguments: Sequence[str], known: Mapping[str, Flag]) -> Iterator[str]:
    """Arguments that go on with a further flag, divided before it. One with a space is a text in
    quotes, and stays.
    """
    further = _further(known, f"{_NO_BREAK}*")
    for argument in arguments:
        is_text = " " in argument or not argument.startswith("-")
        yield from [argument] if is_text else further.split(argument)


def _unquoted(arguments: Sequence[str], known: Mapping[str, Flag]) -> Iterator[str]:
    """Yield the arguments, with a value in typographic quotes, which may span several, as one without quotes."""
    closing = _next_closing(arguments)
    before = ""
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        beginning, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
        end = closing[position]
        if value.startswith(tuple(_OPENING)) and end < len(arguments) and len(value) > 1:
            flag = flag_named(beginning or before, known)
            # One argument of free text may contain such quotes; a file, a number or a choice does not.
            if end > position or not flag or not _is_free_text(flag):
                inside = " ".join([value, *arguments[position + 1 : end + 1]])[1:-1]
                position = end
                argument = beginning + equals + inside
        yield argument
        before = argument
        position += 1


def _next_closing(arguments: Sequence[str]) -> list[int]:
    """Return for each position the first one from there on whose argument ends in a closing quote.

    len(arguments) if there is none. All positions in one pass, as a command line may have many words.
    """
    positions = [0] * len(arguments)
    nearest = len(arguments)
    for position in reversed(range(len(arguments))):
        if arguments[position].endswith(tuple(_CLOSING)):
            nearest = position
        positions[position] = nearest
    return positions
