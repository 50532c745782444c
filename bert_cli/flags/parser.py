"""Command lines: absl flags from the groups of a command, and errors in one line."""

import difflib
import itertools
import math
import os
import re
from typing import Any

from absl import flags as absl_flags

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.flags.option import Flag, every_flag

# Spellings from tutorials and forks that the original ignored, and what to say about them.
_KNOWN_MISTAKES = {
    "do_lower": "the flag is --do_lower_case",
    "use_gpu": "a GPU is used when there is one; --distribution_strategy chooses",
    "fp16": "the flag is --precision=float16",
    "use_fp16": "the flag is --precision=float16",
    "batch_size": "the flags are --train_batch_size, --eval_batch_size and --predict_batch_size",
    "seed": "the flag is --random_seed",
    "max_seq_len": "the flag is --max_seq_length",
    "num_epochs": "the flag is --num_train_epochs",
}
_NUMBERS: dict[type, Any] = {int: absl_flags.IntegerParser, float: absl_flags.FloatParser}
# What absl and Python say about a value, and the same for people.
_PLAINER = (
    (r"invalid literal for int\(\).*", "a whole number is needed"),
    (r"could not convert string to float.*", "a number is needed"),
    (r"\('Non-boolean argument.*", "true or false is needed"),
    (r"ERROR:: Unable to open flagfile: \[Errno \d+\] (.*): '(.*)'", r"--flagfile=\2: \1"),
    (r"^flag --", "--"),
)


def parse(settings_class: type, arguments: list[str]) -> tuple[dict[str, Any], frozenset[str]]:
    """Values of all flags by name, and the names that the command line (or a flagfile) gave. Raises
    InputError.
    """
    known = {flag.name: flag for flag in every_flag(settings_class)}
    words = next((flag for flag in known.values() if flag.option.words), None)
    values = _define(known)
    # absl stops at the first word otherwise, and would take all flags after a text for texts.
    values.set_gnu_getopt(words is not None)
    try:
        rest = values(["command", *_with_values(arguments, known)])[1:]
    except absl_flags.UnrecognizedFlagError as error:
        raise InputError(unknown(error.flagname, list(known))) from None
    except UnicodeDecodeError:
        raise InputError("--flagfile: the file is not UTF-8 text") from None
    except (absl_flags.Error, OSError) as error:
        raise InputError(_plain(str(error))) from None
    if rest and not words:
        raise InputError(_stray(rest[0], arguments, known))
    for name, flag in known.items():
        if flag.option.once and (times := values[name].present) > 1:
            raise InputError(f"--{name} is given {times} times; {flag.option.once}")
    given = frozenset(name for name in known if name in values and values[name].present)
    found = {name: _checked(known[name], values[name].value, name in given) for name in known if name in values}
    if words:
        found[words.name] = tuple(rest if words.is_file else (_decoded(word, repr(word)) for word in rest))
    return found, given


def _with_values(arguments: list[str], known: dict[str, Flag]) -> list[str]:
    """The command line, in which a flag given without a value has its value; see Option.alone."""
    completed = []
    # absl would take the next flag for the value.
    for argument, following in itertools.pairwise([*arguments, "--"]):
        flag = known.get(argument.lstrip("-")) if argument.startswith("-") else None
        is_alone = flag is not None and flag.option.alone is not None and _is_flag(following, known)
        completed.append(f"{argument}={flag.option.alone}" if flag and is_alone else argument)
    return completed


def _is_flag(argument: str, known: dict[str, Flag]) -> bool:
    """Whether an argument is a flag or the end of the flags, and not a text that begins with a
    hyphen.
    """
    name = argument.lstrip("-").partition("=")[0]
    is_known = name in known or name.removeprefix("no") in known or name == "flagfile"
    return argument == "--" or (argument.startswith("-") and is_known)


class _NumberOrList(absl_flags.ArgumentParser):
    """A number as absl reads it, or several with commas between, all different, as a tuple."""

    def __init__(self, number: absl_flags.ArgumentParser):
        self._number = number

    def parse(self, argument: Any) -> Any:
        if not isinstance(argument, str) or "," not in argument:
            return self._number.parse(argument)
        values = tuple(self._number.parse(part.strip()) for part in argument.split(","))
        if len(set(values)) < len(values):
            raise ValueError("a list needs different numbers")
        return values


def _define(known: dict[str, Flag]) -> absl_flags.FlagValues:
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
        elif flag.kind in _NUMBERS:
            number = _NUMBERS[flag.kind](option.lower, option.upper)
            parser = _NumberOrList(number) if option.grid else number
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
    return flag.option.read(value) if flag.option.read else value


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


def unknown(name: str, known: list[str]) -> str:
    """The error text for a flag that is none of `known`, with the most similar known flag."""
    bare = name.replace("-", "_")
    if bare in _KNOWN_MISTAKES:
        return f"unknown flag --{name}: {_KNOWN_MISTAKES[bare]}"
    # --nodo_trian is most like --do_train; a name that begins with "no" by itself comes second.
    names = (bare.removeprefix("no"), bare)
    close = [likest for name in names for likest in difflib.get_close_matches(name, known, n=1)]
    return f"unknown flag --{name}" + (f"; did you mean --{close[0]}?" if close else "; --helpfull lists all flags")


def _stray(word: str, arguments: list[str], known: dict[str, Flag]) -> str:
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
