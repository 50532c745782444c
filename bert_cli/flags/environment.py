"""Environment variables as flags, such as BERT_SERVE_PORT for --port.

If Settings have an `environment_prefix`, the parser uses these variables. A flag on the
command line overrides its variable, and a variable overrides a flag file.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bert_cli.base.errors import refuse_if
from bert_cli.base.log import LOG
from bert_cli.flags.flagfile import Argument
from bert_cli.flags.option import Flag, flag_named

# For each Service, Kubernetes sets variables in all pods of its namespace. For a Service bert-serve,
# BERT_SERVE_PORT is tcp://10.0.0.1:80.
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://\S+:\d+")
_SERVICE_NAME = re.compile(r"\w*_SERVICE_(HOST|PORT(_\w+)?)|\w*_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?")


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


def _without(arguments: Sequence[Argument], flags: Mapping[str, Flag], names: set[str]) -> Iterator[Argument]:
    """Yield the arguments without some flags and their values."""
    rest = iter(arguments)
    for argument in rest:
        flag = flag_named(argument.text, flags) if argument.text.startswith("-") else None
        if flag is None or flag.name not in names:
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
