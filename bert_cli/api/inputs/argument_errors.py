"""Error messages that name Python arguments instead of flags."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from bert_cli.base.errors import InputError, InputTypeError

P = ParamSpec("P")
R = TypeVar("R")
_FLAG = re.compile(r"--([a-z][a-z0-9_]*)(=(true|false)\b)?")
_IN_MEMORY = re.compile(r"\b(train|dev|texts|dev_texts):(\d+)\b")
# Errors about line 1 of a file concern the header, which a table in memory does not have.
_HEADER = re.compile(r"\b(train|dev):1: (no column|[a-z_]+=.*: there is no such column)")


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
