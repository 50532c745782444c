"""bert_cli/api/inputs/options.py, which is printed from the flags: `python -m tests.option_types` (or `make docs`).

Type checkers and editors then know the options of a training in Python.
"""

import pathlib

from bert_cli.flags.option import Flag, every_flag
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.settings.vectors import VectorTrainingSettings

PATH = pathlib.Path(__file__).resolve().parents[1] / "bert_cli" / "api" / "inputs" / "options.py"
HEAD = '''"""Options of trainings in Python, which are the flags of the commands without dashes.

`make docs` prints this file from the flags. --help and docs/ explain each of them.
"""

import os
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

Path = str | os.PathLike | None
'''
PRETRAINING = frozenset(("input_file", "eval_file", "bert_config_file"))
FILES = frozenset(("train_file", "dev_file", "predict_file"))
# Class -> its first line, its base class, its settings, and arguments of the method that are no options there.
CLASSES = {
    "FitOptions": ("Options of `Classifier.fit`.", "Options", ClassifySettings, FILES | {"cross_validation", "labels"}),
    "ClassifyOptions": ("Options of `Classifier.train`.", "FitOptions", ClassifySettings, FILES | {"cross_validation"}),
    "TagOptions": ("Options of `Tagger.train`.", "Options", TagSettings, FILES | {"cross_validation"}),
    "SquadOptions": ("Options of `QuestionAnswerer.train`.", "Options", SquadSettings, FILES),
    "VectorOptions": ("Options of `FeatureExtractor.train`.", "CommonOptions", VectorTrainingSettings, FILES),
    "PretrainOptions": ("Options of `MaskFiller.train`.", "CommonOptions", PretrainSettings, PRETRAINING),
}
# Class for options that several classes share -> its first line and its base class.
BASES = {
    "CommonOptions": ("Options of all trainings.", "TypedDict"),
    "Options": ("Options of all fine-tunings.", "CommonOptions"),
}
MOST_CHARACTERS = 90  # in a list of choices


def python_type(flag: Flag) -> str:
    """Return the type of a flag's value in Python."""
    option = flag.option
    if option.choices:
        quoted = ", ".join(f'"{choice}"' for choice in option.choices)
        # A longer list would take many lines.
        return f"Literal[{quoted}] | None" if len(quoted) < MOST_CHARACTERS else "str | None"
    if flag.is_file:
        return "Path"
    # Names, lists, shares and labels are read from text, numbers and lists.
    if option.read or flag.is_free_text:
        return "Any"
    name = flag.value_type.__name__
    return f"{name} | Sequence[{name}] | None" if option.grid else f"{name} | None"


def content() -> str:
    """Return the file's text."""
    fields = {name: _fields(settings, excluded) for name, (_, _, settings, excluded) in CLASSES.items()}
    parts, printed = [HEAD], {"TypedDict": set[str]()}
    for name, (title, base) in BASES.items():
        shared = set.intersection(*(set(fields[part]) for part in CLASSES if name in _bases(part)))
        lines = [line for line in fields["FitOptions"] if line in shared - printed[base]]
        parts.append(_class(name, base, title, lines))
        printed[name] = shared
    for name, (title, base, _, _) in CLASSES.items():
        parts.append(_class(name, base, title, [line for line in fields[name] if line not in printed[base]]))
        printed[name] = printed[base] | set(fields[name])
    return "\n\n".join(parts)


def _bases(name: str) -> list[str]:
    """Return the class and all its base classes."""
    bases = [name]
    while bases[-1] != "TypedDict":
        bases.append(CLASSES[bases[-1]][1] if bases[-1] in CLASSES else BASES[bases[-1]][1])
    return bases


def _fields(settings: type, excluded: frozenset[str]) -> list[str]:
    return [
        f"    {flag.name}: {python_type(flag)}"
        for flag in every_flag(settings)
        if flag.option.python_argument and flag.name not in excluded and not flag.option.ignored
    ]


def _class(name: str, base: str, title: str, fields: list[str]) -> str:
    return f'class {name}({base}, total=False):\n    """{title}"""\n\n' + "\n".join(fields) + "\n"


def write() -> None:
    """Write the file."""
    PATH.write_text(content(), encoding="utf-8")


if __name__ == "__main__":
    write()
