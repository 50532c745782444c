"""Repair of command lines copied from a page or document that changed hyphens, spaces or quotes."""

import collections
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from bert_cli.base.errors import refuse_if
from bert_cli.flags.option import Flag, flag_named

_DASHES = "‐‑‒–—―−"
_OPENING, _CLOSING = "“„‘‚«", "”‟’‛»“‘"  # German closing quotes are English opening quotes
_NO_BREAK = "\u00a0"
_HIDDEN = str.maketrans(dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"))  # characters without width
_NUMBERS = re.compile(rf"[-0-9.,:eE{_DASHES}]+")


def refuse_pasted(command: str, arguments: Sequence[str], flags: Mapping[str, Flag]) -> None:
    """Raise InputError with the causes and the fixed command if a document changed its characters.

    Args:
        command: the command's name.
        arguments: arguments without the command's name.
        flags: the command's flags by name.
    """
    fixed_arguments = list(arguments)
    causes = []
    for cause, fix in (
        ("a space that no shell takes for one, or a character without width", _visible),
        ("a space belongs to the argument, as where a line ends in '\\ ' instead of '\\'", _without_escapes),
        ("spaces are around the =", _join_assignments),
        ("a dash is used where two hyphens belong", _with_hyphens),
        ("a dash is used where a hyphen belongs", _with_minus),
        ("a space is missing", _split_joined_flags),
        ("the quotes are typographic ones, which a shell does not know", _without_quotes),
    ):
        changed_arguments = list(fix(fixed_arguments, flags))
        if changed_arguments != fixed_arguments:
            kept_arguments = set(changed_arguments)
            broken = next(argument for argument in fixed_arguments if argument not in kept_arguments)
            causes.append(
                f"{broken if broken.isprintable() and broken.strip(' ') == broken else repr(broken)}: {cause}"
            )
            fixed_arguments = changed_arguments
    refuse_if(causes, f"{'; '.join(causes)}; the command is: {command} {shlex.join(fixed_arguments)}")


def without_carriage_returns(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without the carriage returns from a script with Windows line ends.

    Raises:
        InputError: if an argument is a lone carriage return. The shell then ended the command
            there, although a backslash should have continued it on the next line.
    """
    advice = "the script has Windows line ends; convert it, as with sed -i 's/\\r$//' SCRIPT"
    refuse_if("\r" in arguments, f"the command ends in a backslash and a carriage return: {advice}")
    return [argument.rstrip("\r") for argument in arguments]


def _is_free_text(flag: Flag | None) -> bool:
    """Return whether a value may be any text, which is also true for a word without a flag."""
    return flag is None or flag.is_free_text


def _visible(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    """Yield the arguments without invisible characters in and around flags."""
    for argument in arguments:
        name, equals, value = argument.lstrip(_NO_BREAK).partition("=")
        name = name.translate(_HIDDEN).strip(_NO_BREAK)
        flag = flag_named(name.lstrip(_DASHES), flags) if name[:1] in (*_DASHES, "-") else None
        if not _is_free_text(flag):
            value = value.translate(_HIDDEN).strip(_NO_BREAK)
        yield name + equals + value if flag else argument


def _without_escapes(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    r"""Yield the arguments without spaces and lone backslashes from lines that end in "\ "."""
    next_flag = _next_flag_pattern(flags, r"\s+")
    for argument in arguments:
        content = argument.strip(f" \n{_NO_BREAK}")
        if content.startswith("--"):
            is_text = _is_free_text(flag_named(content, flags))
            yield from [argument.lstrip(" \n")] if is_text else next_flag.split(content)
        elif content not in ("", "\\") or not argument:
            yield argument


def _join_assignments(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    """Yield the arguments, with `--name = value` joined to `--name=value`."""
    remaining = collections.deque(arguments)
    while remaining:
        argument = remaining.popleft()
        if argument.startswith("--") and "=" not in argument and remaining and flag_named(argument, flags):
            next_argument = remaining[0]
            is_free = _is_free_text(flag_named(argument, flags))
            if next_argument == "=" and len(remaining) > 1 and not remaining[1].startswith("-"):
                argument += remaining.popleft() + remaining.popleft()
            elif next_argument.startswith("=") and next_argument != "=" and not is_free:
                argument += remaining.popleft()
        elif argument.startswith("--") and argument.endswith("=") and remaining and not remaining[0].startswith("-"):
            argument += remaining.popleft()
        yield argument


def _with_hyphens(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    for argument in arguments:
        name = argument.lstrip(f"-{_DASHES}")
        is_dashed = any(dash in argument[: len(argument) - len(name)] for dash in _DASHES)
        yield f"--{name}" if is_dashed and flag_named(name, flags) else argument


def _with_minus(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    """Yield the arguments, with hyphens for dashes in numbers and lists such as 2e–5."""
    for previous, argument in itertools.pairwise(["", *arguments]):
        beginning, equals, value = argument.rpartition("=")
        flag = flag_named(beginning or previous, flags)
        is_number = _NUMBERS.fullmatch(value) and flag and (not _is_free_text(flag) or flag.name == "layers")
        yield beginning + equals + re.sub(f"[{_DASHES}]", "-", value) if is_number else argument


def _next_flag_pattern(flags: Mapping[str, Flag], separator: str) -> re.Pattern[str]:
    """Return a pattern for the separator between an argument and another flag in the same argument."""
    names = "|".join(sorted(flags, key=len, reverse=True))
    return re.compile(rf"(?<=[^\s=-]){separator}(?=--(?:no)?(?:{names})(?:=|$|--|\s))")


def _split_joined_flags(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    """Yield the arguments, split before flags that lack a space in front.

    An argument that contains a space is a quoted text and stays whole.
    """
    next_flag = _next_flag_pattern(flags, f"{_NO_BREAK}*")
    for argument in arguments:
        is_text = " " in argument or not argument.startswith("-")
        yield from [argument] if is_text else next_flag.split(argument)


def _without_quotes(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    """Yield the arguments without typographic quotes around values.

    A quoted value may span several arguments; they become one.
    """
    closing = _next_closing(arguments)
    previous = ""
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        beginning, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
        end = closing[index]
        if value.startswith(tuple(_OPENING)) and end < len(arguments) and len(value) > 1:
            flag = flag_named(beginning or previous, flags)
            # Free text in one argument may contain such quotes, but a path, number or choice may
            # not.
            if end > index or not flag or not _is_free_text(flag):
                content = " ".join([value, *arguments[index + 1 : end + 1]])[1:-1]
                index = end
                argument = beginning + equals + content
        yield argument
        previous = argument
        index += 1


def _next_closing(arguments: Sequence[str]) -> list[int]:
    """Return, per argument, the index of the next one that ends in a closing quote.

    The index may be the argument's own, and it is len(arguments) if no such argument follows. A
    single pass computes all of them, because a command line may have many words.
    """
    indices = [0] * len(arguments)
    nearest = len(arguments)
    for index in reversed(range(len(arguments))):
        if arguments[index].endswith(tuple(_CLOSING)):
            nearest = index
        indices[index] = nearest
    return indices
