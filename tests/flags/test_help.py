"""The text of --help: sections, words, lines that fit, and examples at the end."""

import dataclasses

from bert_cli.flags.help import WIDTH, help_text, split_examples
from bert_cli.flags.option import FlagGroup, group, option
from tests.flags.samples import Settings

FURTHER = [
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


def test_help_is_in_sections():
    lines = help_text(Settings, "bert-something", "\nDo something.\n").split("\n")
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
        *FURTHER,
    ]


DESCRIPTION = """Do something with texts, and say at the end of it all what has been done to them and why so.

    a table    1.000
      as it stands

Examples:

    bert-something "a text" \\
      --share=0.5
    bert-something "a text"
"""


def test_words_width_and_examples():
    lines = help_text(WordSettings, "bert-something", DESCRIPTION).split("\n")
    assert lines[2:] == [
        "Do something with texts, and say at the end of it all what has been done to them",
        "and why so.",
        "",
        "    a table    1.000",
        "      as it stands",
        "",
        "TEXTS: texts, each in quotes",
        "",
        # A group of words alone has no section; a long list is torn between its choices, a default is not.
        "Wide:",
        f"  --head: <{'a' * 30} | {'b' * 30} |",
        f"      {'c' * 30}>: what stands on top",
        f"      (default: {'a' * 30})",
        "  --share: of the words, the share that is masked anew before each pass",
        "      (default: 0.25)",
        "",
        *FURTHER,
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
