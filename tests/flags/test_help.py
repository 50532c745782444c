"""Texts of --help and --helpfull: essential flags, sections, words, line width and examples."""

import dataclasses
import subprocess
import sys
from typing import ClassVar

from bert_cli.flags.help import WIDTH, full_help_text, help_text, split_examples
from bert_cli.flags.option import FlagGroup, group, option
from tests.flags.samples import Settings
from tests.snapshots import raises

CLOSING_LINES = [
    "--flagfile=FILE reads flags from a file, one --name=value a line.",
    "--completion=bash|zsh|fish prints a script that completes flags and values.",
    "Booleans: --x, --nox, --x=true, --x=false.",
]


class Words(FlagGroup, heading="Texts"):
    texts: tuple[str, ...] = option((), "texts, each in quotes", words=True)


class Wide(FlagGroup, heading="Wide"):
    head: str = option("a" * 30, "what stands on top", choices=("a" * 30, "b" * 30, "c" * 30))
    share: float = option(0.25, "of the words, the share that is masked anew before each pass")


@dataclasses.dataclass(frozen=True)
class WordSettings:
    words: Words = group(Words)
    wide: Wide = group(Wide)


def test_full_help_is_in_sections():
    lines = full_help_text(Settings, "bert-something", "\nDo something.\n").split("\n")
    assert lines[0].startswith("bert-something ")
    assert lines[1:] == [
        "",
        "Do something.",
        "",
        "Data:",
        "  --input_file: the text to read",
        "  --tpu_name: name of the TPU",
        "  --labels: names of the columns",
        "  --random_seed: seed (default: 3)",
        "",
        "Training:",
        "  --rate: a share (default: 0.5)",
        "  --steps: how many updates (default: 20)",
        "  --gelu: <auto|erf>: form of gelu (default: auto)",
        "  --fast: hurry (default: true)",
        "  --do_lower_case: lower-case; default: as the model was trained",
        "",
        *CLOSING_LINES,
    ]


DESCRIPTION = """Do something with texts, and say at the end of it all what has been done to them and why so.

    a table    1.000
      as it stands

Examples:

    bert-something "a text" \\
      --share=0.5
    bert-something "a text"
"""


def test_full_help_has_words_width_and_examples():
    lines = full_help_text(WordSettings, "bert-something", DESCRIPTION).split("\n")
    assert lines[2:] == [
        "Do something with texts, and say at the end of it all what has been done to them",
        "and why so.",
        "",
        "    a table    1.000",
        "      as it stands",
        "",
        "TEXTS: texts, each in quotes",
        "",
        # A group that only has words gets no section. Lines may break between choices, but not in a
        # default.
        "Wide:",
        f"  --head: <{'a' * 30} | {'b' * 30} |",
        f"      {'c' * 30}>: what stands on top",
        f"      (default: {'a' * 30})",
        "  --share: of the words, the share that is masked anew before each pass",
        "      (default: 0.25)",
        "",
        *CLOSING_LINES,
        "",
        "Examples:",
        '  bert-something "a text" \\',
        "    --share=0.5",
        '  bert-something "a text"',
    ]
    assert max(map(len, lines)) == WIDTH


def test_split_examples():
    text, examples = split_examples(DESCRIPTION)
    assert text.endswith("as it stands")
    assert examples == 'bert-something "a text" \\\n  --share=0.5\nbert-something "a text"'
    assert split_examples("Do something.") == ("Do something.", "")


class Named(FlagGroup, heading="Data"):
    source: str = option("", "the file to read; - for standard input; default: data.tsv")
    master: str = option("", "accepted for Google's commands", ignored=True)
    rate: float = option(0.5, "peak learning rate; the paper has others", grid=True)
    fast: bool = option(False, "hurry")
    seldom: int = option(1, "a flag for few people")


@dataclasses.dataclass(frozen=True)
class EssentialSettings:
    """Settings with essential flags and others."""

    essential: ClassVar[tuple[str, ...]] = ("rate", "fast", "source")

    words: Words = group(Words)
    named: Named = group(Named)


def test_help_has_usage_examples_and_the_essential_flags():
    lines = help_text(EssentialSettings, "bert-something", DESCRIPTION).split("\n")
    assert lines[0].startswith("bert-something ")
    assert lines[1:] == [
        "Do something with texts, and say at the end of it all what has been done to them",
        "and why so.",
        "",
        "usage: bert-something TEXTS [--FLAG=VALUE ...]",
        "",
        "Examples:",
        '  bert-something "a text" \\',
        "    --share=0.5",
        '  bert-something "a text"',
        "",
        # In flag order. An entry has the help text's first clause and the default, but switches
        # have no default.
        "Data:",
        "  --source: the file to read; default: data.tsv",
        "  --rate: peak learning rate (default: 0.5)",
        "  --fast: hurry",
        "",
        "--helpfull lists all 6 flags, and says what the command reads and writes.",
    ]


def test_full_help_has_flags_without_effect_last():
    lines = full_help_text(EssentialSettings, "bert-something", "Do something.").split("\n")
    assert lines[lines.index("Data:") :] == [
        "Data:",
        "  --source: the file to read; - for standard input; default: data.tsv",
        "  --rate: peak learning rate; the paper has others; a list makes a grid of runs",
        "      (default: 0.5)",
        "  --fast: hurry (default: false)",
        "  --seldom: a flag for few people (default: 1)",
        "",
        "Accepted for Google's commands, without effect:",
        "  --master: accepted for Google's commands",
        "",
        *CLOSING_LINES,
    ]


def test_help_without_essential_has_every_flag_with_an_effect():
    @dataclasses.dataclass(frozen=True)
    class Plain:
        named: Named = group(Named)

    names = [
        line.split(":")[0].strip()
        for line in help_text(Plain, "bert-something", "Do it.").split("\n")
        if "  --" in line
    ]
    assert names == ["--source", "--rate", "--fast", "--seldom"]


def test_essential_names_flags():
    @dataclasses.dataclass(frozen=True)
    class Wrong:
        essential: ClassVar[tuple[str, ...]] = ("rate", "tempo")

        named: Named = group(Named)

    with raises(TypeError):
        help_text(Wrong, "bert-something", "Do something.")


def test_help_without_docstrings():
    """The help is the same with `python -OO`, which removes docstrings."""
    outputs = []
    for options in ([], ["-OO"]):
        command = [sys.executable, *options, "-m", "bert_cli.tokenize_text", "--helpfull"]
        outputs.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert outputs[0] == outputs[1]
