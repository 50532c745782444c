"""What a command says of itself: the texts of --help and --helpfull, and their parts that docs/
and completion print in their ways.
"""

import textwrap
from collections.abc import Callable, Iterable, Sequence

from bert_cli.base.version import __version__
from bert_cli.flags.option import Flag, essential_flags, every_flag
from bert_cli.flags.parser import written

WIDTH = 80  # columns of a terminal
_WIDEST = 70  # columns for a list of choices in one line
_EXAMPLES = "\nExamples:\n"  # in a command's docstring, before its last block
_IGNORED = "Accepted for Google's commands, without effect"  # the heading of such flags
_FURTHER = (
    "--flagfile=FILE reads flags from a file, one --name=value a line.",
    "--completion=bash|zsh|fish prints a script that completes flags and values.",
    "Booleans: --x, --nox, --x=true, --x=false.",
)


def help_text(settings_class: type, command: str, description: str) -> str:
    """The text of --help, in lines of at most WIDTH: summary, usage, examples, and the essential
    flags by heading.
    """
    text, examples = split_examples(description)
    flags = every_flag(settings_class)
    words = "".join(f"{flag.name.upper()} " for flag in flags if flag.option.words)
    lines = [f"{command} {__version__}", *_wrapped(blocks(text)[0]), ""]
    lines += [f"usage: {command} {words}[--FLAG=VALUE ...]", ""]
    lines += [*_example_lines(examples), ""] if examples else []
    lines += _flag_lines(sections(essential_flags(settings_class)), _summary, between=())
    lines += ["", f"--helpfull lists all {len(flags)} flags, and says what the command reads and writes."]
    return "\n".join(lines)


def full_help_text(settings_class: type, command: str, description: str) -> str:
    """The text of --helpfull, in lines of at most WIDTH: the whole description, all flags, and at
    the end the examples.
    """
    text, examples = split_examples(description)
    lines = [f"{command} {__version__}", ""]
    for block in blocks(text):
        lines += [*(block.split("\n") if is_verbatim(block) else _wrapped(block)), ""]
    lines += _flag_lines(sections(every_flag(settings_class)), _description, between=("",))
    lines += _FURTHER
    lines += ["", *_example_lines(examples)] if examples else []
    return "\n".join(lines)


def split_examples(description: str) -> tuple[str, str]:
    """A command's docstring without its examples, and these, as they are typed; "" where it has
    none.
    """
    text, _, examples = description.partition(_EXAMPLES)
    return text.strip(), textwrap.dedent(examples).strip()


def blocks(text: str) -> list[str]:
    """Paragraphs, and indented blocks, which are printed unchanged."""
    return [block.strip("\n") for block in text.split("\n\n") if block.strip()]


def is_verbatim(block: str) -> bool:
    return block.startswith("    ")


def sections(flags: Iterable[Flag]) -> dict[str, list[Flag]]:
    """Flags by heading, in order; flags of one heading are adjacent, flags without effect last."""
    found: dict[str, list[Flag]] = {}
    for flag in sorted(flags, key=lambda flag: flag.option.ignored):
        found.setdefault(_IGNORED if flag.option.ignored else flag.heading, []).append(flag)
    return found


def words_of(found: dict[str, list[Flag]]) -> list[Flag]:
    """Of sections, what takes the words of the command line that are no flags."""
    return [flag for flags in found.values() for flag in flags if flag.option.words]


def default_of(flag: Flag) -> str:
    """The default as it is typed; "" where a flag has none."""
    return "" if flag.default in (None, "", ()) else written(flag, flag.default)


def _flag_lines(found: dict[str, list[Flag]], described: Callable[[Flag], str], between: Sequence[str]) -> list[str]:
    """Words of the command line first, then each heading with its flags as `described` has them;
    `between` follows each.
    """
    lines = []
    for flag in words_of(found):
        lines += [*_wrapped(f"{flag.name.upper()}: {flag.option.help}"), *between]
    for title, flags in found.items():
        descriptions = [described(flag) for flag in flags if not flag.option.words]
        if descriptions:
            lines.append(f"{title}:")
            for text in descriptions:
                lines += _wrapped(text, "  ", "      ")
            lines += between
    return lines


def _example_lines(examples: str) -> list[str]:
    return ["Examples:", *textwrap.indent(examples, "  ").split("\n")]


def _summary(flag: Flag) -> str:
    """A flag as --help has it: the first clause of its help, and its default."""
    first, *others = flag.option.help.split("; ")
    told = "; ".join([first, *(clause for clause in others if clause.startswith("default: "))])
    return _entry(flag, told, "" if flag.default is False else default_of(flag))


def _description(flag: Flag) -> str:
    """A flag as --helpfull has it."""
    grid = "; a list makes a grid of runs" if flag.option.grid else ""
    return _entry(flag, f"{flag.option.help}{grid}", default_of(flag))


def _entry(flag: Flag, text: str, default: str) -> str:
    choices = f" <{'|'.join(flag.option.choices)}>:" if flag.option.choices else ""
    if len(choices) > _WIDEST:
        choices = choices.replace("|", " | ")  # may be torn at blanks
    # The no-break space is ours alone: it keeps "default:" and its value in one line.
    return f"--{flag.name}:{choices} {text}" + (f" (default:\u00a0{default})" if default else "")


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    # A name is not torn at its hyphens.
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
    return [line.replace("\u00a0", " ") for line in lines]
