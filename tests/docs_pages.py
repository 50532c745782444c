"""docs/, a page for each command, printed from the code: `python -m tests.docs_pages` (or `make docs`) writes them.

Beside them stand GUIDES, written by hand, which the index names.
"""

import importlib
import pathlib
import re
import types
import typing

from bert_cli.__main__ import COMMANDS
from bert_cli.flags.help import blocks, default_of, is_verbatim, sections, split_examples
from bert_cli.flags.option import Flag, every_flag

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Pages about a subject -> what they tell, in an order in which the commands of each find what those before have made.
GUIDES = {
    "models": "where models come from: the built-in one, Google's, Hugging Face's, tensorflow-hub's; `--init_checkpoint`",
    "data": "four columns, tables of your own, multiple choice, all tasks with their files and metrics",
    "training": "the best checkpoint, what a run will take, several runs, controls, learning from a larger model",
    "calibration": "probabilities that match the errors, texts left for people, texts to label next",
    "pretraining": "a vocabulary, a model from your own text, blanks filled, TFRecords",
    "tagging": "words and their tags",
    "questions": "SQuAD: answers in texts",
    "vectors": "vectors of tokens, words and texts; attention",
    "export": "other formats of models, TensorFlow Serving, tensorflow-hub, ONNX",
    "published-results": "figures that Google and the paper published, with the command for each of them",
    "performance": "what was measured, on which machine, compared with which programs",
    "report": "report.html, and which words mattered",
    "serving": "answers over HTTP: bert-serve, its interface, limits and deployment",
    "devices": "devices, precision, stops, damage, exit codes",
    "python": "the same from Python",
    "faq": "out of memory, small data, one label for every text, learning rates, GPUs, systems, languages, stops",
    "glossary": "the terms of BERT and of this tool, one line each",
    "structure": "how the package is built, file by file",
}
# Pages of docs/tutorials -> their title; each runs from top to bottom in an empty directory.
TUTORIALS = {
    "reviews": "classify reviews with Google's workflow",
    "features_and_entities": "vectors of words, attention and named entities",
    "toxic_comments": "toxic comments, on the command line and in Keras",
    "tensorflow_hub": "BERT from tensorflow-hub, step by step",
    "pretraining": "pre-training from scratch",
}
_SERVERS = ("bert-serve",)  # their examples do not end, so no test runs them
_MADE = "<!-- Printed from the code by `make docs`. -->"
_KINDS = {bool: "true or false", int: "whole number", float: "number"}
_LEGEND = """\
*Remembered*: a run of the folder that does not train takes the value from the `flags.txt` that training left. *Decides*:
another value makes another result, so a run with it does not go on in the folder of this one. `--flagfile=FILE` reads
flags from a file, one `--name=value` a line; `--x`, `--nox`, `--x=true` and `--x=false` are the ways to write a flag that
is true or false; `--completion=bash|zsh|fish` prints a script that completes flags and values."""


def module_of(command: str) -> types.ModuleType:
    """The module of a command."""
    return importlib.import_module(f"bert_cli.{COMMANDS[command][0]}")


def settings_of(command: str) -> type:
    """The Settings of a command: what its `run` takes."""
    return typing.get_type_hints(module_of(command).run)["settings"]


def page(command: str) -> str:
    """The page of a command, in Markdown."""
    module = module_of(command)
    text, examples = split_examples(module.__doc__ or "")
    lines = [_MADE, "", f"# {command}", ""]
    for block in blocks(text):
        lines += [*(["```text", *_dedented(block), "```"] if is_verbatim(block) else [_plain(block)]), ""]
    lines += [
        "## Examples",
        "",
        "```text" if command in _SERVERS else "```sh",
        examples,
        "```",
        "",
        "## Flags",
        "",
        _LEGEND,
        "",
    ]
    for title, flags in sections(every_flag(settings_of(command))).items():
        lines += [f"### {title}", "", "| flag | value | default | kept | |", "|---|---|---|---|---|"]
        lines += [_row(flag) for flag in flags]
        lines.append("")
    lines.append(f"`{command}` is also `python -m {module.__name__}`. [All commands](README.md)")
    return "\n".join(lines) + "\n"


def index() -> str:
    """The page that lists the others."""
    lines = [_MADE, "", "# Pages", "", "| subject | |", "|---|---|"]
    lines += [f"| [{name}]({name}.md) | {told} |" for name, told in GUIDES.items()]
    lines += ["", "| tutorial | |", "|---|---|"]
    lines += [f"| [{name}](tutorials/{name}.md) | {title} |" for name, title in TUTORIALS.items()]
    lines += ["", "| command | |", "|---|---|"]
    lines += [f"| [`{command}`]({command}.md) | {told} |" for command, (_, told) in COMMANDS.items()]
    lines += [
        "",
        "`python -m bert_cli` lists them, and `COMMAND --helpfull` says what a page here says. [The README](../README.md)",
    ]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Name of each file in docs/ that is made here -> its text."""
    return {"README.md": index()} | {f"{command}.md": page(command) for command in COMMANDS}


def _row(flag: Flag) -> str:
    option = flag.option
    name = f"*{flag.name.upper()}*" if option.words else f"`--{flag.name}`"
    default = default_of(flag)
    marks = [word for word, holds in (("remembered", option.remembered), ("decides", option.decides)) if holds]
    cells = (name, _values(flag), f"`{default}`" if default else "", ", ".join(marks), _plain(option.help))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _values(flag: Flag) -> str:
    """What a flag takes, with its bounds."""
    option = flag.option
    if option.choices:
        return ", ".join(f"`{choice}`" for choice in option.choices)
    kind = _KINDS.get(flag.kind) or ("path" if flag.is_file else "text")
    kind += "s" if option.words else ""
    if option.lower is not None and option.upper is not None:
        return f"{kind}, {option.lower:g} to {option.upper:g}"
    return kind + (f" ≥ {option.lower:g}" if option.lower is not None else "")


def _dedented(block: str) -> list[str]:
    return [line.removeprefix("    ") for line in block.split("\n")]


def _plain(text: str) -> str:
    """Text for Markdown: flags with their values as code, and marks of its own escaped elsewhere; `code` stays."""
    parts = re.split(r"(`[^`]*`|(?<![\w-])--\w+(?:=[^\s;,)]*[^\s;,.:)])?)", text)
    parts[::2] = [re.sub(r"([\\*<])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"`{part.strip('`')}`" for part in parts[1::2]]
    return "".join(parts)


if __name__ == "__main__":
    DOCS.mkdir(exist_ok=True)
    for name, text in pages().items():
        (DOCS / name).write_text(text, "utf-8")
    print(f"wrote {len(pages())} pages into {DOCS}")
