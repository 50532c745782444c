"""--completion: a script for bash, zsh or fish that completes a command's flags, choices and files, from its option table."""

import dataclasses
import re
import shlex
from collections.abc import Iterable, Sequence

from bert_cli.base.errors import InputError
from bert_cli.flags.help import sections, words_of

SHELLS = ("bash", "zsh", "fish")
_FLAG = "--completion"
_LONGEST_DESCRIPTION = 70  # characters of a description


@dataclasses.dataclass(frozen=True)
class _Known:
    """A flag as a shell needs it: the values where they are few, whether it may stand alone, and whether it is a file."""

    name: str
    values: Sequence[str] = ()
    is_switch: bool = False
    is_file: bool = False
    help: str = ""

    @property
    def is_boolean(self) -> bool:
        """A switch that also takes true or false, and has a --noNAME."""
        return self.is_switch and bool(self.values)


_BOOLEAN = ("true", "false")
# Of every command, beside those of its groups.
_ALWAYS = (
    _Known("flagfile", is_file=True, help="a file of flags, one --name=value a line"),
    _Known("completion", SHELLS, help="print a script that completes flags and values"),
    _Known("help", is_switch=True, help="describe all flags"),
    _Known("version", is_switch=True, help="the version"),
)


def asked_shell(arguments: Sequence[str]) -> str | None:
    """The shell of --completion=SHELL, or None where it is not given. InputError for another one."""
    for place, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name == _FLAG:
            value = value or next(iter(arguments[place + 1 :]), "")
            if value not in SHELLS:
                raise InputError(f"{_FLAG}={value}: one of {', '.join(SHELLS)} is needed")
            return value
    return None


def completion(settings_class: type, command: str, shell: str) -> str:
    """The script, to be evaluated by one of SHELLS: bash: eval "$(COMMAND --completion=bash)"."""
    found = sections(settings_class)
    known = [
        _Known(
            flag.name,
            flag.option.choices or flag.option.usual or (_BOOLEAN if flag.kind is bool else ()),
            flag.kind is bool,
            flag.is_file,
            _short(flag.option.help),
        )
        for flags in found.values()
        for flag in flags
        if not flag.option.words
    ]
    words_are_files = any(flag.is_file for flag in words_of(found))
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return script(command, [*known, *_ALWAYS], words_are_files)


def _short(text: str) -> str:
    """The beginning of a description."""
    first = re.sub(r" *\([^)]*\)", "", text.split("; ")[0])
    return first if len(first) <= _LONGEST_DESCRIPTION else first[:_LONGEST_DESCRIPTION].rpartition(" ")[0] + " …"


def _function(command: str) -> str:
    return "_" + command.replace("-", "_")


def _pattern(names: Iterable[str]) -> str:
    return " | ".join(f"--{name}" for name in names)


_BASH = """\
# Completion of {command} in bash (4 or later): eval "$({command} --completion=bash)"
{function}() {{
    local names="{names}"
    local negated="{negated}"
    local words_are_files="{words_are_files}"
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="" flag="" prefix="" values="" files=""
    ((COMP_CWORD > 0)) && before="${{COMP_WORDS[COMP_CWORD - 1]}}"
    # bash tears --name=value at the sign, unless COMP_WORDBREAKS was changed.
    if [[ $current == "=" ]]; then
        flag=$before current=""
    elif [[ $before == "=" ]] && ((COMP_CWORD > 1)); then
        flag="${{COMP_WORDS[COMP_CWORD - 2]}}"
    elif [[ $current == --*=* ]]; then
        flag="${{current%%=*}}" prefix="${{current%%=*}}=" current="${{current#*=}}"
    elif [[ $before == --* && " $names " == *" $before= "* ]]; then
        flag=$before
    fi
    case "$flag" in
    "")
        if [[ $current == --no* ]]; then
            values="$names $negated"
        elif [[ $current == -* || -z $words_are_files ]]; then
            values="$names"
        else
            files=1
        fi
        ;;
{cases}
    esac
    COMPREPLY=()
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    fi
    [[ ${{COMPREPLY[0]-}} == *= ]] && compopt -o nospace 2>/dev/null
    COMPREPLY=("${{COMPREPLY[@]/#/$prefix}}")
}}
complete -F {function} {command}"""


def _bash(command: str, known: Sequence[_Known], words_are_files: bool) -> str:
    by_values: dict[tuple[str, ...], list[str]] = {}
    for flag in known:
        if flag.values:
            by_values.setdefault(tuple(flag.values), []).append(flag.name)
    cases = [f'    {_pattern(names)}) values="{" ".join(values)}" ;;' for values, names in by_values.items()]
    cases.append(f"    {_pattern(flag.name for flag in known if flag.is_file)}) files=1 ;;")
    return _BASH.format(
        command=command,
        function=_function(command),
        # The sign tells that a value has to follow.
        names=" ".join(f"--{flag.name}" if flag.is_switch else f"--{flag.name}=" for flag in known),
        negated=" ".join(f"--no{flag.name}" for flag in known if flag.is_boolean),
        words_are_files="1" if words_are_files else "",
        cases="\n".join(cases),
    )


_ZSH = """\
# Completion of {command} in zsh, after compinit: eval "$({command} --completion=zsh)"
{function}() {{
    _arguments \\
{specs}
}}
compdef {function} {command}"""


def _zsh(command: str, known: Sequence[_Known], words_are_files: bool) -> str:
    specs = []
    for flag in known:
        description = "[" + re.sub(r"([\\\[\]:])", r"\\\1", flag.help) + "]"
        action = "_files" if flag.is_file else f"({' '.join(flag.values)})" if flag.values else " "
        if flag.is_boolean:  # its value, if any, stands in the same word
            specs += [f"--{flag.name}=-{description}::{flag.name}:{action}", f"--no{flag.name}{description}"]
        elif flag.is_switch:
            specs.append(f"--{flag.name}{description}")
        else:
            specs.append(f"--{flag.name}={description}:{flag.name}:{action}")
    if words_are_files:
        specs.append("*:file:_files")
    lines = " \\\n".join(f"        {shlex.quote(spec)}" for spec in specs)
    return _ZSH.format(command=command, function=_function(command), specs=lines)


def _fish(command: str, known: Sequence[_Known], words_are_files: bool) -> str:
    lines = [f"# Completion of {command} in fish: {command} --completion=fish | source"]
    lines.append(f"complete -c {command} {'-F' if words_are_files else '-f'}")
    for flag in known:
        kind = ""
        if flag.is_file:
            kind = " -r -F"
        elif not flag.is_switch:
            kind = f" -x -a '{' '.join(flag.values)}'" if flag.values else " -x"
        description = flag.help.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c {command} -l {flag.name}{kind} -d '{description}'")
        if flag.is_boolean:
            # fish knows no negated flags, so each is a flag of its own.
            lines.append(f"complete -c {command} -l no{flag.name} -d 'not: {description}'")
    return "\n".join(lines)
