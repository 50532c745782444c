"""Python arguments that correspond to flags and get the same checks."""

from collections.abc import Collection, Mapping
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.flags.foreign.advice import unknown_flags_message
from bert_cli.flags.option import every_flag
from bert_cli.flags.values import convert_value


def option_values(settings_class: type, options: Mapping[str, Any], excluded: Collection[str] = ()) -> dict[str, Any]:
    """Return a command's flag values by name.

    Args:
        settings_class: dataclass of the command's flag groups.
        options: flag values by name; None means that a flag is not given.
        excluded: flags that are not options because the method has an argument for them.

    Raises:
        InputError: if a name is unknown, or the command would refuse a value.
    """
    flags = {flag.name: flag for flag in every_flag(settings_class)}
    allowed = [name for name, flag in flags.items() if flag.option.python_argument and name not in excluded]
    unknown_names = [name for name in options if name not in allowed]
    if unknown_names:
        message = unknown_flags_message(unknown_names, allowed, ending="")
        raise InputError(message.replace(": the flag is ", ": the argument is "))
    defaults = {name: flag.default for name, flag in flags.items()}
    return defaults | {name: convert_value(flags[name], value) for name, value in options.items() if value is not None}


def check_arguments(settings_class: type, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `load` with the values that the command's flags have; None stays None.

    Args:
        settings_class: the command's Settings.
        arguments: values by flag.

    Raises:
        InputError: if the command would refuse a value.
    """
    values = option_values(settings_class, arguments)
    return {name: None if value is None else values[name] for name, value in arguments.items()}
