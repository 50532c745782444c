"""Parser of command lines: defines absl flags from a command's groups and raises one-line errors."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from absl import flags as absl_flags

from bert_cli.base.errors import InputError
from bert_cli.flags.foreign.advice import OFF, unknown_flags_message
from bert_cli.flags.option import Flag, every_flag, flag_named
from bert_cli.flags.paths import expand_home
from bert_cli.flags.sources import Argument, prefix_of, read_flagfiles, with_variables, without_overridden
from bert_cli.flags.values import decode_text, number_parser, read_value, simplify

_UNDEFOK = "undefok"  # absl's flag with the names of flags to ignore if they are unknown


class _CommandLine(NamedTuple):
    """A command line in parts.

    Attributes:
        flags: known flags with their values.
        words: arguments that are not flags.
        unknown: flags that the command does not have.
    """

    flags: list[str]
    words: list[str]
    unknown: list[Argument]


def parse(settings_class: type, arguments: Sequence[str]) -> tuple[dict[str, Any], frozenset[str]]:
    """Return all flag values by name, and the names of the flags that were given.

    Args:
        settings_class: dataclass of the command's flag groups.
        arguments: arguments without the command's name.

    Raises:
        InputError: if a flag or value is wrong. The message names a mistake's line in a flag file,
            or its environment variable.
    """
    flags = {flag.name: flag for flag in every_flag(settings_class)}
    expanded = without_overridden(read_flagfiles(arguments, flags), flags)
    if prefix := prefix_of(settings_class):
        expanded = with_variables(expanded, flags, prefix)
    try:
        return _values(_with_values(expanded, flags), flags)
    except InputError as error:
        # An error begins with the bad flag, or names the stray word.
        message = str(error)
        locations = [
            place for text, place in expanded if place and message.startswith((f"{text}: ", f"stray word {text!r}"))
        ]
        raise InputError(f"{locations[-1]}: {message}" if locations else message) from None


def _values(arguments: Sequence[Argument], flags: Mapping[str, Flag]) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the result of `parse` for arguments whose flag files are already expanded."""
    words_flag = next((flag for flag in flags.values() if flag.option.words), None)
    command_line = _split(arguments, flags)
    if command_line.unknown:
        names = list(dict.fromkeys(_bare(argument.text) for argument in command_line.unknown))
        place = f"{command_line.unknown[0].place}: " if command_line.unknown[0].place else ""
        argument_names = [words_flag.name] if words_flag else []
        flag_names = [name for name in flags if name not in argument_names]
        off_names = {_bare(argument.text) for argument in command_line.unknown if _value(argument.text) in OFF}
        raise InputError(
            place + unknown_flags_message(names, flag_names, "; --helpfull lists all flags", argument_names, off_names)
        )
    values = _define_flags(flags)
    try:
        values(["command", *command_line.flags])
    except absl_flags.Error as error:
        raise InputError(simplify(str(error))) from None
    if command_line.words and not words_flag:
        raise InputError(_stray_word_message(command_line.words[0], [argument.text for argument in arguments], flags))
    for name, flag in flags.items():
        if flag.option.repeat_advice and (times := values[name].present) > 1:
            raise InputError(f"--{name} is given {times} times; {flag.option.repeat_advice}")
    given_names = frozenset(name for name in flags if name in values and values[name].present)
    checked_values = {name: flag.default for name, flag in flags.items() if name in values}
    for name in given_names:
        value, flag = values[name].value, flags[name]
        checked_values[name] = read_value(flag, "\n".join(value) if flag.option.repeated else value)
    if words_flag:
        checked_values[words_flag.name] = tuple(
            expand_home(word, word) if words_flag.is_file else decode_text(word, repr(word))
            for word in command_line.words
        )
    return checked_values, given_names


def _split(arguments: Sequence[Argument], flags: Mapping[str, Flag]) -> _CommandLine:
    """Split a command line into its parts; all arguments after "--" are words."""
    command_line = _CommandLine([], [], [])
    ignored: set[str] = set()
    rest = iter(arguments)
    is_after_unknown = False
    for argument in rest:
        text = argument.text
        if text == "--":
            break
        name, (_, equals, value) = _bare(text), text.partition("=")
        flag = flag_named(text, flags) if name else None
        is_negated = flag is not None and flag.name != name
        if is_after_unknown and text.lower() in OFF:
            command_line.unknown[-1] = argument._replace(text=f"{command_line.unknown[-1].text}={text}")
        elif not text.startswith("-") or not name:
            command_line.words.append(text)
        elif name == _UNDEFOK:
            names = value if equals else next(rest, argument).text
            ignored |= {prefix + unknown_name.strip() for unknown_name in names.split(",") for prefix in ("", "no")}
        elif flag is None or flag.option.words or (is_negated and flag.value_type is not bool):
            # An unknown flag may have a negative number as its value.
            if not (is_after_unknown and name[0].isdecimal()):
                command_line.unknown.append(argument)
            is_after_unknown = not equals
            continue
        else:
            command_line.flags.append(text)
            if not equals and flag.value_type is not bool:
                command_line.flags.extend(following.text for following in itertools.islice(rest, 1))
        is_after_unknown = False
    command_line.words.extend(argument.text for argument in rest)
    return command_line._replace(unknown=[flag for flag in command_line.unknown if _bare(flag.text) not in ignored])


def _bare(argument: str) -> str:
    """Return the flag name in an argument such as -name, --name or --name=value."""
    return argument.removeprefix("-").removeprefix("-").partition("=")[0]


def _value(argument: str) -> str:
    """Return the value in --name=value in lower case, or ""."""
    return argument.partition("=")[2].lower()


def _with_values(arguments: Sequence[Argument], flags: Mapping[str, Flag]) -> list[Argument]:
    """Return the arguments with Option.implicit_value for flags that were given without a value."""
    completed = []
    # Without this, absl would take the next flag as the value.
    for argument, following in itertools.pairwise([*arguments, Argument("--")]):
        text = argument.text
        flag = flags.get(text.lstrip("-")) if text.startswith("-") else None
        is_alone = flag is not None and flag.option.implicit_value is not None and _is_flag(following.text, flags)
        completed.append(
            argument._replace(text=f"{text}={flag.option.implicit_value}") if flag and is_alone else argument
        )
    return completed


def _is_flag(argument: str, flags: Mapping[str, Flag]) -> bool:
    """Return whether an argument is a flag or ends the flags; texts may begin with a hyphen too."""
    return argument == "--" or (argument.startswith("-") and flag_named(argument, flags) is not None)


def _define_flags(flags: Mapping[str, Flag]) -> absl_flags.FlagValues:
    """Return a new absl FlagValues with a command's flags."""
    # absl's global FLAGS would refuse a second command in the same process, as in tests and
    # notebooks.
    values = absl_flags.FlagValues()
    for name, flag in flags.items():
        text = flag.option.help
        option = flag.option
        if option.choices:
            absl_flags.DEFINE_enum(name, flag.default, list(option.choices), text, flag_values=values)
        elif flag.value_type is bool:
            absl_flags.DEFINE_bool(name, flag.default, text, flag_values=values)
        elif flag.value_type in (int, float):
            absl_flags.DEFINE(number_parser(flag), name, flag.default, text, flag_values=values)
        elif option.repeated:
            absl_flags.DEFINE_multi_string(name, None, text, flag_values=values)
        elif not option.words:
            # absl gets no default: "" and None differ here, and Option.read is only called for
            # given texts.
            absl_flags.DEFINE_string(name, None, text, flag_values=values)
    return values


def _stray_word_message(word: str, arguments: Sequence[str], flags: Mapping[str, Flag]) -> str:
    index = arguments.index(word) if word in arguments else 0
    previous_name = arguments[index - 1].lstrip("-") if index else ""
    if previous_name in flags and flags[previous_name].value_type is bool:
        return (
            f"stray word {word!r}: --{previous_name} is true by itself and takes no word after a space; "
            f"write --{previous_name}=true or --{previous_name}=false"
        )
    return f"stray word {word!r}: every argument is a flag such as --name=value (is a space inside a value not quoted?)"
