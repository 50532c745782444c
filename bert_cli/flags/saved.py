"""flags.txt: the flags of a run, one --name=value a line, for --flagfile and for later runs of the
same folder.
"""

import os
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.lines import read_text, split_lines
from bert_cli.base.names import FLAGS
from bert_cli.base.writing import atomic_write
from bert_cli.flags.option import every_flag, values_of
from bert_cli.flags.parser import parse, written

# A comment for --flagfile: the same data gives the same values, and other data may need others.
_FOUND = "# found in the data: --"


def flags_to_save(settings: Any, found: dict[str, Any]) -> dict[str, str]:
    """Flags that repeat a run from any working directory, as text; `found` has values that the run
    found by itself.

    A value of None is left out, and so is the "" of a flag that has no default.
    """
    values = values_of(settings) | found
    saved = {}
    for flag in every_flag(type(settings)):
        value = values.get(flag.name)
        option = flag.option
        if value is None or value == flag.default == "" or option.ignored or option.passing or option.words:
            continue
        if option.path and value not in option.usual:
            value = files.make_absolute(value)
        saved[flag.name] = written(flag, value)
        refuse_if(
            re.search("[\ud800-\udfff]", saved[flag.name]),
            f"--{flag.name}={saved[flag.name]}: is no text in this locale; set LC_ALL=C.UTF-8, or rename it",
        )
    return saved


def write_flags(path: str, flags: Mapping[str, str], guesses: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write what flags_to_save gives. guesses: values of flags that the run found in its data, as
    text; they are comments in the file.
    """
    with atomic_write(path) as file:
        file.writelines(f"--{name}={value}\n" for name, value in flags.items())
        file.writelines(f"{_FOUND}{name}={value}\n" for name, value in guesses.items())


def read_flags(path: str) -> dict[str, str]:
    """The flags of a flags.txt, as text; an empty dict where there is none."""
    return _pairs([line.removeprefix("--") for line in _lines(path) if not line.startswith("#")])


def first_difference(saved: Mapping[str, str], now: Mapping[str, str]) -> str:
    """The first flag, by name, of another value now, such as `--layers=-1, not -2`; "" where there is none."""
    names = (name for name in sorted({*saved, *now}) if saved.get(name) != now.get(name))
    return next((f"--{name}={saved.get(name, '')}, not {now.get(name, '')}" for name in names), "")


def read_guesses(path: str) -> dict[str, str]:
    """The values of flags that the run of a flags.txt found in its data; an empty dict where there
    is none.
    """
    return _pairs([line.removeprefix(_FOUND) for line in _lines(path) if line.startswith(_FOUND)])


def _lines(path: str) -> list[str]:
    if not files.exists(path):
        return []
    return split_lines(read_text(path), path)


def _pairs(lines: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in lines if line)}


def remembered(settings_class: type, folder: str, given: Collection[str]) -> dict[str, Any]:
    """Values of the remembered flags that the flags.txt of a folder has, but for those `given` now.

    InputError, naming the file, for a bad value.
    """
    path = os.path.join(folder, FLAGS)
    saved = read_flags(path)
    names = [flag.name for flag in every_flag(settings_class) if flag.option.remembered and flag.name not in given]
    kept = [name for name in names if name in saved]
    try:
        # Parsed like a command line: what an older version wrote, or a hand changed, gets the same
        # checks.
        values, _ = parse(settings_class, [f"--{name}={saved[name]}" for name in kept])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return {name: values[name] for name in kept}
