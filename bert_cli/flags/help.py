"""The texts of --help and --helpfull, and their sections, which docs and completion also use."""

import textwrap
from collections.abc import Callable, Iterable, Sequence

from bert_cli import __version__
from bert_cli.flags.foreign.command_lines import scripts_of
from bert_cli.flags.option import Flag, essential_flags, every_flag
from bert_cli.flags.rules import describe_rules, join_or
from bert_cli.flags.sources import prefix_of, variable_of
from bert_cli.flags.values import format_flag_value

WIDTH = 80  # terminal columns
_WIDEST = 70  # columns for a list of choices on one line
_EXAMPLES = "\nExamples:\n"  # starts the last block of a command's docstring
_IGNORED = "Accepted for Google's commands, without effect"  # heading for flags without effect
_CLOSING_LINES = (
    "--flagfile=FILE reads flags from a file, one --name=value a line.",
    "--completion=bash|zsh|fish prints a script that completes flags and values.",
    "Booleans: --x, --nox, --x=true, --x=false.",
)


def help_text(settings_class: type, command: str, description: str) -> str:
    """Return the text of --help: summary, usage, examples, and the essential flags by heading.

    Lines have at most WIDTH columns.

    Args:
        settings_class: dataclass of the command's flag groups.
        command: the command's name.
        description: the module's docstring.
    """
    text, examples = split_examples(description)
    flags = every_flag(settings_class)
    words = "".join(f"{flag.name.upper()} " for flag in flags if flag.option.words)
    lines = [f"{command} {__version__}", *_wrap(blocks(text)[0]), ""]
    lines += [f"usage: {command} {words}[--FLAG=VALUE ...]", ""]
    lines += [*_example_lines(examples), ""] if examples else []
    lines += _flag_lines(sections(essential_flags(settings_class)), _summary, separator=())
    lines += ["", *_environment_lines(settings_class)]
    lines += [f"--helpfull lists all {len(flags)} flags, and says what the command reads and writes."]
    return "\n".join(lines)


def full_help_text(settings_class: type, command: str, description: str) -> str:
    """Return the text of --helpfull: the whole description, all flags, and examples.

    Lines have at most WIDTH columns. For the arguments see `help_text`.
    """
    text, examples = split_examples(description)
    lines = [f"{command} {__version__}", ""]
    for block in blocks(text):
        lines += [*(block.split("\n") if is_verbatim(block) else _wrap(block)), ""]
    lines += _flag_lines(sections(every_flag(settings_class)), _description, separator=("",))
    lines += [
        *_CLOSING_LINES,
        *_script_lines(command),
        *_wrap(modes_text(settings_class)),
        *_environment_lines(settings_class),
    ]
    lines += ["", *_example_lines(examples)] if examples else []
    return "\n".join(lines)


def split_examples(description: str) -> tuple[str, str]:
    """Split a command's docstring into description and examples; the latter are "" if missing."""
    text, _, examples = description.partition(_EXAMPLES)
    return text.strip(), textwrap.dedent(examples).strip()


def blocks(text: str) -> list[str]:
    """Split a description into paragraphs and verbatim blocks."""
    return [block.strip("\n") for block in text.split("\n\n") if block.strip()]


def is_verbatim(block: str) -> bool:
    """Return whether a block is indented and must be printed unchanged."""
    return block.startswith("    ")


def sections(flags: Iterable[Flag]) -> dict[str, list[Flag]]:
    """Group flags by heading, in order, with flags that have no effect last."""
    flags_by_title: dict[str, list[Flag]] = {}
    for flag in sorted(flags, key=lambda flag: flag.option.ignored):
        flags_by_title.setdefault(_IGNORED if flag.option.ignored else flag.heading, []).append(flag)
    return flags_by_title


def positional_flags(flags_by_title: dict[str, list[Flag]]) -> list[Flag]:
    """Return the flags that take the arguments which are not flags.

    Args:
        flags_by_title: result of `sections`.
    """
    return [flag for flags in flags_by_title.values() for flag in flags if flag.option.words]


def default_text(flag: Flag) -> str:
    """Return the default as a user would type it, or "" without one."""
    return "" if flag.default in (None, "", ()) else format_flag_value(flag, flag.default)


def _flag_lines(
    flags_by_title: dict[str, list[Flag]], describe: Callable[[Flag], str], separator: Sequence[str]
) -> list[str]:
    """Return the lines for the flags that take words, then each heading with its flags.

    Args:
        flags_by_title: result of `sections`.
        describe: function from a flag to its text.
        separator: lines after each heading's flags.
    """
    lines = []
    for flag in positional_flags(flags_by_title):
        lines += [*_wrap(f"{flag.label}: {flag.option.help}"), *separator]
    for title, flags in flags_by_title.items():
        descriptions = [describe(flag) for flag in flags if not flag.option.words]
        if descriptions:
            lines.append(f"{title}:")
            for text in descriptions:
                lines += _wrap(text, "  ", "      ")
            lines += separator
    return lines


def modes_text(settings_class: type) -> str:
    """Return a sentence with the flags that choose what the command does; "" without modes."""
    flags = {flag.name: flag for flag in every_flag(settings_class)}
    modes = [[flags[name].label for name in mode.split(" or ")] for mode in getattr(settings_class, "modes", ())]
    return f"Needed: {'; or '.join(map(join_or, modes))}." if modes else ""


def _script_lines(command: str) -> list[str]:
    """Return the line about --from_command if the command replaces another program."""
    names = scripts_of(command)
    return (
        _wrap(f"--from_command='{names[0]} --FLAG …' prints another program's command line with our flags.")
        if names
        else []
    )


def _environment_lines(settings_class: type) -> list[str]:
    """Return the lines about environment variables; [] if the command does not use them."""
    prefix = prefix_of(settings_class)
    if not prefix:
        return []
    name = next(flag.name for flag in essential_flags(settings_class) if flag.value_type is int)
    return _wrap(
        f"Environment variables set flags too: {variable_of(name, prefix)} sets --{name}. "
        "A flag overrides its variable, and a variable overrides --flagfile."
    )


def _example_lines(examples: str) -> list[str]:
    return ["Examples:", *textwrap.indent(examples, "  ").split("\n")]


def _summary(flag: Flag) -> str:
    """Return the entry for --help: the help text's first clause and the default."""
    first_clause, *clauses = flag.option.help.split("; ")
    text = "; ".join([first_clause, *(clause for clause in clauses if clause.startswith("default: "))])
    return _entry(flag, text, "" if flag.default is False else default_text(flag))


def _description(flag: Flag) -> str:
    """Return the entry for --helpfull."""
    grid = ["a list makes a grid of runs"] if flag.option.grid else []
    return _entry(flag, "; ".join([flag.option.help, *grid, *rule_texts(flag)]), default_text(flag))


def rule_texts(flag: Flag) -> list[str]:
    """Return the rules between this flag and others as clauses for help texts."""
    return describe_rules(flag.rules, flag.option.required, flag.option.implicit_value)


def _entry(flag: Flag, text: str, default: str) -> str:
    choices = f" <{'|'.join(flag.option.choices)}>:" if flag.option.choices else ""
    if len(choices) > _WIDEST:
        choices = choices.replace("|", " | ")  # allows line breaks
    # Keep "default:" and its value on one line. _wrap removes the no-break space.
    return f"--{flag.name}:{choices} {text}" + (f" (default:\u00a0{default})" if default else "")


def _wrap(text: str, first: str = "", rest: str = "") -> list[str]:
    # Names must not be split at hyphens.
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
    return [line.replace("\u00a0", " ") for line in lines]
