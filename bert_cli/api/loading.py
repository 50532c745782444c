"""What the classes of this package share: finding a model, and lists of texts."""

import os
from collections.abc import Iterable

from bert_cli.base.errors import InputError
from bert_cli.runs.loading.trained import check_command
from bert_cli.weights.path import CheckpointPath, find_checkpoint


def find(path: str | os.PathLike, command: str | None = None) -> CheckpointPath:
    """An output_dir, or a checkpoint of any format. InputError where there is none, or one of another command."""
    checkpoint = find_checkpoint(os.fspath(path), "path")
    if command:
        check_command(checkpoint, command)
    return checkpoint


def check_list(texts: object, what: str) -> None:
    """InputError where a list is needed and a single text was given."""
    if isinstance(texts, str):
        raise InputError(f"{what} takes a list of texts, not one text: {what}([text])")


def text_pair(number: int, text: object) -> tuple[str, str | None]:
    """A text, or a pair of texts, as a pair; InputError, naming texts[number], for anything else."""
    parts = (text, None) if isinstance(text, str) else tuple(text) if isinstance(text, tuple | list) else ()
    if len(parts) != 2 or not isinstance(parts[0], str) or not isinstance(parts[1], str | None):
        raise InputError(f"texts[{number}]: a text, or a pair of texts, is needed, found {text!r}")
    return parts


def check_texts(texts: Iterable, what: str) -> None:
    """InputError unless this is a list of single texts."""
    check_list(texts, what)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{number}]: a text is needed, found {text!r}")
