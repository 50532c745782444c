"""Files of flags, which --flagfile reads: a flag a line, or a flag and its value on two lines.

What a shell would take away is left out, and the log reports it: continuation signs at the ends of
lines, and quotes around values. A value in CSV quotes, such as a name with a comma, keeps them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.lines import read_text
from bert_cli.base.log import LOG
from bert_cli.flags.option import Flag, flag_named
from bert_cli.flags.paths import expand_home

_NAME = "flagfile"
_LINE_END = re.compile(r"\r\n|\r|\n")  # not splitlines: a value may hold U+2028
# Of sh, cmd.exe and PowerShell. After a space, as a Windows directory may end in a backslash.
_CONTINUATION = re.compile(r"(?:^|\s+)[\\^`]$")
_SWITCH_CONTINUATION = re.compile(r"(--?\w+)[\\^`]")
_SPACED = re.compile(r"(--?[A-Za-z_][\w-]*)(?:\s+=\s*|\s+(?![=\s]|--?[A-Za-z])|=(?=\s))(.+)")
_COMMENT = re.compile(r"\s#(\s|$)")
_FURTHER_FLAG = re.compile(r"\s--(?:no)?([A-Za-z_]\w*)(?=[=\s]|$)")
_QUOTES = ("'", '"')


class Argument(NamedTuple):
    """An argument of a command.

    Attributes:
        text: the argument, as a shell hands it over.
        place: FILE:LINE if it comes from a file of flags, else "".
    """

    text: str
    place: str = ""


def read_flagfiles(arguments: Sequence[str], known: Mapping[str, Flag]) -> list[Argument]:
    """Return the arguments with the contents of files in place of each --flagfile.

    Raises:
        InputError: a file is missing or no text, names itself, or has a line that is not one flag.
    """
    return list(_expand([Argument(text) for text in arguments], known, ()))


def _expand(arguments: Sequence[Argument], known: Mapping[str, Flag], opened: tuple[str, ...]) -> Iterator[Argument]:
    """Yield arguments as `read_flagfiles`; `opened` are the files that contain them."""
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        name, equals, path = argument.text.partition("=")
        position += 1
        if argument.text == "--":
            yield from arguments[position - 1 :]
            return
        if name not in (f"--{_NAME}", f"-{_NAME}"):
            yield argument
            continue
        if not equals and position < len(arguments):
            path = arguments[position].text
            position += 1
        path = expand_home(path, f"--{_NAME}={path}")
        place = f"{argument.place}: " if argument.place else ""
        refuse_if(not path, f"{place}--{_NAME}= has no value; leave the flag out")
        refuse_if(path in opened, f"{place}--{_NAME}={path}: this file is being read already; leave the flag out")
        yield from _expand(list(_read(path, known)), known, (*opened, path))


def _read(path: str, known: Mapping[str, Flag]) -> Iterator[Argument]:
    """Yield the arguments in a file."""
    files.check_readable(path, _NAME)
    left_out: dict[str, list[int]] = {}
    for number, line in enumerate(_LINE_END.split(read_text(path)), start=1):
        text = line.strip()
        if text.startswith(("#", "//")):
            continue
        place = f"{path}:{number}"
        changed = _without_continuation(text)
        if changed != text:
            left_out.setdefault("the continuation sign at the end", []).append(number)
        unquoted = _without_quotes(_joined(changed, known), known, place)
        if unquoted != _joined(changed, known):
            left_out.setdefault("the quotes", []).append(number)
        if unquoted:
            _check_single(unquoted, known, place)
            yield Argument(unquoted, place)
    for what, numbers in left_out.items():
        LOG.info("%s: left out %s of line %s", path, what, ", ".join(map(str, numbers)))


def _without_continuation(text: str) -> str:
    """Return a line without the sign with which a shell continues a command on the next line."""
    switch = _SWITCH_CONTINUATION.fullmatch(text)
    return switch[1] if switch else _CONTINUATION.sub("", text)


def _joined(text: str, known: Mapping[str, Flag]) -> str:
    """Return a line such as `--name value` or `--name = value` as --name=value."""
    spaced = _SPACED.fullmatch(text)
    flag = flag_named(spaced[1], known) if spaced else None
    if not spaced or flag is None or (flag.is_free_text and text.startswith(f"{spaced[1]}=")):
        return text
    return f"{spaced[1]}={spaced[2].strip()}"


def _without_quotes(text: str, known: Mapping[str, Flag], place: str) -> str:
    """Return a line without the quotes around it or around the value of its flag.

    Free text keeps its quotes, with a warning, and so do the names that CSV quotes belong to.
    """
    if text.startswith(_QUOTES) and text[1:].startswith("-"):
        refuse_if(not _is_quoted(text), f"{place}: a quote is open; write --name=value without quotes")
        text = text[1:-1]
    name, equals, value = text.partition("=")
    flag = flag_named(name, known) if name.startswith("-") and equals else None
    if flag is None or flag.option.csv_quotes or not value.startswith(_QUOTES):
        return text
    if flag.is_free_text:
        if _is_quoted(value):
            LOG.warning(
                "%s: warning: the quotes belong to the value of --%s; in a file of flags a value needs none",
                place, flag.name,
            )  # fmt: skip
        return text
    refuse_if(not _is_quoted(value), f"{place}: {name}={value}: write the value without quotes")
    return f"{name}={value[1:-1]}"


def _is_quoted(text: str) -> bool:
    """Return whether one pair of quotes is around the whole text."""
    return len(text) > 1 and text[0] == text[-1] and text[0] not in text[1:-1]


def _check_single(text: str, known: Mapping[str, Flag], place: str) -> None:
    """Raise InputError if a line has a comment or a further flag after its flag."""
    name, _, value = text.partition("=")
    flag = flag_named(name, known)
    # Names and free text may hold any sign, and even two hyphens.
    is_text = flag is not None and flag.kind is str and not (flag.is_file or flag.option.choices)
    several = (further[1] in known or not is_text for further in _FURTHER_FLAG.finditer(text))
    has_several = any(several)
    has_comment = _COMMENT.search(text) and not is_text
    if not text.startswith("-") or not (has_several or has_comment) or (flag and flag.is_file and files.exists(value)):
        return
    refuse_if(has_several, f"{place}: has several flags; write each into a line without others")
    refuse_if(has_comment, f"{place}: has a comment after a flag; give the comment a line without a flag")
