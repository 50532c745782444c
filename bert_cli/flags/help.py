"""What a command says of itself: the text of --help, and the parts of it that docs/ and completion
print in their ways.
"""

import textwrap

from bert_cli.base.version import __version__
from bert_cli.flags.option import Flag, every_flag
from bert_cli.flags.parser import written

WIDTH = 80  # columns of a terminal
_WIDEST = 70  # columns for a list of choices in one line
_EXAMPLES = "\nExamples:\n"  # in a command's docstring, before its last block
_FURTHER = (
    "--flagfile=FILE reads flags from a file, one --name=value a line.",
    "--completion=bash|zsh|fish prints a script that completes flags and values.",
    "Booleans: --x, --nox, --x=true, --x=false.",
)


def help_text(settings_class: type, command: str, description: str) -> str:
    """The text of --help, in lines of at most WIDTH; it ends with the examples of the description."""
    text, examples = split_examples(description)
    lines = [f"{command} {__version__}", ""]
    for block in blocks(text):
        lines += [*(block.split("\n") if is_verbatim(block) else _wrapped(block)), ""]
    found = sections(settings_class)
    for flag in words_of(found):
        lines += [*_wrapped(f"{flag.name.upper()}: {flag.option.help}"), ""]
    for title, flags in found.items():
        descriptions = [_description(flag) for flag in flags if not flag.option.words]
        if descriptions:
            lines.append(f"{title}:")
            for text in descriptions:
                lines += _wrapped(text, "  ", "      ")
            lines.append("")
    lines += _FURTHER
    if examples:
        lines += ["", "Examples:", *textwrap.indent(examples, "  ").split("\n")]
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


def sections(settings_class: type) -> dict[str, list[Flag]]:
    """The flags of a command by heading, in order; groups of one heading are adjacent."""
    found: dict[str, list[Flag]] = {}
    for flag in every_flag(settings_class):
        found.setdefault(flag.heading, []).append(flag)
    return found


def words_of(found: dict[str, list[Flag]]) -> list[Flag]:
    """Of sections, what takes the words of the command line that are no flags."""
    return [flag for flags in found.values() for flag in flags if flag.option.words]


def default_of(flag: Flag) -> str:
    """The default as it is typed; "" where a flag has none."""
    return "" if flag.default in (None, "", ()) else written(flag, flag.default)


def _description(flag: Flag) -> str:
    choices = f" <{'|'.join(flag.option.choices)}>:" if flag.option.choices else ""
    if len(choices) > _WIDEST:
        choices = choices.replace("|", " | ")  # may be torn at blanks
    grid = "; a list makes a grid of runs" if flag.option.grid else ""
    default = default_of(flag)
    # The no-break space is ours alone: it keeps "default:" and its value in one line.
    return f"--{flag.name}:{choices} {flag.option.help}{grid}" + (f" (default:\u00a0{default})" if default else "")


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    # A name is not torn at its hyphens.
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
    return [line.replace("\u00a0", " ") for line in lines]
