"""flags.txt: a run's flags, one --name=value per line, for --flagfile and for later runs."""

import os
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from bert_cli import __version__
from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import read_json_object
from bert_cli.base.log import warn_once
from bert_cli.base.names import FLAGS, REPORT
from bert_cli.base.writing import atomic_write
from bert_cli.flags.option import every_flag, flag_values
from bert_cli.flags.parser import parse
from bert_cli.flags.run_flags import GUESS, read_flags
from bert_cli.flags.values import format_flag_value


def flags_to_save(settings: Any, derived_values: dict[str, Any]) -> dict[str, str]:
    """Return the flags that repeat a run from any working directory, as texts by name.

    None is omitted, and so is "" if the flag has no default.

    Args:
        derived_values: values that the run derived, by flag name. They replace those in `settings`.
    """
    values = flag_values(settings) | derived_values
    saved = {}
    for flag in every_flag(type(settings)):
        value = values.get(flag.name)
        option = flag.option
        if value is None or value == flag.default == "" or option.ignored or option.transient or option.words:
            continue
        if option.path and value not in option.suggestions:
            value = files.make_absolute(value)
        saved[flag.name] = format_flag_value(flag, value)
        refuse_if(
            re.search("[\ud800-\udfff]", saved[flag.name]),
            f"--{flag.name}={saved[flag.name]}: is no text in this locale; set LC_ALL=C.UTF-8, or rename it",
        )
    return saved


def write_flags(path: str, flags: Mapping[str, str], guesses: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write flags.txt.

    Args:
        path: where to write it.
        flags: result of `flags_to_save`.
        guesses: values that the run guessed from its data, by flag name. They become comments.
    """
    with atomic_write(path) as file:
        file.writelines(f"--{name}={value}\n" for name, value in flags.items())
        file.writelines(f"{GUESS}{name}={value}\n" for name, value in guesses.items())


def warn_of_unknown_flags(settings_class: type, folder: str) -> None:
    """Warn of a flag in a directory's flags.txt if this version does not use it.

    Args:
        settings_class: dataclass of the flag groups of the command that wrote the file.
        folder: a run's directory.
    """
    path = os.path.join(folder, FLAGS)
    names = {flag.name for flag in every_flag(settings_class)}
    unknown = next((name for name in read_flags(path) if name not in names), None)
    if unknown is None:
        return
    report_file = os.path.join(folder, REPORT)
    report = read_json_object(report_file, "remove it") if files.exists(report_file) else {}
    versions = report.get("versions")
    writer = versions.get("bert_cli") if isinstance(versions, dict) else None
    warn_once(
        f"warning: {path}: --{unknown} of bert_cli {writer or '(unknown version)'} is unknown here, in version "
        f"{__version__}, and has no effect: predictions may differ"
    )


def read_remembered(settings_class: type, folder: str, given_names: Collection[str]) -> dict[str, Any]:
    """Return the remembered flag values in a directory's flags.txt.

    Args:
        settings_class: dataclass of the command's flag groups.
        folder: a run's directory.
        given_names: flags that are given now and therefore skipped.

    Raises:
        InputError: if a value is bad; the message names the file.
    """
    path = os.path.join(folder, FLAGS)
    saved = read_flags(path)
    names = [
        flag.name for flag in every_flag(settings_class) if flag.option.remembered and flag.name not in given_names
    ]
    read_names = [name for name in names if name in saved]
    try:
        # Parse them like a command line, so that values edited by hand get the same checks.
        values, _ = parse(settings_class, [f"--{name}={saved[name]}" for name in read_names])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return {name: values[name] for name in read_names}
