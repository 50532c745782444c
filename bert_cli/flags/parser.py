"""Command lines: absl flags from the groups of a command, and errors in one line."""

import itertools
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from absl import flags as absl_flags

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.flags.flagfile import Argument, read_flagfiles
from bert_cli.flags.foreign import unknown
from bert_cli.flags.numbers import Number, NumberOrList, comma_advice
from bert_cli.flags.option import Flag, every_flag, flag_named
from bert_cli.flags.paths import expand_home

_UNDEFOK = "undefok"  # of absl: names of flags to ignore if they are unknown
# What absl and Python say about a value, and the same for people.
_PLAINER = (
    (r"invalid literal for int\(\).*", "a whole number is needed"),
    (r"could not convert string to float.*", "a number is needed"),
    (r"\('Non-boolean argument.*", "true or false is needed"),
    (r"^flag --", "--"),
)


class _Divided(NamedTuple):
    """A command line: flags with their values, words, and flags that the command does not have."""

    flags: list[str]
    words: list[str]
    unknown: list[Argument]


def parse(settings_class: type, arguments: Sequence[str]) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the values of all flags by name, and the names that the arguments or a flagfile gave.

    Raises InputError, with the place in a file of flags if the mistake is there.
    """
    known = {flag.name: flag for flag in every_flag(settings_class)}
    expanded = read_flagfiles(arguments, known)
    try:
        return _values(_with_values(expanded, known), known)
    except InputError as error:
        # A bad value's error begins with its flag, and a stray word's error has the word first.
        message = str(error)
        places = [
            place for text, place in expanded if place and message.startswith((f"{text}: ", f"stray word {text!r}"))
        ]
        raise InputError(f"{places[-1]}: {message}" if places else message) from None


def _values(arguments: Sequence[Argument], known: Mapping[str, Flag]) -> tuple[dict[str, Any], frozenset[str]]:
    """Return what `parse` returns, for arguments without files of flags."""
    words = next((flag for flag in known.values() if flag.option.words), None)
    divided = _divide(arguments, known)
    if divided.unknown:
        names = list(dict.fromkeys(_bare(argument.text) for argument in divided.unknown))
        place = f"{divided.unknown[0].place}: " if divided.unknown[0].place else ""
        raise InputError(place + unknown(names, list(known)))
    values = _define(known)
    try:
        values(["command", *divided.flags])
    except absl_flags.Error as error:
        raise InputError(_plain(str(error))) from None
    if divided.words and not words:
        raise InputError(_stray(divided.words[0], [argument.text for argument in arguments], known))
    for name, flag in known.items():
        if flag.option.once and (times := values[name].present) > 1:
            raise InputError(f"--{name} is given {times} times; {flag.option.once}")
    given = frozenset(name for name in known if name in values and values[name].present)
    checked = {name: _checked(known[name], values[name].value, name in given) for name in known if name in values}
    if words:
        checked[words.name] = tuple(
            expand_home(word, word) if words.is_file else _decoded(word, repr(word)) for word in divided.words
        )
    return checked, given


def _divide(arguments: Sequence[Argument], known: Mapping[str, Flag]) -> _Divided:
    """Return the parts of a command line. All words after "--" are words."""
    divided = _Divided([], [], [])
    ignored: set[str] = set()
    rest = iter(arguments)
    is_after_unknown = False
    for argument in rest:
        text = argument.text
        if text == "--":
            break
        name, (_, equals, value) = _bare(text), text.partition("=")
        flag = flag_named(text, known) if name else None
        is_negated = flag is not None and flag.name != name
        if not text.startswith("-") or not name:
            divided.words.append(text)
        elif name == _UNDEFOK:
            names = value if equals else next(rest, argument).text
            ignored |= {prefix + part.strip() for part in names.split(",") for prefix in ("", "no")}
        elif flag is None or flag.option.words or (is_negated and flag.kind is not bool):
            # The value of an unknown flag may be a negative number.
            if not (is_after_unknown and name[0].isdecimal()):
                divided.unknown.append(argument)
            is_after_unknown = not equals
            continue
        else:
            divided.flags.append(text)
            if not equals and flag.kind is not bool:
                divided.flags.extend(following.text for following in itertools.islice(rest, 1))
        is_after_unknown = False
    divided.words.extend(argument.text for argument in rest)
    return divided._replace(unknown=[flag for flag in divided.unknown if _bare(flag.text) not in ignored])


def _bare(argument: str) -> str:
    """Return the name in an argument such as -name, --name or --name=value."""
    return argument.removeprefix("-").removeprefix("-").partition("=")[0]


def _with_values(arguments: Sequence[Argument], known: Mapping[str, Flag]) -> list[Argument]:
    """Return the command line, in which a flag given without a value has its value; see Option.alone."""
    completed = []
    # absl would take the next flag for the value.
    for argument, following in itertools.pairwise([*arguments, Argument("--")]):
        text = argument.text
        flag = known.get(text.lstrip("-")) if text.startswith("-") else None
        is_alone = flag is not None and flag.option.alone is not None and _is_flag(following.text, known)
        completed.append(argument._replace(text=f"{text}={flag.option.alone}") if flag and is_alone else argument)
    return completed


def _is_flag(argument: str, known: Mapping[str, Flag]) -> bool:
    """Return whether an argument is a flag or the end of the flags, not a text that begins with a hyphen."""
    return argument == "--" or (argument.startswith("-") and flag_named(argument, known) is not None)


def _define(known: Mapping[str, Flag]) -> absl_flags.FlagValues:
    """A fresh absl FlagValues, so that commands can share a process."""
    # The global FLAGS of absl would refuse a second command in one process, as in tests and
    # notebooks.
    values = absl_flags.FlagValues()
    for name, flag in known.items():
        text = flag.option.help
        option = flag.option
        if option.choices:
            absl_flags.DEFINE_enum(name, flag.default, list(option.choices), text, flag_values=values)
        elif flag.kind is bool:
            absl_flags.DEFINE_bool(name, flag.default, text, flag_values=values)
        elif flag.kind in (int, float):
            number = Number(flag.kind, option.lower, option.upper)
            parser = NumberOrList(number) if option.grid else number
            absl_flags.DEFINE(parser, name, flag.default, text, flag_values=values)
        elif option.repeated:
            absl_flags.DEFINE_multi_string(name, None, text, flag_values=values)
        elif not option.words:
            # The default is ours, not of absl: "" and None mean different things here, and
            # Option.read sees given texts only.
            absl_flags.DEFINE_string(name, None, text, flag_values=values)
    return values


def _checked(flag: Flag, value: Any, is_given: bool) -> Any:
    """The value of a flag; of a text that was given, what Option.read makes of it."""
    if not is_given:
        return flag.default
    if flag.option.repeated:
        value = "\n".join(value)
    if isinstance(value, str) and not flag.is_file:
        value = _decoded(value, f"--{flag.name}")
    refuse_if(
        value == "" and not flag.option.may_be_empty,
        f"--{flag.name}= has no value (a variable that is not set?); leave the flag out for the default",
    )
    for number in value if isinstance(value, tuple) else (value,):
        is_infinite = isinstance(number, float) and not math.isfinite(number)
        refuse_if(is_infinite, f"--{flag.name}={number}: a finite number is needed")
    if flag.is_file and value:
        value = expand_home(value, f"--{flag.name}={value}")
    if not flag.option.read:
        return value
    try:
        return flag.option.read(value)
    except InputError as error:
        raise InputError(f"{error}{comma_advice(value)}") from None


def _decoded(text: str, place: str) -> str:
    """Return a text of the command line as UTF-8; InputError if it is not UTF-8.

    In a locale of ASCII, Python leaves other bytes undecoded, as halves of surrogate pairs. Names
    of files stay like this, as the system needs the same bytes.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(text).decode()
        except UnicodeError:
            advice = "give it in UTF-8, or in a file of another encoding"
            raise InputError(f"{place}: is not UTF-8; {advice}") from None
    return text


def _stray(word: str, arguments: Sequence[str], known: Mapping[str, Flag]) -> str:
    position = arguments.index(word) if word in arguments else 0
    before = arguments[position - 1].lstrip("-") if position else ""
    if before in known and known[before].kind is bool:
        return (
            f"stray word {word!r}: --{before} is true by itself and takes no word after a space; "
            f"write --{before}=true or --{before}=false"
        )
    return f"stray word {word!r}: every argument is a flag such as --name=value (is a space inside a value not quoted?)"


def shown(value: Any) -> str:
    """A value as it is written after --name=."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def written(flag: Flag, value: Any) -> str:
    """A value of a flag as it is written after --name=."""
    return flag.option.write(value) if flag.option.write else shown(value)


def _plain(text: str) -> str:
    text = " ".join(text.split())
    for pattern, replacement in _PLAINER:
        text = re.sub(pattern, replacement, text)
    return text
