"""--completion: bash, zsh and fish scripts that complete a command's flags, choices and files.

No library gives the same for absl flags. In shtab 1.13, bash completes nothing after --flag=, and
--noflag does not exist. argcomplete 3.7 starts the command at each tab, which takes seconds.
"""

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import refuse_if
from bert_cli.flags.foreign.command_lines import scripts_of
from bert_cli.flags.help import positional_flags, rule_texts, sections
from bert_cli.flags.option import Flag, every_flag
from bert_cli.flags.translation import FROM_COMMAND

SHELLS = ("bash", "zsh", "fish")
_FLAG = "--completion"
_LONGEST_DESCRIPTION = 70  # maximum number of characters
_BOOLEAN = ("true", "false")


class _CompletedFlag(NamedTuple):
    """A flag as completion scripts need it.

    Attributes:
        name: the flag's name.
        help: a short description.
        values: suggested values; empty if there are too many.
        excluded: flags that cannot be combined with this one.
        is_switch: whether the flag can be given without a value.
        is_file: whether the value is a file.
    """

    name: str
    help: str
    values: Sequence[str] = ()
    excluded: Sequence[str] = ()
    is_switch: bool = False
    is_file: bool = False

    @property
    def is_boolean(self) -> bool:
        """Return whether the flag also takes true or false, and has a --noNAME form."""
        return self.is_switch and bool(self.values)


# Flags that every command has in addition to those in its groups.
_ALWAYS = (
    _CompletedFlag("flagfile", "a file of flags, one --name=value a line", is_file=True),
    _CompletedFlag("completion", "print a script that completes flags and values", SHELLS),
    _CompletedFlag("help", "describe the flags that most people need", is_switch=True),
    _CompletedFlag("helpfull", "describe all flags", is_switch=True),
    _CompletedFlag("version", "the version", is_switch=True),
)

_FOR_SCRIPTS = _CompletedFlag(FROM_COMMAND, "print another program's command line with these flags")


def requested_shell(arguments: Sequence[str]) -> str | None:
    """Return the shell in --completion=SHELL, or None without this flag.

    Raises:
        InputError: if the shell is not one of SHELLS.
    """
    for argument, following in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        name, _, value = argument.partition("=")
        if name == _FLAG:
            shell = value or following
            refuse_if(shell not in SHELLS, f"{_FLAG}={shell}: one of {', '.join(SHELLS)} is needed")
            return shell
    return None


def completion(settings_class: type, command: str, shell: str) -> str:
    """Return the completion script for a shell.

    A user evaluates it, in bash for example with eval "$(COMMAND --completion=bash)".

    Args:
        settings_class: dataclass of the command's flag groups.
        command: the command's name.
    """
    sections_by_title = sections(every_flag(settings_class))
    completed_flags = [
        _CompletedFlag(
            flag.name,
            _description(flag),
            flag.option.choices or flag.option.suggestions or (_BOOLEAN if flag.value_type is bool else ()),
            _excluded(flag),
            flag.value_type is bool,
            flag.is_file,
        )
        for flag in itertools.chain(*sections_by_title.values())
        if not flag.option.words
    ]
    completed_flags += (*_ALWAYS, _FOR_SCRIPTS) if scripts_of(command) else _ALWAYS
    words_are_files = any(flag.is_file for flag in positional_flags(sections_by_title))
    if shell == "fish":
        return "\n".join(_fish_lines(command, completed_flags, words_are_files))
    values = (
        _bash_values(completed_flags, words_are_files)
        if shell == "bash"
        else _zsh_values(completed_flags, words_are_files)
    )
    template = _BASH if shell == "bash" else _ZSH
    return template.format(command=command, function="_" + command.replace("-", "_"), **values)


def _description(flag: Flag) -> str:
    """Return a short help text with the flags that this flag needs or excludes."""
    rules = [text for text in rule_texts(flag) if len(text) <= _LONGEST_DESCRIPTION]
    return "; ".join([_short(flag.option.help), *rules])


def _excluded(flag: Flag) -> list[str]:
    """Return the names of flags that cannot be combined with this one, whatever their values are."""
    rules = [rule for rule in flag.rules if not rule.is_need and not rule.owner.values]
    return [
        condition.name
        for rule in rules
        for (condition, *more) in rule.alternatives
        if not condition.values and not more
    ]


def _short(text: str) -> str:
    """Return a help text's first clause, shortened and without parentheses."""
    first = re.sub(r" *\([^)]*\)", "", text.split("; ")[0])
    return first if len(first) <= _LONGEST_DESCRIPTION else first[:_LONGEST_DESCRIPTION].rpartition(" ")[0] + " …"


_BASH = """\
# Completion of {command} in bash (4 or later): eval "$({command} --completion=bash)"
{function}() {{
    local names="{names}"
    local negated="{negated}"
    local words_are_files="{words_are_files}"
    local conflicts="{conflicts}" pair name
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
    # Do not offer flags that cannot be combined with a flag on the line.
    for pair in $conflicts; do
        for name in "${{COMP_WORDS[@]:1}}"; do
            if [[ ${{name%%=*}} == "${{pair%%:*}}" ]]; then
                names=" $names " names="${{names/ ${{pair#*:}} / }}" names="${{names/ ${{pair#*:}}= / }}"
            fi
        done
    done
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


def _bash_values(flags: Sequence[_CompletedFlag], words_are_files: bool) -> dict[str, str]:
    """Return values for the placeholders in _BASH."""
    by_action: dict[str, list[str]] = {}
    for flag in flags:
        if flag.values:
            by_action.setdefault(f'values="{" ".join(flag.values)}"', []).append(f"--{flag.name}")
    # Put files last: bash takes the first matching case, so a file with suggested values offers
    # these.
    by_action["files=1"] = [f"--{flag.name}" for flag in flags if flag.is_file]
    return {
        # A trailing = means that a value must follow.
        "names": " ".join(f"--{flag.name}" if flag.is_switch else f"--{flag.name}=" for flag in flags),
        "negated": " ".join(f"--no{flag.name}" for flag in flags if flag.is_boolean),
        "words_are_files": "1" if words_are_files else "",
        "conflicts": " ".join(
            f"--{first}:--{second}"
            for flag in flags
            for other in flag.excluded
            for first, second in ((flag.name, other), (other, flag.name))
        ),
        "cases": "\n".join(f"    {' | '.join(names)}) {action} ;;" for action, names in by_action.items()),
    }


_ZSH = """\
# Completion of {command} in zsh, after compinit: eval "$({command} --completion=zsh)"
{function}() {{
    _arguments \\
{specs}
}}
compdef {function} {command}"""


def _zsh_values(flags: Sequence[_CompletedFlag], words_are_files: bool) -> dict[str, str]:
    """Return values for the placeholders in _ZSH."""
    specs = []
    for flag in flags:
        description = "[" + re.sub(r"([\\\[\]:])", r"\\\1", flag.help) + "]"
        values = f"({' '.join(flag.values)})" if flag.values else " "
        action = "_files" if flag.is_file else values
        if flag.is_boolean:  # a value must be in the same word
            specs += [f"--{flag.name}=-{description}::{flag.name}:{action}", f"--no{flag.name}{description}"]
        else:
            specs.append(f"--{flag.name}" + (description if flag.is_switch else f"={description}:{flag.name}:{action}"))
    specs += ["*:file:_files"] if words_are_files else []
    return {"specs": " \\\n".join(f"        {shlex.quote(spec)}" for spec in specs)}


def _fish_lines(command: str, flags: Sequence[_CompletedFlag], words_are_files: bool) -> Iterator[str]:
    yield f"# Completion of {command} in fish: {command} --completion=fish | source"
    yield f"complete -c {command} {'-F' if words_are_files else '-f'}"
    for flag in flags:
        takes = f" -x -a '{' '.join(flag.values)}'" if flag.values else " -x"
        if flag.is_file:
            takes = " -r -F"
        elif flag.is_switch:
            takes = ""
        description = flag.help.replace("\\", "\\\\").replace("'", "\\'")
        yield f"complete -c {command} -l {flag.name}{takes} -d '{description}'"
        if flag.is_boolean:
            # fish has no negated flags, so list them as separate flags.
            yield f"complete -c {command} -l no{flag.name} -d 'not: {description}'"
