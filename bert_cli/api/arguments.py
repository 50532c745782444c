"""Flags of the commands as arguments of Python: their values are checked as on a command line, and
errors name arguments.
"""

import functools
import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, TypeVar

from bert_cli.base.errors import InputError
from bert_cli.base.names import join_names
from bert_cli.flags.foreign import unknown_flags_message
from bert_cli.flags.option import Flag, every_flag
from bert_cli.flags.parser import format_value, parse

P = ParamSpec("P")
R = TypeVar("R")
# Arguments of the methods themselves, and flags for a command line alone.
_NOT_ARGUMENTS = frozenset(
    ("do_train", "do_eval", "do_predict", "output_dir", "text", "text_b", "input_file", "output_file", "test_file")
    + ("predict_file", "question", "context", "context_file", "score_only", "predictions_file", "null_odds_file")
    + ("quiet", "verbose", "verbose_logging", "dry_run", "glue_submission", "output_format")
)
_FLAG = re.compile(r"--([a-z][a-z0-9_]*)(=(true|false)\b)?")
_IN_MEMORY = re.compile(r"\b(train|dev|texts|dev_texts):(\d+)\b")
# Flags for the first line of a file, the header, which a table in memory does not have.
_HEADER = re.compile(r"\b(train|dev):1: (no column|[a-z_]+=.*: there is no such column)")


def parse_arguments(settings_class: type, given: Mapping[str, Any], own: Collection[str] = ()) -> dict[str, Any]:
    """Values of all flags of a command by name; None is not given.

    own: flags that are no arguments here because the method has its own for them. InputError for a
    name that is none of the others, and for what the command would refuse.
    """
    flags = {flag.name: flag for flag in every_flag(settings_class)}
    known = [name for name in flags if name not in _NOT_ARGUMENTS and name not in own]
    wrong = [name for name in given if name not in known]
    if wrong:
        raise InputError(unknown_flags_message(wrong, known, ending=""))
    # As words of a command line, so that values get the same checks and the same messages.
    words = [f"--{name}={_text(flags[name], value)}" for name, value in given.items() if value is not None]
    return parse(settings_class, words)[0]


def _text(flag: Flag, value: Any) -> str:
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple):
        return join_names([str(item) for item in value])
    return format_value(value)


def named_arguments(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: flags in the InputError of a function become arguments.

    names: those that differ, such as train_file="train".
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            # Here, at the border, and not where it is raised: the same code serves the commands.
            except InputError as error:
                raise type(error)(in_arguments(str(error), names)) from None

        return call

    return decorate


def in_arguments(message: str, names: Mapping[str, str] = {}) -> str:
    """An error's text with arguments for flags, and places in lists for lines of a table in memory."""
    message = message.replace("unknown flag --", "unknown argument ").replace(
        "unknown flags --", "unknown arguments --"
    )

    def argument(found: re.Match) -> str:
        return names.get(found[1], found[1]) + (f"={found[3].capitalize()}" if found[3] else "")

    return _IN_MEMORY.sub(r"\1[\2]", _HEADER.sub(r"\1: \2", _FLAG.sub(argument, message)))
