"""Python arguments that correspond to flags: they get the same checks, and errors name arguments."""

import functools
import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, TypeVar

from bert_cli.base.errors import InputError, InputTypeError
from bert_cli.base.names import join_names
from bert_cli.flags.foreign import unknown_flags_message
from bert_cli.flags.option import Flag, every_flag
from bert_cli.flags.parser import format_value, parse

P = ParamSpec("P")
R = TypeVar("R")
# Flags that are arguments of methods or only make sense on a command line.
_NOT_ARGUMENTS = frozenset(
    ("do_train", "do_eval", "do_predict", "output_dir", "text", "text_b", "input_file", "output_file", "test_file")
    + ("predict_file", "question", "context", "context_file", "score_only", "predictions_file", "null_odds_file")
    + ("quiet", "verbose", "verbose_logging", "log_format", "log_level", "dry_run", "glue_submission", "output_format")
)
_FLAG = re.compile(r"--([a-z][a-z0-9_]*)(=(true|false)\b)?")
_IN_MEMORY = re.compile(r"\b(train|dev|texts|dev_texts):(\d+)\b")
# Errors about line 1 of a file concern the header, which a table in memory does not have.
_HEADER = re.compile(r"\b(train|dev):1: (no column|[a-z_]+=.*: there is no such column)")


def parse_arguments(settings_class: type, options: Mapping[str, Any], excluded: Collection[str] = ()) -> dict[str, Any]:
    """Return a command's flag values by name.

    Args:
        settings_class: dataclass of the command's flag groups.
        options: flag values by name; None means that a flag is not given.
        excluded: flags that are not options because the method has an argument for them.

    Raises:
        InputError: if a name is unknown, or the command would refuse a value.
    """
    flags = {flag.name: flag for flag in every_flag(settings_class)}
    allowed = [name for name in flags if name not in _NOT_ARGUMENTS and name not in excluded]
    unknown_names = [name for name in options if name not in allowed]
    if unknown_names:
        raise InputError(unknown_flags_message(unknown_names, allowed, ending=""))
    # Convert values to a command line, so that they get the same checks and messages.
    words = [f"--{name}={_text(flags[name], value)}" for name, value in options.items() if value is not None]
    return parse(settings_class, words)[0]


def _text(flag: Flag, value: Any) -> str:
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return ",".join(f"{name}={number}" for name, number in value.items())
    if isinstance(value, list | tuple):
        return join_names([str(item) for item in value])
    return format_value(value)


def name_arguments_in_errors(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function so that its InputErrors name arguments instead of flags.

    Args:
        names: argument names that differ from the flag's name, such as train_file="train".
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            # Convert here and not at the raise statement: commands use the same code.
            except InputError as error:
                raise type(error)(replace_flag_names(str(error), names)) from None

        return call

    return decorate


def replace_flag_names(message: str, names: Mapping[str, str] = {}) -> str:
    """Return an error message with arguments for flags, and list indices for lines.

    Args:
        message: the error message.
        names: argument names that differ from the flag's name.
    """
    message = message.replace("unknown flag --", "unknown argument ").replace(
        "unknown flags --", "unknown arguments --"
    )

    def argument(match: re.Match) -> str:
        return names.get(match[1], match[1]) + (f"={match[3].capitalize()}" if match[3] else "")

    return _IN_MEMORY.sub(r"\1[\2]", _HEADER.sub(r"\1: \2", _FLAG.sub(argument, message)))


def check_text(text: object, name: str = "text") -> None:
    """Raise InputTypeError unless the value is a single text."""
    if not isinstance(text, str):
        raise InputTypeError(f"{name}: one text is needed, found {text!r:.80}")
