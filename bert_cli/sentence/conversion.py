"""Modules in conversions and exports: kept, or dropped with a line in the log."""

import dataclasses
import os

from bert_cli.base.errors import InputError
from bert_cli.base.files import make_directory
from bert_cli.base.log import LOG
from bert_cli.base.writing import atomic_write
from bert_cli.sentence.modules import SentenceModules, modules_file, read_modules
from bert_cli.sentence.writing import module_files


def find_modules(model_folder: str, head: str, strict: bool = False) -> SentenceModules | None:
    """Return the modules that a conversion keeps.

    Args:
        model_folder: the model's directory.
        strict: whether an unknown key is an error.

    Returns:
        None for a model without modules. If a module cannot be computed, an explicit --head drops
        all of them.

    Raises:
        InputError: if a module cannot be computed, and --head is auto.
    """
    try:
        return read_modules(model_folder, strict)
    except InputError as error:
        if head == "auto":
            raise InputError(f"{error}; --head=encoder converts the encoder alone") from None
        LOG.warning("warning: dropped: the modules in %s (%s)", modules_file(model_folder), error)
        return None


def write_modules(folder: str, modules: SentenceModules | None, max_positions: int) -> list[str]:
    """Write modules into a directory with their encoder, and return the file names.

    Args:
        folder: existing directory.
        modules: the modules, or None.
        max_positions: the encoder's number of positions.
    """
    if modules is None:
        return []
    if modules.max_seq_length is not None:
        length = min(modules.max_seq_length, max_positions)
        modules = dataclasses.replace(modules, max_seq_length=length)
    contents = module_files(modules)
    for name, content in contents.items():
        path = os.path.join(folder, name)
        make_directory(os.path.dirname(path))
        with atomic_write(path, "wb") as file:
            file.write(content)
    return sorted(contents)
