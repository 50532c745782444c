"""Arguments from flag files (--flagfile) and environment variables.

In a flag file, each line has one flag, or a flag and its value are on two lines. Continuation
characters at line ends and quotes around values are removed, as a shell would remove them, and the
log reports it. A value in CSV quotes, for example a name with a comma, keeps them.

If Settings have an `environment_prefix`, the parser uses environment variables such as
BERT_SERVE_PORT for --port. A flag on the command line overrides its variable, and a variable
overrides a flag file. A flag on the command line also overrides a flag file that follows it.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.lines import read_text
from bert_cli.base.log import LOG
from bert_cli.flags.option import Flag, flag_named
from bert_cli.flags.paths import expand_home

_NAME = "flagfile"
_LINE_END = re.compile(r"\r\n|\r|\n")  # splitlines would also split at U+2028, which a value may contain
# Continuation characters in sh, cmd.exe and PowerShell. They need a space in front, because a
# Windows directory may end in a backslash.
_CONTINUATION = re.compile(r"(?:^|\s+)[\\^`]$")
_SWITCH_CONTINUATION = re.compile(r"(--?\w+)[\\^`]")
_SPACED = re.compile(r"(--?[A-Za-z_][\w-]*)(?:\s+=\s*|\s+(?![=\s]|--?[A-Za-z])|=(?=\s))(.+)")
_COMMENT = re.compile(r"\s#(\s|$)")
_FURTHER_FLAG = re.compile(r"\s--(?:no)?([A-Za-z_]\w*)(?=[=\s]|$)")
_QUOTES = ("'", '"')
# For each Service, Kubernetes sets variables in all pods of its namespace. For a Service
# bert-serve, BERT_SERVE_PORT is tcp://10.0.0.1:80.
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://\S+:\d+")
_SERVICE_NAME = re.compile(r"\w*_SERVICE_(HOST|PORT(_\w+)?)|\w*_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?")


class Argument(NamedTuple):
    """A command-line argument.

    Attributes:
        text: the argument as the shell passes it.
        place: FILE:LINE if it comes from a flag file, else "".
    """

    text: str
    place: str = ""


def read_flagfiles(arguments: Sequence[str], flags: Mapping[str, Flag]) -> list[Argument]:
    """Return the arguments, with each --flagfile replaced by the file's content.

    Args:
        flags: the command's flags by name.

    Raises:
        InputError: if a file is missing, is not text, includes itself, or has a line that is not
            one flag.
    """
    return list(_expand([Argument(text) for text in arguments], flags, ()))


def _expand(arguments: Sequence[Argument], flags: Mapping[str, Flag], opened: tuple[str, ...]) -> Iterator[Argument]:
    """Yield arguments as in `read_flagfiles`.

    Args:
        arguments: arguments from a command line or a flag file.
        flags: the command's flags by name.
        opened: paths of the files that contain these arguments, outermost first.
    """
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
        yield from _expand(list(_read(path, flags)), flags, (*opened, path))


def _read(path: str, flags: Mapping[str, Flag]) -> Iterator[Argument]:
    """Yield the arguments in a flag file."""
    files.check_readable(path, _NAME)
    removed: dict[str, list[int]] = {}
    for number, line in enumerate(_LINE_END.split(read_text(path)), start=1):
        text = line.strip()
        if text.startswith(("#", "//")):
            continue
        place = f"{path}:{number}"
        line_text = _without_continuation(text)
        if line_text != text:
            removed.setdefault("the continuation sign at the end", []).append(number)
        unquoted = _without_quotes(_join_value(line_text, flags), flags, place)
        if unquoted != _join_value(line_text, flags):
            removed.setdefault("the quotes", []).append(number)
        if unquoted:
            _check_single(unquoted, flags, place)
            yield Argument(unquoted, place)
    for subject, numbers in removed.items():
        LOG.info("%s: left out %s of line %s", path, subject, ", ".join(map(str, numbers)))


def _without_continuation(text: str) -> str:
    """Remove the character that continues a command on the next line in a shell."""
    switch = _SWITCH_CONTINUATION.fullmatch(text)
    return switch[1] if switch else _CONTINUATION.sub("", text)


def _join_value(text: str, flags: Mapping[str, Flag]) -> str:
    """Convert a line such as `--name value` or `--name = value` to --name=value."""
    spaced = _SPACED.fullmatch(text)
    flag = flag_named(spaced[1], flags) if spaced else None
    if not spaced or flag is None or (flag.is_free_text and text.startswith(f"{spaced[1]}=")):
        return text
    return f"{spaced[1]}={spaced[2].strip()}"


def _without_quotes(text: str, flags: Mapping[str, Flag], place: str) -> str:
    """Remove quotes around a line or around its flag's value.

    Free text keeps its quotes, with a warning, and so do names in CSV quotes.
    """
    if text.startswith(_QUOTES) and text[1:].startswith("-"):
        refuse_if(not _is_quoted(text), f"{place}: a quote is open; write --name=value without quotes")
        text = text[1:-1]
    name, equals, value = text.partition("=")
    flag = flag_named(name, flags) if name.startswith("-") and equals else None
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
    """Return whether a single pair of quotes encloses the whole text."""
    return len(text) > 1 and text[0] == text[-1] and text[0] not in text[1:-1]


def _check_single(text: str, flags: Mapping[str, Flag], place: str) -> None:
    """Raise InputError if a comment or a second flag follows a line's flag."""
    name, _, value = text.partition("=")
    flag = flag_named(name, flags)
    # Names and free text may contain any character, even two hyphens.
    is_text = flag is not None and flag.value_type is str and not (flag.is_file or flag.option.choices)
    extra_flags = (further[1] in flags or not is_text for further in _FURTHER_FLAG.finditer(text))
    has_several = any(extra_flags)
    has_comment = _COMMENT.search(text) and not is_text
    if not text.startswith("-") or not (has_several or has_comment) or (flag and flag.is_file and files.exists(value)):
        return
    refuse_if(has_several, f"{place}: has several flags; write each into a line without others")
    refuse_if(has_comment, f"{place}: has a comment after a flag; give the comment a line without a flag")


def prefix_of(settings_class: type) -> str:
    """Return the prefix of a command's variables, or "" if it uses no variables."""
    return getattr(settings_class, "environment_prefix", "")


def variable_of(flag_name: str, prefix: str) -> str:
    """Return a flag's variable, such as BERT_SERVE_PORT for port."""
    return f"{prefix}{flag_name.upper()}"


def variables_as_flags(names: Iterable[str], prefix: str) -> list[str]:
    """Return arguments such as --port=9000 for each flag that a variable sets."""
    variables = {name: os.environ.get(variable_of(name, prefix)) for name in names if prefix}
    return [f"--{name}={value}" for name, value in variables.items() if value]


def without_overridden(arguments: Sequence[Argument], flags: Mapping[str, Flag]) -> list[Argument]:
    """Return the arguments without those from flag files that the command line gives, too.

    Values of flags that take several, or that must be given once, are kept.

    Args:
        arguments: arguments of the command line and, with a place, of flag files.
        flags: the command's flags by name.
    """
    texts = (argument.text for argument in arguments if not argument.place)
    names = _names(itertools.takewhile(lambda text: text != "--", texts), flags)
    single = {name for name in names if not (flags[name].option.repeated or flags[name].option.repeat_advice)}
    return list(_without(arguments, flags, single, only_files=True))


def with_variables(arguments: Sequence[Argument], flags: Mapping[str, Flag], prefix: str) -> list[Argument]:
    """Return the arguments with those from environment variables in front.

    Args:
        arguments: arguments of the command line and, with a place, of flag files.
        flags: the command's flags by name.
        prefix: prefix of the variables.

    Raises:
        InputError: if a variable is empty and its flag needs a value.
    """
    _warn_of_unknown(flags, prefix)
    on_command_line = set(_names((argument.text for argument in arguments if not argument.place), flags))
    added = []
    for name, flag in flags.items():
        variable = variable_of(name, prefix)
        value = os.environ.get(variable)
        if value is None or name in on_command_line or _SERVICE_ADDRESS.fullmatch(value):
            continue
        is_empty = not value and not flag.option.may_be_empty
        refuse_if(is_empty, f"{variable} is empty; unset it for the default of --{name}")
        added.append(Argument(f"--{name}={value}", variable))
    overridden = set(_names((argument.text for argument in added), flags))
    return [*added, *_without(arguments, flags, overridden)]


def name_variable(message: str, arguments: Sequence[str], flags: Mapping[str, Flag], prefix: str) -> str:
    """Return an error message that begins with a flag, after the variable that set this flag.

    Args:
        message: error message, such as "--port=70000: too large".
        arguments: arguments of the command line.
        flags: the command's flags by name.
        prefix: prefix of the variables.
    """
    flag = flag_named(message.partition(":")[0].partition(" ")[0], flags) if message.startswith("--") else None
    if not prefix or flag is None or flag.name in _names(arguments, flags):
        return message
    variable = variable_of(flag.name, prefix)
    return f"{variable}: {message}" if variable in os.environ else message


def _names(arguments: Iterable[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    for text in arguments:
        flag = flag_named(text, flags) if text.startswith("-") else None
        if flag:
            yield flag.name


def _without(
    arguments: Sequence[Argument], flags: Mapping[str, Flag], names: set[str], only_files: bool = False
) -> Iterator[Argument]:
    """Yield the arguments without some flags and their values.

    Args:
        arguments: arguments of the command line and, with a place, of flag files.
        flags: the command's flags by name.
        names: flags to leave out.
        only_files: whether flags on the command line are kept.
    """
    rest = iter(arguments)
    for argument in rest:
        flag = flag_named(argument.text, flags) if argument.text.startswith("-") else None
        if flag is None or flag.name not in names or (only_files and not argument.place):
            yield argument
        elif "=" not in argument.text and flag.value_type is not bool:
            next(rest, None)


def _warn_of_unknown(flags: Mapping[str, Flag], prefix: str) -> None:
    variables = {variable_of(name, prefix) for name in flags}
    for variable, value in sorted(os.environ.items()):
        is_service = _SERVICE_NAME.fullmatch(variable) or _SERVICE_ADDRESS.fullmatch(value)
        if variable.startswith(prefix) and variable not in variables and not is_service:
            import difflib  # late, as only wrong names need it

            guess = difflib.get_close_matches(variable, variables, 1)
            advice = f"; did you mean {guess[0]}?" if guess else ""
            LOG.warning("warning: %s sets no flag%s", variable, advice)
