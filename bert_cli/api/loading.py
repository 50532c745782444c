"""Opening a trained model for the classes of this package, with the flags that its training run left."""

import os
from collections.abc import Iterable
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.model.config import ModuleConfig
from bert_cli.runs import sources
from bert_cli.settings.option import build
from bert_cli.settings.saved import remembered
from bert_cli.weights.path import CheckpointPath, find_checkpoint


def find(path: str | os.PathLike) -> CheckpointPath:
    """An output_dir of a command, or a checkpoint of any format; InputError where there is none."""
    return find_checkpoint(os.fspath(path), "path")


def open_model(
    checkpoint: CheckpointPath, settings_class: type, given: dict[str, Any], remembers: bool = True
) -> tuple[Any, sources.OpenedModel]:
    """A command's settings for a checkpoint, and the model's files.

    Settings are those given by name (None for not given), else, where it `remembers`, what the training run had, else the
    command's defaults; max_seq_length is then at most what the model has positions for.
    """
    given = {name: value for name, value in given.items() if value is not None}
    saved = remembered(settings_class, checkpoint.folder, given.keys()) if remembers else {}
    values = saved | given
    settings = build(settings_class, values)
    model = sources.open_model(settings.model, checkpoint, values.get("max_seq_length", 1), settings.hub)
    if settings.hub.hub_module and not isinstance(model.config, ModuleConfig):
        raise InputError(
            f"hub_module={settings.hub.hub_module}: the model in {checkpoint.name} needs no module; leave it out"
        )
    if "max_seq_length" not in values:
        length = min(settings.length.max_seq_length, model.config.max_position_embeddings)
        settings = build(settings_class, values | {"max_seq_length": length})
    return settings, model


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
