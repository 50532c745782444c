"""--completion: a script for bash, zsh or fish that completes a command's flags, choices and files,
from its option table.
"""

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import refuse_if
from bert_cli.flags.help import sections, words_of
from bert_cli.flags.option import every_flag

SHELLS = ("bash", "zsh", "fish")
_FLAG = "--completion"
_LONGEST_DESCRIPTION = 70  # characters of a description
_BOOLEAN = ("true", "false")


class _Known(NamedTuple):
    """A flag as a shell needs it: the values where they are few, whether it needs no value, and
    whether it is a file.
    """

    name: str
    help: str
    values: Sequence[str] = ()
    is_switch: bool = False
    is_file: bool = False

    @property
    def is_boolean(self) -> bool:
        """A switch that also takes true or false, and has a --noNAME."""
        return self.is_switch and bool(self.values)


# Flags of every command, in addition to the flags of its groups.
_ALWAYS = (
    _Known("flagfile", "a file of flags, one --name=value a line", is_file=True),
    _Known("completion", "print a script that completes flags and values", SHELLS),
    _Known("help", "describe the flags that most people need", is_switch=True),
    _Known("helpfull", "describe all flags", is_switch=True),
    _Known("version", "the version", is_switch=True),
)


def requested_shell(arguments: Sequence[str]) -> str | None:
    """The shell of --completion=SHELL, or None where it is not given. InputError for another one."""
    for argument, following in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        name, _, value = argument.partition("=")
        if name == _FLAG:
            shell = value or following
            refuse_if(shell not in SHELLS, f"{_FLAG}={shell}: one of {', '.join(SHELLS)} is needed")
            return shell
    return None


def completion(settings_class: type, command: str, shell: str) -> str:
    """The script, to be evaluated by one of SHELLS: bash: eval "$(COMMAND --completion=bash)"."""
    found = sections(every_flag(settings_class))
    known = [
        _Known(
            flag.name,
            _short(flag.option.help),
            flag.option.choices or flag.option.usual or (_BOOLEAN if flag.kind is bool else ()),
            flag.kind is bool,
            flag.is_file,
        )
        for flag in itertools.chain(*found.values())
        if not flag.option.words
    ]
    known += _ALWAYS
    words_are_files = any(flag.is_file for flag in words_of(found))
    if shell == "fish":
        return "\n".join(_fish_lines(command, known, words_are_files))
    facts = _bash_facts(known, words_are_files) if shell == "bash" else _zsh_facts(known, words_are_files)
    template = _BASH if shell == "bash" else _ZSH
    return template.format(command=command, function="_" + command.replace("-", "_"), **facts)


def _short(text: str) -> str:
    """The beginning of a description."""
    first = re.sub(r" *\([^)]*\)", "", text.split("; ")[0])
    return first if len(first) <= _LONGEST_DESCRIPTION else first[:_LONGEST_DESCRIPTION].rpartition(" ")[0] + " …"


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


def _bash_facts(known: Sequence[_Known], words_are_files: bool) -> dict[str, str]:
    """What _BASH has in braces."""
    by_action: dict[str, list[str]] = {}
    for flag in known:
        if flag.values:
            by_action.setdefault(f'values="{" ".join(flag.values)}"', []).append(f"--{flag.name}")
    # Last, as bash takes the first case: a file that has usual values, too, is offered these.
    by_action["files=1"] = [f"--{flag.name}" for flag in known if flag.is_file]
    return {
        # The sign means that a value has to follow.
        "names": " ".join(f"--{flag.name}" if flag.is_switch else f"--{flag.name}=" for flag in known),
        "negated": " ".join(f"--no{flag.name}" for flag in known if flag.is_boolean),
        "words_are_files": "1" if words_are_files else "",
        "cases": "\n".join(f"    {' | '.join(names)}) {action} ;;" for action, names in by_action.items()),
    }


_ZSH = """\
# Completion of {command} in zsh, after compinit: eval "$({command} --completion=zsh)"
{function}() {{
    _arguments \\
{specs}
}}
compdef {function} {command}"""


def _zsh_facts(known: Sequence[_Known], words_are_files: bool) -> dict[str, str]:
    """What _ZSH has in braces."""
    specs = []
    for flag in known:
        description = "[" + re.sub(r"([\\\[\]:])", r"\\\1", flag.help) + "]"
        action = "_files" if flag.is_file else f"({' '.join(flag.values)})" if flag.values else " "
        if flag.is_boolean:  # its value, if any, is in the same word
            specs += [f"--{flag.name}=-{description}::{flag.name}:{action}", f"--no{flag.name}{description}"]
        else:
            specs.append(f"--{flag.name}" + (description if flag.is_switch else f"={description}:{flag.name}:{action}"))
    specs += ["*:file:_files"] if words_are_files else []
    return {"specs": " \\\n".join(f"        {shlex.quote(spec)}" for spec in specs)}


def _fish_lines(command: str, known: Sequence[_Known], words_are_files: bool) -> Iterator[str]:
    yield f"# Completion of {command} in fish: {command} --completion=fish | source"
    yield f"complete -c {command} {'-F' if words_are_files else '-f'}"
    for flag in known:
        values = f" -x -a '{' '.join(flag.values)}'" if flag.values else " -x"
        takes = " -r -F" if flag.is_file else "" if flag.is_switch else values
        description = flag.help.replace("\\", "\\\\").replace("'", "\\'")
        yield f"complete -c {command} -l {flag.name}{takes} -d '{description}'"
        if flag.is_boolean:
            # fish knows no negated flags, so each is a flag of its own.
            yield f"complete -c {command} -l no{flag.name} -d 'not: {description}'"
