"""Pages of docs/ that are printed from the code: one per command, the shared flags, and the index.

`python -m tests.docs_pages` (or `make docs`) writes them. The index also lists the pages in tests/written_pages.py.
"""

import functools
import importlib
import json
import pathlib
import re
import types
import typing
from collections import defaultdict

from bert_cli.__main__ import COMMANDS
from bert_cli.base.json_files import PRESET_KEYS
from bert_cli.flags.help import blocks, default_text, is_verbatim, modes_text, rule_texts, sections, split_examples
from bert_cli.flags.option import Flag, every_flag
from bert_cli.model.config_keys import CONFIG_KEYS, KERAS_HUB_KEYS
from bert_cli.reading.formats import FORMATS
from bert_cli.sentence import keys as sentence_keys
from bert_cli.text.tokenizer_settings import KERAS_HUB_TOKENIZER_KEYS, TOKENIZER_KEYS
from bert_cli.weights.formats.adapter_files import ADAPTER_KEYS
from bert_cli.weights.leftovers import DROPPED, OF_ENCODER, OF_HEAD
from tests import option_types
from tests.written_pages import GUIDES, TUTORIALS

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Title in docs/keys.md -> keys of a file.
KEY_TABLES = {
    "config.json and bert_config.json": CONFIG_KEYS,
    "tokenizer_config.json": TOKENIZER_KEYS,
    "An entry of modules.json": sentence_keys.MODULE_KEYS,
    "sentence_bert_config.json": sentence_keys.ENCODER_KEYS,
    "config_sentence_transformers.json": sentence_keys.SENTENCE_KEYS,
    "config.json of 1_Pooling": sentence_keys.POOLING_KEYS,
    "config.json of 2_Dense": sentence_keys.DENSE_KEYS,
    "config.json of 2_Normalize": sentence_keys.NORMALIZE_KEYS,
    "adapter_config.json of peft": ADAPTER_KEYS,
    "config.json and tokenizer.json of a KerasHub preset": PRESET_KEYS,
    "config.json of a KerasHub preset, in config": KERAS_HUB_KEYS,
    "tokenizer.json of a KerasHub preset, in config": KERAS_HUB_TOKENIZER_KEYS,
}
# A server's examples do not end, so no test runs them.
_SERVERS = ("bert-serve",)
_MADE = "<!-- Printed from the code by `make docs`. -->"
_VALUES = {bool: "true or false", int: "whole number", float: "number"}
_HEADER = ["| flag | value | default | kept | |", "|---|---|---|---|---|"]
_LEGEND = """\
The column *kept* has two words:

- *remembered*: a later run in the directory that does not train reads the value from `flags.txt`.
- *decides*: the value changes the result, so a run with another value does not resume in the directory."""


def module_of(command: str) -> types.ModuleType:
    """Return a command's module."""
    return importlib.import_module(f"bert_cli.{COMMANDS[command][0]}")


def settings_of(command: str) -> type:
    """Return a command's Settings class, which its `run` takes."""
    return typing.get_type_hints(module_of(command).run)["settings"]


def page(command: str) -> str:
    """Return a command's page, in Markdown.

    Flags that only this command has get a row. Flags that it shares with other commands are listed
    by name.
    """
    module = module_of(command)
    text, examples = split_examples(module.__doc__ or "")
    lines = [_MADE, "", f"# {command}", "", "```text" if command in _SERVERS else "```sh", examples, "```", ""]
    for block in blocks(text):
        lines += [*(["```text", *_dedent(block), "```"] if is_verbatim(block) else [_plain(block)]), ""]
    lines += ["## Flags", "", "The columns are explained on the page of [shared flags](flags.md).", ""]
    lines += [_plain(modes), ""] if (modes := modes_text(settings_of(command))) else []
    for title, flags in sections(every_flag(settings_of(command))).items():
        shared_names = [flag.name for flag in flags if _row(flag) in _shared_rows(title)]
        rows = [_row(flag) for flag in flags if flag.name not in shared_names]
        lines += [f"### {title}", ""]
        if shared_names:
            names = ", ".join(f"`--{name}`" for name in shared_names)
            lines += [f"[Shared](flags.md#{anchor_of(title)}): {names}.", ""]
        if rows:
            lines += [*_HEADER, *rows, ""]
    lines.append(f"`{command}` is also `python -m {module.__name__}`. [All commands](README.md)")
    return "\n".join(lines) + "\n"


def flags_page() -> str:
    """Return the page for flags that two or more commands share, in Markdown."""
    lines = [_MADE, "", "# Shared flags", "", "```sh", "bert-classify --helpfull", "```", ""]
    lines += ["prints all flags of a command. This page describes the flags that several commands have.", ""]
    lines += [_LEGEND, "", "## Ways to write a flag", "", "| | |", "|---|---|"]
    lines += [
        "| `--name=value`, `--name value` | a flag and its value |",
        "| `--x`, `--nox`, `--x=true`, `--x=false` | a flag that is true or false |",
        "| `--flagfile=FILE` | flags from a file, such as one `--name=value` a line |",
        "| `--completion=bash`, `zsh`, `fish` | a script that completes flags and values in a shell |",
        "",
    ]
    for title in _shared_titles():
        lines += [f"## {title}", "", "| flag | value | default | kept | | commands |", "|---|---|---|---|---|---|"]
        for row, commands in _shared_rows(title).items():
            names = [f"[{command.removeprefix('bert-')}]({command}.md)" for command in commands]
            lines.append(f"{row} {', '.join(names)} |")
        lines.append("")
    lines.append("[All pages](README.md)")
    return "\n".join(lines) + "\n"


def keys_page() -> str:
    """Return the page about keys of JSON files and about weights, in Markdown."""
    lines = [_MADE, "", "# Keys and weights in a model's files", "", "```sh", "bert-doctor bert_cli/builtin/pretrained"]
    lines += [
        "```",
        "",
        "prints a model's network, and names a key that cannot be computed. Each key of these files is in its table. A",
        "key that is in none of them is named once in the log, and is an error with `--strict`. If a needed value is",
        "another one, every command, the server and Python refuse the model.",
    ]
    for title, table in KEY_TABLES.items():
        lines += ["", f"## {title}", "", "| key | |", "|---|---|"]
        lines += [f"| `{key}` | {effect} |" for key, effect in table.obeyed.items()]
        reasons: dict[str, list[str]] = defaultdict(list)
        for key, reason in table.no_effect.items():
            reasons[reason].append(f"`{key}`")
        lines += [f"| {', '.join(keys)} | no effect: {reason} |" for reason, keys in reasons.items()]
        for key, (values, meaning) in table.required.items():
            others = f"; others mean: {meaning}" if meaning else ""
            lines.append(f"| `{key}` | `{json.dumps(values[0])}` is needed{others} |")
    lines += ["", "`generation_config.json` is not read: its keys are for the generation of text.", ""]
    lines += ["## Weights that a BERT does not have", "", "| weights | |", "|---|---|"]
    lines += [f"| {reason} | dropped |" for reason in DROPPED.values()]
    lines += [f"| {group.title} | refused, as every output depends on them |" for group in OF_ENCODER]
    lines += [
        f"| {group.title} | refused for predictions; a training may start from the encoder |" for group in OF_HEAD
    ]
    lines += ["| all others, such as another encoder | named once in the log |", ""]
    lines += ["[Formats](formats.md) has the files. [All pages](README.md)"]
    return "\n".join(lines) + "\n"


def index() -> str:
    """Return the page that lists all pages, in Markdown."""
    lines = [_MADE, "", "# Pages", "", "| subject | |", "|---|---|"]
    lines += [f"| [{name}]({name}.md) | {contents} |" for name, contents in GUIDES.items()]
    lines += ["", "| tutorial | |", "|---|---|"]
    lines += [f"| [{name}](tutorials/{name}.md) | {title} |" for name, title in TUTORIALS.items()]
    lines += ["| [notebook](tutorials/notebook.ipynb) | Python in a notebook, with its outputs |"]
    lines += [
        "| [lecture](tutorials/lecture.ipynb) | a notebook that shows how BERT works, from tokens to pre-training |"
    ]
    lines += ["", "| command | |", "|---|---|"]
    lines += [f"| [`{command}`]({command}.md) | {summary} |" for command, (_, summary) in COMMANDS.items()]
    lines += [
        "| [shared flags](flags.md) | flags that several commands have |",
        "",
        "`python -m bert_cli` lists the commands, and `COMMAND --helpfull` prints all flags. [The README](../README.md)",
    ]
    return "\n".join(lines) + "\n"


def anchor_of(heading: str) -> str:
    """Return the text after "#" in a link to a heading."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def formats_table() -> str:
    """Return the table of formats of tables."""
    lines = ["| file name | content |", "|---|---|"]
    for row in FORMATS:
        names = ", ".join(f"`.{suffix}`" for suffix in row.suffixes)
        lines.append(f"| {names} | {row.description} |")
    return "\n".join(lines)


def data_page() -> str:
    """Return docs/data.md, which is written by hand, with the present table of formats."""
    text = (DOCS / "data.md").read_text("utf-8")
    return re.sub(
        f"({re.escape(_MADE)}\n\n).*?\n\n", lambda match: f"{match[1]}{formats_table()}\n\n", text, flags=re.DOTALL
    )


def pages() -> dict[str, str]:
    """Return the printed files in docs/ as texts by name."""
    printed = {"README.md": index(), "flags.md": flags_page(), "keys.md": keys_page(), "data.md": data_page()}
    return printed | {f"{command}.md": page(command) for command in COMMANDS}


@functools.cache
def _shared_titles() -> list[str]:
    """Return the titles of shared sections, in command order.

    A section is shared if two or more commands have the same flags in it.
    """
    titles = [title for command in COMMANDS for title in sections(every_flag(settings_of(command)))]
    return [title for title in dict.fromkeys(titles) if _shared_rows(title)]


@functools.cache
def _shared_rows(title: str) -> dict[str, list[str]]:
    """Return the rows in a section that two or more commands share, each with these commands."""
    commands_of: dict[str, list[str]] = defaultdict(list)
    for command in COMMANDS:
        for flag in sections(every_flag(settings_of(command))).get(title, []):
            commands_of[_row(flag)].append(command)
    return {row: commands for row, commands in commands_of.items() if len(commands) > 1}


def _row(flag: Flag) -> str:
    """Return a flag's table row."""
    option = flag.option
    name = f"*{flag.name.upper()}*" if option.words else f"`--{flag.name}`"
    default = default_text(flag)
    marks = [word for word, applies in (("remembered", option.remembered), ("decides", option.decides)) if applies]
    description = "; ".join([option.help, *rule_texts(flag)])
    cells = (name, _values(flag), f"`{default}`" if default else "", ", ".join(marks), _plain(description))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _values(flag: Flag) -> str:
    """Return the values that a flag takes, with their bounds."""
    option = flag.option
    if option.choices:
        return ", ".join(f"`{choice}`" for choice in option.choices)
    value = _VALUES.get(flag.value_type) or ("path" if flag.is_file else "text")
    value += "s" if option.words else ""
    if option.above is not None:
        return f"{value} > {option.above:g}" + (f", up to {option.upper:g}" if option.upper is not None else "")
    if option.lower is not None and option.upper is not None:
        return f"{value}, {option.lower:g} to {option.upper:g}"
    return value + (f" ≥ {option.lower:g}" if option.lower is not None else "")


def _dedent(block: str) -> list[str]:
    """Return a block's lines without their indentation."""
    return [line.removeprefix("    ") for line in block.split("\n")]


def _plain(text: str) -> str:
    """Return a text as Markdown: flags with their values become code, and other markup is escaped."""
    parts = re.split(r"(`[^`]*`|(?<![\w-])--\w+(?:=[^\s;,)]*[^\s;,.:)])?)", text)
    parts[::2] = [re.sub(r"([\\*<])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"`{part.strip('`')}`" for part in parts[1::2]]
    return "".join(parts)


if __name__ == "__main__":
    DOCS.mkdir(exist_ok=True)
    for name, text in pages().items():
        (DOCS / name).write_text(text, "utf-8")
    option_types.write()
    print(f"wrote {len(pages())} pages into {DOCS}, and {option_types.PATH}")
