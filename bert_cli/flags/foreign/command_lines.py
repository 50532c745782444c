"""Reader for other programs' command lines: the program, its flags, and the words before it.

programs.tsv has a row per program: scripts by Hugging Face and Google, Optimum, and servers.
"""

import functools
import itertools
import os
import re
import shlex
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import Json, read_json_object, to_json

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs.tsv")
_CONTINUATION = re.compile(r"[\\^`][ \t\r]*(?:\n|$)")  # of a POSIX shell, Windows' cmd and PowerShell
_DASHES = re.compile(r"^[‐‑‒–—―−]+(?=\w)")
_QUOTES = str.maketrans("“”„‟‘’‚‛", "\"\"\"\"''''")
_OPERATOR = re.compile(r"[|&;]+|\d?>>?.*|\d?>&\d")  # of a shell, after a command
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*?);?", re.DOTALL)
_NUMBER = re.compile(r"-\d[\d.]*(?:e-?\d+)?")
_VALUE_SUFFIXES = (".json", ".yaml", ".yml")


class Script(NamedTuple):
    """A program that commands replace, a row in programs.tsv.

    Attributes:
        names: the first word is a file or program. Further words must follow it, and flags such as
            --experiment=bert/squad must be given.
        commands: our commands for the same task.
        defaults: their flags and values that differ from ours if they are not given. If the script
            may train, they count only if it trains.
        implied: our flags for the steps that the script always does.
        switches: their flags that use no value.
        words: names for their arguments without a flag.
        variables: "yes" if environment variables set their flags.
        note: remark on the translation.
    """

    names: tuple[str, ...]
    commands: tuple[str, ...]
    defaults: tuple[str, ...]
    implied: tuple[str, ...]
    switches: tuple[str, ...]
    words: tuple[str, ...]
    variables: str
    note: str


class ForeignLine(NamedTuple):
    """Another program's command line.

    Attributes:
        script: the program.
        name: its name in the line.
        flags: values by flag, without hyphens; "" for a flag without a value.
        launcher: flags before the program, such as torchrun's, with their values.
        variables: environment variables before the program.
        strays: words that belong to no flag.
        shell_words: the words from a pipe, a redirection or another command on.
    """

    script: Script
    name: str
    flags: dict[str, str]
    launcher: list[tuple[str, str]]
    variables: dict[str, str]
    strays: list[str]
    shell_words: list[str]


@functools.cache
def scripts() -> Sequence[Script]:
    """Return the rows in programs.tsv."""
    rows = []
    with open(_FILE, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                names, *lists, variables, note = line.rstrip("\n").split("\t")
                commands, defaults, implied, switches, words = (tuple(cell.split()) for cell in lists)
                rows.append(
                    Script(tuple(names.split(", ")), commands, defaults, implied, switches, words, variables, note)
                )
    return rows


def scripts_of(command: str) -> list[str]:
    """Return the names of the programs that a command replaces."""
    names = (name.split(" --")[0] for script in scripts() if command in script.commands for name in script.names)
    return list(dict.fromkeys(names))


def read_foreign_line(text: str, place: str) -> ForeignLine | None:
    """Return a command line's parts, or None if it uses no known program.

    Args:
        text: a command line, also with the lines that set its shell variables.
        place: beginning of error messages.
    """
    try:
        words = shlex.split(_CONTINUATION.sub(" ", text).translate(_QUOTES))
    except ValueError as error:
        raise InputError(f"{place}: {error}; check the quotes") from None
    variables: dict[str, str] = {}
    for index, word in enumerate(words):
        if assignment := _ASSIGNMENT.fullmatch(word):
            variables[assignment[1]] = string.Template(assignment[2]).safe_substitute(variables)
        elif match := _find_script(words, index):
            name, script = match
            rest, shell_words = _without_operators(words[index + len(name.split(" --")[0].split()) :])
            used = {key for key in variables if re.search(rf"\$\{{?{key}\b", " ".join(words))}
            rest = [string.Template(argument).safe_substitute(variables) for argument in rest]
            flags, strays = _read_flags(rest, script)
            strays = _add_words(flags, strays, script, place)
            launcher = _read_launcher(words[:index])
            kept = {key: value for key, value in variables.items() if key not in used}
            return ForeignLine(script, name, flags, launcher, kept, strays, shell_words)
    return None


def _find_script(words: Sequence[str], index: int) -> tuple[str, Script] | None:
    """Return the program at an index, by its longest name that fits, or None."""
    program = words[index].replace("\\", "/").removeprefix("!")
    previous = words[index - 1] if index else ""
    if previous == "--name":  # of a container
        return None
    if previous == "-m":
        program = program.replace(".", "/") + ".py"
    program = re.sub(r"(:[\w.-]+)?(@sha256:\w+)?$", "", program)  # the tag of a container's image
    matches = []
    for script in scripts():
        for name in script.names:
            first, *conditions = name.split()
            following = [word for word in conditions if not word.startswith("--")]
            is_program = program == first or program.endswith(f"/{first}")
            if is_program and list(words[index + 1 : index + 1 + len(following)]) == following:
                flags, _ = _read_flags(words[index + 1 + len(following) :], script)
                if all(_is_given(word, flags) for word in conditions if word.startswith("--")):
                    matches.append((name, script))
    return max(matches, key=lambda match: len(match[0]), default=None)


def _is_given(condition: str, flags: Mapping[str, str]) -> bool:
    """Return whether a flag such as --name or --name=value is given."""
    name, equals, value = condition.removeprefix("--").partition("=")
    return flags.get(name) == value if equals else name in flags


def _without_operators(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words up to a pipe, a redirection or another command, and those after."""
    end = next((index for index, word in enumerate(words) if _OPERATOR.fullmatch(word)), len(words))
    return list(words[:end]), list(words[end:])


def _read_flags(words: Sequence[str], script: Script) -> tuple[dict[str, str], list[str]]:
    """Return values by flag, and the words that belong to no flag.

    A flag has all words that follow it, joined by commas, unless the program has arguments without
    a flag.
    """
    flags: dict[str, str] = {}
    strays = []
    name, is_complete = "", True
    for raw_word in words:
        word = _DASHES.sub("--", raw_word)
        if word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word):
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("-", "_").lower()
            flags[name] = value
            is_complete = bool(equals) or name in script.switches
        elif is_complete:
            strays.append(word)
        else:
            flags[name] = ",".join(filter(None, (flags[name], word)))
            is_complete = bool(script.words)
    return flags, strays


def _add_words(flags: dict[str, str], strays: Sequence[str], script: Script, place: str) -> list[str]:
    """Add arguments without a flag, and those in a JSON file, to `flags`; return the others."""
    flags.update(zip(script.words, strays, strict=False))
    unused = list(strays[len(script.words) :])
    if unused and not script.words and unused[0].endswith(_VALUE_SUFFIXES):
        path = unused.pop(0)
        refuse_if(not path.endswith(".json"), f"{place}: {path}: is YAML; save the arguments as JSON")
        for name, value in read_json_object(path, needed="it needs arguments as {name: value}").items():
            if value is not None:
                flags.setdefault(name, _as_text(value))
    return unused


def _as_text(value: Json) -> str:
    """Return a value of a JSON file as on a command line."""
    if isinstance(value, list):
        return ",".join(map(_as_text, value))
    return value if isinstance(value, str) else to_json(value)


def _read_launcher(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the flags before the program, without those that only set variables."""
    flags = []
    for word, following in itertools.zip_longest(words, words[1:], fillvalue="-"):
        name, equals, value = word.partition("=")
        if word.startswith("--") or (word.startswith("-") and len(word) == 2 and word not in ("-m", "-u", "-e")):
            flags.append((name, value if equals or following.startswith("-") else following))
    return [(name, value) for name, value in flags if not (name == "--env" and _ASSIGNMENT.fullmatch(value))]


def flags_of_variables(line: ForeignLine) -> Iterator[tuple[str, str]]:
    """Yield the flags that environment variables set, and take these variables away."""
    if line.script.variables:
        for variable in [name for name in line.variables if not name.startswith("CUDA")]:
            yield variable.lower(), line.variables.pop(variable)
